/** Short messages about completed actions, announced by screen readers. */
import { createStore } from './store.ts'

export interface Toast {
  readonly id: number
  readonly text: string
  readonly bad: boolean
}

const SHOWN_MS = 5000
let serial = 0
export const toasts = createStore<readonly Toast[]>([])

export function tell(text: string, bad = false): void {
  const id = ++serial
  toasts.set([...toasts.get().slice(-2), { id, text, bad }])
  setTimeout(() => dismiss(id), bad ? SHOWN_MS * 2 : SHOWN_MS)
}

export function dismiss(id: number): void {
  toasts.set(toasts.get().filter(toast => toast.id !== id))
}

/** Copies text to the clipboard and shows a message. Copying requires HTTPS or localhost. */
export async function copy(text: string, what: string): Promise<void> {
  try {
    if (navigator.clipboard === undefined) throw new Error('browsers allow copying only over HTTPS or on localhost')
    await navigator.clipboard.writeText(text)
    tell(`${what} copied`)
  } catch (error) {
    tell(`Could not copy: ${error instanceof Error ? error.message : error}`, true)
  }
}

export function save(content: BlobPart, name: string, type: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([content], { type }))
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}
