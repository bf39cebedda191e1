/** Keyboard shortcuts. Shortcuts are ignored while the user types and in dialogs and menus, and can be disabled. */
import { useLayoutEffect, useRef } from 'preact/hooks'
import { preferences } from './preferences.ts'

/** Commands by shortcut: a single key such as `j`, or two keys in sequence such as `g t`. */
export type KeyCommands = Readonly<Record<string, (event: KeyboardEvent) => void>>

const PAIR_MS = 1000
let first: { key: string; at: number } | undefined

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
  const latest = useRef(commands)
  latest.current = commands
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
      if (event.key !== 'Escape' && !preferences.get().keys) return
      if (opening > 0 || isTyping(event.target)) return
      const pair = first !== undefined && Date.now() - first.at < PAIR_MS ? `${first.key} ${event.key}` : undefined
      const command = (pair === undefined ? undefined : latest.current[pair]) ?? latest.current[event.key]
      if (command === undefined) return
      event.preventDefault()
      first = undefined
      command(event)
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [])
}

/** The first key of a pair is recorded after all other handlers of the event have run. */
addEventListener('keydown', event => {
  if (event.defaultPrevented || isTyping(event.target)) return
  const { key } = event
  setTimeout(() => {
    first = key === 'g' ? { key, at: Date.now() } : undefined
  })
})
