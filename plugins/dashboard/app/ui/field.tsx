import type { ComponentChildren } from 'preact'

interface FieldProps {
  readonly label: string
  readonly value: string
  set(value: string): void
  readonly note?: ComponentChildren
  readonly type?: 'text' | 'email' | 'password'
  readonly autocomplete?: 'off' | 'username' | 'current-password' | 'new-password'
  readonly inputMode?: 'email'
  readonly required?: boolean
  readonly readOnly?: boolean
  readonly minLength?: number
  readonly maxLength?: number
  readonly placeholder?: string
  readonly spellcheck?: boolean
  readonly autoFocus?: boolean
}

export function Field({ label, value, note, set, ...rest }: FieldProps) {
  return (
    <label class="field">
      <span>{label}</span>
      <input {...(rest as object)} value={value} onInput={event => set(event.currentTarget.value)} />
      {note !== undefined && <small>{note}</small>}
    </label>
  )
}
