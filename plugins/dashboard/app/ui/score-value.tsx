/** Fields for a score: its name, among those that the project knows, and its value. */
import { useId } from 'preact/hooks'
import { boundsOf, type ScoreKind } from '../state/score-kinds.ts'
import { asLine } from './text.ts'

interface ValueProps {
  readonly kind: ScoreKind
  /** The label of a choice, or the typed value. */
  readonly value: string
  set(value: string): void
}

/** The values as choices with their keys, or a field for typing. */
export function ScoreValueField({ kind, value, set }: ValueProps) {
  const id = useId()
  const { choices, dataType } = kind
  if (choices.length > 0) {
    return (
      <fieldset class="choices score-choices">
        <legend>Value</legend>
        {choices.map(({ key, label }) => (
          <label key={label}>
            <input type="radio" name={id} required checked={value === label} onChange={() => set(label)} />
            <kbd>{key}</kbd> {asLine(label, 200)}
          </label>
        ))}
      </fieldset>
    )
  }
  const note = boundsOf(kind)
  return (
    <label class="field">
      <span>Value</span>
      <input
        type="text"
        required
        inputMode={dataType === 'numeric' ? 'decimal' : undefined}
        maxLength={dataType === 'categorical' ? 200 : 40}
        value={value}
        autocomplete="off"
        onInput={event => set(event.currentTarget.value)}
      />
      {note !== '' && <small>{note}</small>}
    </label>
  )
}

interface NamesProps {
  readonly kinds: readonly ScoreKind[]
  readonly name: string
  set(kind: ScoreKind): void
}

/** Maximum number of names offered as buttons. */
const MOST_NAMES = 12

export function ScoreNameButtons({ kinds, name, set }: NamesProps) {
  return (
    <p class="names">
      {kinds.slice(0, MOST_NAMES).map(kind => (
        <button key={kind.name} type="button" aria-pressed={name === kind.name} onClick={() => set(kind)}>
          {kind.name}
        </button>
      ))}
    </p>
  )
}
