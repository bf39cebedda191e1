/** The visitor's preferences, kept in this browser. A change in another tab applies here at once. */

import { createStore } from './store.ts'
import type { Zone } from './time-range.ts'

export interface Preferences {
  readonly zone: Zone
  readonly theme: 'system' | 'light' | 'dark'
  /** Whether single keys are commands. */
  readonly keys: boolean
  /** The columns of the list, by project. */
  readonly columns: Readonly<Record<string, readonly string[]>>
  readonly texts: 'rendered' | 'text'
  readonly view: 'tree' | 'log'
  /** The project that was seen last. */
  readonly project: string
}

const NAME = 'spoor-dashboard'
const DEFAULTS: Preferences = {
  zone: 'local',
  theme: 'system',
  keys: true,
  columns: {},
  texts: 'rendered',
  view: 'tree',
  project: ''
}

function readPreferences(): Preferences {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(NAME) ?? '{}')
    return typeof kept === 'object' && kept !== null ? { ...DEFAULTS, ...kept } : DEFAULTS
  } catch {
    // Kept by nobody, or refused by the browser.
    return DEFAULTS
  }
}

export const preferences = createStore<Preferences>(readPreferences())

export function prefer(change: Partial<Preferences>): void {
  preferences.set({ ...preferences.get(), ...change })
  try {
    localStorage.setItem(NAME, JSON.stringify(preferences.get()))
  } catch {
    // It holds for this page, then.
  }
}

addEventListener('storage', ({ key }) => {
  if (key === NAME) preferences.set(readPreferences())
})

function applyTheme({ theme }: Preferences): void {
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}
applyTheme(preferences.get())
preferences.follow(applyTheme)
