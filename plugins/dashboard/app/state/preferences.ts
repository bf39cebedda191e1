/** The visitor's preferences, stored in the browser. A change in another tab applies immediately. */

import { createStore } from './store.ts'
import { offsetOf, type Present, type Zone } from './time-range.ts'

export interface Preferences {
  readonly zone: Zone
  readonly theme: 'system' | 'light' | 'dark'
  /** Whether single-key shortcuts are enabled. */
  readonly keys: boolean
  readonly columns: Readonly<Record<string, readonly string[]>>
  readonly texts: 'rendered' | 'text'
  readonly view: 'tree' | 'log' | 'turns'
  /** Names of the metadata values that a trace's head shows, by project. */
  readonly metadata: Readonly<Record<string, readonly string[]>>
  readonly project: string
  /** Name of the score given last. */
  readonly scoreName: string
}

const NAME = 'spoor-dashboard'
const DEFAULTS: Preferences = {
  zone: 'local',
  theme: 'system',
  keys: true,
  columns: {},
  texts: 'rendered',
  view: 'tree',
  metadata: {},
  project: '',
  scoreName: ''
}

function readPreferences(): Preferences {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(NAME) ?? '{}')
    return typeof kept === 'object' && kept !== null ? { ...DEFAULTS, ...kept } : DEFAULTS
  } catch {
    // Storage is unreadable or blocked by the browser.
    return DEFAULTS
  }
}

export const preferences = createStore<Preferences>(readPreferences())

/** Returns the current time with the offset of the visitor's zone. */
export const presentTime = (): Present => ({ now: Date.now(), offset: offsetOf(preferences.get().zone) })

export function prefer(change: Partial<Preferences>): void {
  preferences.set({ ...preferences.get(), ...change })
  try {
    localStorage.setItem(NAME, JSON.stringify(preferences.get()))
  } catch {
    // Storage is full or blocked, so the preference lasts only until the page is closed.
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
