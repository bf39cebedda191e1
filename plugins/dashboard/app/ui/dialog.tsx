/**
 * Modal dialogs and their forms. The browser keeps the focus inside a dialog and restores the previous focus
 * afterwards.
 */

import type { ComponentChildren } from 'preact'
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { errorMessageOf } from '../state/api.ts'
import { Button, Icon } from './controls.tsx'

interface DialogProps {
  readonly title: string
  readonly children: ComponentChildren
  readonly wide?: boolean
  /** If undefined, the dialog cannot be closed. */
  readonly onClose: (() => void) | undefined
}

export function Dialog({ title, children, wide = false, onClose }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const heading = useId()
  useLayoutEffect(() => {
    const element = dialog.current!
    const before = document.activeElement
    element.showModal()
    // The browser would focus the close button, which comes first. A required field that is still empty needs the user
    // most. Among radio buttons, only the selected one is a stop of the keyboard.
    const fields = 'form :is(input, select, textarea):not(:disabled, [readonly], [type=radio]:not(:checked))'
    const field = element.querySelector<HTMLElement>(`${fields}:invalid`) ?? element.querySelector<HTMLElement>(fields)
    field?.focus()
    return () => {
      element.close()
      if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true })
    }
  }, [])
  return (
    <dialog
      ref={dialog}
      class={wide ? 'is-wide' : ''}
      aria-labelledby={heading}
      onCancel={event => {
        event.preventDefault()
        onClose?.()
      }}
    >
      <header>
        <h2 id={heading}>{title}</h2>
        {onClose && (
          <button type="button" class="plain" aria-label="Close" onClick={onClose}>
            <Icon name="close" />
          </button>
        )}
      </header>
      {children}
    </dialog>
  )
}

interface FormProps {
  readonly children: ComponentChildren
  readonly submit: string
  readonly danger?: boolean
  readonly disabled?: boolean
  readonly onCancel?: () => void
  /** Submits the form. The form shows any error thrown. */
  onSubmit(): Promise<void> | void
}

export function Form({ children, submit, danger = false, disabled = false, onCancel, onSubmit }: FormProps) {
  const [state, setState] = useState<'ready' | 'busy'>('ready')
  const [error, setError] = useState<unknown>()
  const gone = useRef(false)
  useEffect(
    () => () => {
      gone.current = true
    },
    []
  )
  return (
    <form
      onSubmit={async event => {
        event.preventDefault()
        if (state === 'busy') return
        setState('busy')
        setError(undefined)
        try {
          await onSubmit()
        } catch (error) {
          if (!gone.current) setError(error)
        }
        if (!gone.current) setState('ready')
      }}
    >
      {children}
      {error !== undefined && (
        <p class="fault" role="alert">
          {errorMessageOf(error)}
        </p>
      )}
      <div class="buttons">
        {onCancel && <Button onClick={onCancel}>Cancel</Button>}
        <button type="submit" class={danger ? 'danger' : 'main'} disabled={disabled || state === 'busy'}>
          {submit}
        </button>
      </div>
    </form>
  )
}

interface FormDialogProps extends Omit<FormProps, 'onCancel'> {
  readonly title: string
  readonly wide?: boolean
  onClose(): void
}

/** A dialog that consists of a form. */
export function FormDialog({ title, wide = false, onClose, ...form }: FormDialogProps) {
  return (
    <Dialog title={title} wide={wide} onClose={onClose}>
      <Form {...form} onCancel={onClose} />
    </Dialog>
  )
}

interface FieldProps {
  readonly label: ComponentChildren
  readonly value: string
  set(value: string): void
  readonly note?: ComponentChildren
  readonly type?: 'email' | 'password' | 'datetime-local'
  readonly autocomplete?: 'off' | 'one-time-code' | 'username' | 'current-password' | 'new-password'
  readonly inputMode?: 'email' | 'numeric'
  readonly required?: boolean
  readonly readOnly?: boolean
  readonly minLength?: number
  readonly maxLength?: number
  readonly placeholder?: string
  readonly spellcheck?: boolean
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
