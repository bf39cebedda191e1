/**
 * The page's address, and the scroll position and focus of each history entry. Links within the dashboard are followed
 * without loading the page again.
 */
import { useLayoutEffect } from 'preact/hooks'
import { createStore, useStore } from './store.ts'

/** The state of a history entry. */
export interface EntryState {
  readonly key: string
  /** The query string of the list from which a trace was opened. */
  readonly list?: string
}

export interface Place {
  /** Relative to the base. */
  readonly path: string
  readonly search: string
  readonly state: EntryState
  /** How the visitor came here. */
  readonly how: 'load' | 'push' | 'replace' | 'back'
}

const BASE = new URL(document.baseURI)
/** Ends in a slash. */
export const BASE_PATH = BASE.pathname

/** The address of the server, as this page was reached. */
export function serverAddress(): string {
  return new URL('..', document.baseURI).href.replace(/\/$/, '')
}

interface Remembered {
  scroll: number
  focus: string | undefined
}
const remembered = new Map<string, Remembered>()
/** The entry in which an address was seen last. */
const left = new Map<string, string>()
let serial = 0
const newKey = () => `${Date.now().toString(36)}-${++serial}`

function readPlace(how: Place['how']): Place {
  const { pathname, search } = location
  const path = pathname.startsWith(BASE_PATH) ? pathname.slice(BASE_PATH.length) : ''
  return { path, search, state: readState(), how }
}

function readState(): EntryState {
  const state: unknown = history.state
  return typeof state === 'object' && state !== null && 'key' in state ? (state as EntryState) : { key: '' }
}

history.scrollRestoration = 'manual'
if (readState().key === '') history.replaceState({ key: newKey() }, '')
export const place = createStore<Place>(readPlace('load'))

export const usePlace = () => useStore(place)

interface GoOptions {
  readonly replace?: boolean
  readonly list?: string
  /** If the visitor was there before, it is as they left it, and the element of this id has the focus. */
  readonly returning?: string
}

/** Goes to an address of the page, relative to its base. */
export function go(address: string, options: GoOptions = {}): void {
  const url = new URL(address === '' ? '.' : address, BASE)
  const list = options.list === undefined ? {} : { list: options.list }
  if (options.replace) {
    history.replaceState({ ...readState(), ...list }, '', url)
    place.set(readPlace('replace'))
    return
  }
  noteFocus()
  const key = newKey()
  const before =
    options.returning === undefined ? undefined : left.get(url.pathname.slice(BASE_PATH.length) + url.search)
  if (before !== undefined) remembered.set(key, { scroll: entry(before).scroll, focus: options.returning })
  history.pushState({ key, ...list }, '', url)
  place.set(readPlace(before === undefined ? 'push' : 'back'))
}

/** Changes the search of this address. */
export function goSearch(search: string, options: { replace?: boolean } = {}): void {
  const { path, state } = place.get()
  go(`${path}${search}`, { ...options, ...(state.list !== undefined && { list: state.list }) })
}

function entry(key: string): Remembered {
  let found = remembered.get(key)
  if (found === undefined) {
    found = { scroll: 0, focus: undefined }
    remembered.set(key, found)
  }
  return found
}

function noteFocus(): void {
  const { path, search, state } = place.get()
  entry(state.key).focus = document.activeElement?.id || undefined
  left.set(path + search, state.key)
}

addEventListener('popstate', () => {
  noteFocus()
  place.set(readPlace('back'))
})
addEventListener('hashchange', () => place.set(readPlace('back')))
addEventListener(
  'scroll',
  () => {
    entry(place.get().state.key).scroll = scrollY
  },
  { passive: true }
)

document.addEventListener('click', event => {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
    return
  const link = (event.target as Element | null)?.closest?.('a[href]')
  if (!(link instanceof HTMLAnchorElement) || link.target !== '' || link.hasAttribute('download')) return
  const url = new URL(link.href)
  if (url.origin !== BASE.origin || !url.pathname.startsWith(BASE_PATH) || link.dataset.outside !== undefined) return
  event.preventDefault()
  const { list, returning } = link.dataset
  go(url.pathname.slice(BASE_PATH.length) + url.search + url.hash, {
    ...(list !== undefined && { list }),
    ...(returning !== undefined && { returning })
  })
})

/**
 * To be called by a page once its content is there. Coming back, scroll and focus are as they were; on a new page the
 * heading has the focus, so that screen readers begin there.
 */
export function useArrival(ready: boolean): void {
  const { state, how } = usePlace()
  useLayoutEffect(() => {
    if (!ready) return
    if (how === 'back') {
      const { scroll, focus } = entry(state.key)
      scrollTo(0, scroll)
      const element = focus === undefined ? null : document.getElementById(focus)
      element?.focus({ preventScroll: true })
      // Another trace than the one that was opened may be meant.
      const { top = 0, bottom = 0 } = element?.getBoundingClientRect() ?? {}
      if (top < 0 || bottom > innerHeight) element?.scrollIntoView({ block: 'center' })
    } else if (how === 'push') {
      scrollTo(0, 0)
      document.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true })
    }
  }, [ready, state.key])
}
