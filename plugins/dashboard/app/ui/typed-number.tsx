/** A field for the number of traces to delete. It must be typed, so that nobody deletes more traces than intended. */
import { Field } from './dialog.tsx'

interface Props {
  readonly count: number
  readonly value: string
  set(value: string): void
}

export const TypedNumber = ({ count, value, set }: Props) => (
  <Field
    label={
      <>
        To confirm, type <strong>{count}</strong>
      </>
    }
    inputMode="numeric"
    autocomplete="off"
    value={value}
    set={set}
  />
)

/** Throws an error for the dialog unless the number is typed, with or without separators. */
export function requireTyped(typed: string, count: number, verb: 'delete' | 'erase'): void {
  if (typed.trim().replaceAll(',', '') !== String(count)) throw new Error(`Type ${count} to ${verb}.`)
}
