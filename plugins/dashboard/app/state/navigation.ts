/**
 * The page's URL, and each history entry's scroll position and focus. Links within the dashboard are followed without
 * reloading the page.
 */
import { useLayoutEffect } from 'preact/hooks'
import { createStore, useStore } from './store.ts'

export interface EntryState {
  readonly key: string
  /** The query string of the list from which a trace was opened. */
  readonly list?: string
}

export interface PagePlace {
  /** Path relative to the base. */
  readonly path: string
  readonly search: string
  readonly state: EntryState
  readonly how: 'load' | 'push' | 'replace' | 'back'
}

const BASE = new URL(document.baseURI)
/** Path of the base, which ends in a slash. */
export const BASE_PATH = BASE.pathname

/** Returns the URL at which the browser reached the server. */
export function serverAddress(): string {
  return new URL('..', document.baseURI).href.replace(/\/$/, '')
}

interface Remembered {
  scroll: number
  focus: string | undefined
}
const remembered = new Map<string, Remembered>()
/** Maps each address to the key of the history entry that last showed this address. */
const left = new Map<string, string>()
let serial = 0
const newKey = () => `${Date.now().toString(36)}-${++serial}`

function readPlace(how: PagePlace['how']): PagePlace {
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
export const place = createStore<PagePlace>(readPlace('load'))

export const usePlace = () => useStore(place)

interface GoOptions {
  readonly replace?: boolean
  readonly list?: string
  /** Id of the element to focus if the visitor has seen the page before. The scroll position is then restored too. */
  readonly returning?: string
}

/** Navigates to an address of the dashboard, relative to the base. */
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
 * Restores scroll position and focus after going back. On a new page, focuses the heading, where screen readers then
 * start. A page sets `ready` once its content is rendered.
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
      // The focused row may belong to a trace other than the opened trace, and may be outside the restored view.
      const { top = 0, bottom = 0 } = element?.getBoundingClientRect() ?? {}
      if (top < 0 || bottom > innerHeight) element?.scrollIntoView({ block: 'center' })
    } else if (how === 'push') {
      scrollTo(0, 0)
      // A visitor who filters a list may add another filter.
      if (document.activeElement?.closest('search')) return
      document.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true })
    }
  }, [ready, state.key])
}
