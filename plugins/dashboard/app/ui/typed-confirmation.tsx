/**
 * A field that confirms a deletion, so that nobody deletes more than intended. Something that has a name is confirmed
 * by its name, a selection by its number of traces.
 */
import { Field } from './dialog.tsx'
import { asLine } from './text.ts'

interface Props {
  readonly wanted: string | number
  readonly value: string
  set(value: string): void
}

export const TypedConfirmation = ({ wanted, value, set }: Props) => (
  <Field
    label={
      <>
        To confirm, type <strong>{shownOf(wanted)}</strong>
      </>
    }
    {...(typeof wanted === 'number' && { inputMode: 'numeric' as const })}
    autocomplete="off"
    spellcheck={false}
    value={value}
    set={set}
  />
)

/** Throws an error for the dialog unless the name is typed, or the number, with or without separators. */
export function requireTyped(typed: string, wanted: string | number, verb: 'delete' | 'erase'): void {
  const given = typeof wanted === 'number' ? typed.trim().replaceAll(',', '') : shownOf(typed)
  if (given !== shownOf(wanted)) throw new Error(`Type ${asLine(shownOf(wanted), 60)} to ${verb}.`)
}

/** Returns the text to type. A field holds no line breaks and no control characters. */
const shownOf = (wanted: string | number): string =>
  String(wanted)
    .replaceAll(/[\s\p{C}]+/gu, ' ')
    .trim()
