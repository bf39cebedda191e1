/** Keyboard shortcuts. Shortcuts are ignored while the user types and in dialogs and menus, and can be disabled. */
import { useLayoutEffect, useRef } from 'preact/hooks'
import { preferences } from './preferences.ts'

/** Commands by shortcut: a single key such as `j`, or two keys in sequence such as `g t`. */
export type KeyCommands = Readonly<Record<string, (event: KeyboardEvent) => void>>

const PAIR_MS = 1000
/** The latest key, and the key before it, if they can begin a pair. */
let latest: { key: string; at: number } | undefined
let previous: typeof latest

function isTyping(target: EventTarget | null): boolean {
  const element = target instanceof Element ? target : null
  if (element?.closest('dialog[open], [role=menu]')) return true
  return (
    (element instanceof HTMLInputElement && !['checkbox', 'radio', 'button'].includes(element.type)) ||
    element instanceof HTMLTextAreaElement ||
    element instanceof HTMLSelectElement
  )
}

/** Number of dialogs that are still loading. */
let opening = 0

/** Ignores shortcuts while a dialog is loading, because the user may be typing into it already. */
export function useOpening(isLoading: boolean): void {
  useLayoutEffect(() => {
    if (!isLoading) return
    opening++
    return () => void opening--
  }, [isLoading])
}

export function useKeys(commands: KeyCommands): void {
  const current = useRef(commands)
  current.current = commands
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
      if (event.key !== 'Escape' && !preferences.get().keys) return
      if (opening > 0 || isTyping(event.target)) return
      const isPair = previous !== undefined && Date.now() - previous.at < PAIR_MS
      const command = (isPair && current.current[`${previous?.key} ${event.key}`]) || current.current[event.key]
      if (command === undefined) return
      event.preventDefault()
      command(event)
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [])
}

/** Keys are recorded before any other handler runs. A timer would record the first key of a fast pair too late. */
addEventListener(
  'keydown',
  ({ key, target }) => {
    previous = latest
    latest = key === 'g' && !isTyping(target) ? { key, at: Date.now() } : undefined
  },
  true
)
