/**
 * Adds a score to a trace or, from a span's panel, to the span. The name last used is preset. Values have keys, so an
 * annotation takes three keys: `a`, the value's key, and Enter.
 */

import { useEffect, useId, useRef, useState } from 'preact/hooks'
import type { DataType } from '../contract.ts'
import { at, write } from '../state/api.ts'
import { useRead } from '../state/load.ts'
import { prefer, preferences } from '../state/preferences.ts'
import { choiceOf, readScoreValue, type ScoreKind, scoreKindOf, scoreKinds } from '../state/score-kinds.ts'
import { tell } from '../state/toasts.ts'
import { Dialog, Form } from '../ui/dialog.tsx'
import { Problem, Waiting } from '../ui/problem.tsx'
import { ScoreNameButtons, ScoreValueField } from '../ui/score-value.tsx'
import { asLine } from '../ui/text.ts'

interface Props {
  readonly slug: string
  readonly traceId: string
  /** The span from whose panel the dialog was opened; undefined to score the trace. */
  readonly span: { readonly id: string; readonly name: string } | undefined
  onClose(): void
  changed(): void
}

const TYPES: readonly { type: DataType; label: string }[] = [
  { type: 'numeric', label: 'Number' },
  { type: 'categorical', label: 'Category' },
  { type: 'boolean', label: 'Yes or no' }
]
const NAME = /^[A-Za-z0-9_-]{1,64}$/

export function Annotate(props: Props) {
  const definitions = useRead(at('p/:slug/score-definitions', { slug: props.slug }))
  const names = useRead(at('p/:slug/score-names', { slug: props.slug }))
  const error = definitions.error ?? names.error
  const [defined, known] = [definitions.value?.definitions, names.value]
  // The fields depend on the known scores, so the form appears once they are loaded.
  if (defined !== undefined && known !== undefined) {
    return (
      <Dialog key="form" title="Annotate" onClose={props.onClose}>
        <ScoreForm {...props} kinds={scoreKinds(defined, known)} />
      </Dialog>
    )
  }
  return (
    <Dialog key="loading" title="Annotate" onClose={props.onClose}>
      {error === undefined ? (
        <Waiting what="the scores" />
      ) : (
        <Problem
          error={error}
          again={() => {
            definitions.again()
            names.again()
          }}
        />
      )}
    </Dialog>
  )
}

function ScoreForm({ slug, traceId, span, kinds, onClose, changed }: Props & { readonly kinds: ScoreKind[] }) {
  const preset = kinds.find(({ name }) => name === preferences.get().scoreName) ?? kinds[0]
  const [chosen, setChosen] = useState<ScoreKind | undefined>(preset)
  const [name, setName] = useState('')
  const [type, setType] = useState<DataType>('numeric')
  const [value, setValue] = useState('')
  const [comment, setComment] = useState('')
  const [onSpan, setOnSpan] = useState(span !== undefined)
  const id = useId()
  const fields = useRef<HTMLDivElement>(null)
  const kind = chosen ?? scoreKindOf(name, type)
  const choose = (next: ScoreKind | undefined) => {
    setChosen(next)
    setValue('')
  }
  // The keys of the values work while the focus is in the form, but not in a text field.
  useEffect(() => {
    const first = chosen === undefined ? 'input' : '.score-choices input, .field input'
    fields.current?.querySelector<HTMLElement>(first)?.focus()
  }, [chosen?.name])
  const press = (event: KeyboardEvent) => {
    const target = event.target as HTMLElement
    const isTyping = target instanceof HTMLTextAreaElement || (target as HTMLInputElement).type === 'text'
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return
    const choice = choiceOf(kind, event.key)
    if (choice === undefined) return
    event.preventDefault()
    setValue(choice.label)
  }
  const submit = async () => {
    if (!NAME.test(kind.name)) throw new Error('A name has 1 to 64 letters, digits, hyphens and underscores.')
    const score = {
      name: kind.name,
      dataType: kind.dataType,
      value: readScoreValue(kind, value),
      ...(comment.trim() !== '' && { comment }),
      ...(onSpan && span !== undefined && { spanId: span.id })
    }
    await write('POST', at('p/:slug/traces/:traceId/scores', { slug, traceId }), { body: score })
    prefer({ scoreName: kind.name })
    tell(`Score ${kind.name} added`)
    changed()
    onClose()
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys are shortcuts for the choices in the form.
    <div ref={fields} onKeyDown={press}>
      <Form submit="Add score" onCancel={onClose} onSubmit={submit}>
        {kinds.length > 0 && (
          <>
            <ScoreNameButtons kinds={kinds} name={chosen?.name ?? ''} set={choose} />
            <p class="names">
              <button type="button" aria-pressed={chosen === undefined} onClick={() => choose(undefined)}>
                New name…
              </button>
            </p>
          </>
        )}
        {kind.description !== '' && <p class="soft">{asLine(kind.description, 300)}</p>}
        {chosen === undefined && (
          <>
            <label class="field">
              <span>Name</span>
              <input
                type="text"
                required
                value={name}
                spellcheck={false}
                autocomplete="off"
                onInput={event => setName(event.currentTarget.value)}
              />
            </label>
            <fieldset class="choices">
              <legend>Type</legend>
              {TYPES.map(each => (
                <label key={each.type}>
                  <input
                    type="radio"
                    name={`${id}-type`}
                    checked={type === each.type}
                    onChange={() => {
                      setType(each.type)
                      setValue('')
                    }}
                  />
                  {each.label}
                </label>
              ))}
            </fieldset>
          </>
        )}
        <ScoreValueField key={kind.name} kind={kind} value={value} set={setValue} />
        <label class="field">
          <span>Comment (optional)</span>
          <textarea
            rows={3}
            maxLength={2000}
            value={comment}
            onInput={event => setComment(event.currentTarget.value)}
          />
        </label>
        {span !== undefined && (
          <fieldset class="choices">
            <legend>Applies to</legend>
            <label>
              <input type="radio" name={`${id}-of`} checked={onSpan} onChange={() => setOnSpan(true)} />
              this span, {asLine(span.name, 60)}
            </label>
            <label>
              <input type="radio" name={`${id}-of`} checked={!onSpan} onChange={() => setOnSpan(false)} />
              the whole trace
            </label>
          </fieldset>
        )}
      </Form>
    </div>
  )
}
