/** The entries of the command box, and the search for entries that match the typed text. */

import type { View, VisitorProject } from '../contract.ts'
import { parseFilters } from '../state/filter-text.ts'
import { withTerms, writeQuery } from '../state/list-query.ts'
import { type Page, pathOf } from '../state/route.ts'
import { ALL_TIME } from '../state/time-range.ts'
import { addressOf, describeQuery, VIEW_PAGES } from '../state/views.ts'

export const COMMANDS = {
  'theme-light': 'Light theme',
  'theme-dark': 'Dark theme',
  'theme-system': 'System theme',
  'zone-utc': 'Show times in UTC',
  'zone-local': 'Show local times',
  keys: 'Enable or disable shortcuts',
  live: 'Turn live updates on or off',
  help: 'Keyboard shortcuts',
  'sign-out': 'Sign out'
} as const
export type PageCommand = keyof typeof COMMANDS

/** Kinds in display order, with their titles. */
export const KINDS = {
  recent: 'Recent',
  trace: 'Trace',
  name: 'Traces with this name',
  session: 'Session',
  user: 'User',
  tag: 'Traces with this tag',
  view: 'Saved view',
  page: 'Page',
  project: 'Project',
  command: 'Command',
  search: 'Search'
} as const
export type Kind = keyof typeof KINDS

/** An entry of the command box: an address to open or a command to run. */
export interface Entry {
  readonly kind: Kind
  readonly label: string
  /** Additional words to search. */
  readonly note?: string
  readonly target: { readonly address: string } | { readonly command: PageCommand }
}

export interface Known {
  readonly slug: string
  readonly projects: readonly VisitorProject[]
  readonly views: readonly View[]
  readonly names: readonly string[]
  /** Commands that are available to this visitor on this page. */
  readonly commands: readonly PageCommand[]
}

const entry = (kind: Kind, label: string, address: string, note?: string): Entry => ({
  kind,
  label,
  ...(note !== undefined && { note }),
  target: { address }
})

/** Returns all entries that are known without a request to the server. */
export function knownEntries({ slug, projects, views, names, commands }: Known): Entry[] {
  const page = (label: string, to: Page, note?: string) => entry('page', label, pathOf(to), note)
  const noteOf = (view: View) => `${VIEW_PAGES[view.page]}: ${describeQuery(view.query)}`
  return [
    ...names.map(name => nameEntry(slug, name)),
    ...views.map(view => entry('view', view.name, addressOf(slug, view), noteOf(view))),
    page('Overview', { page: 'overview', slug }),
    page('Errors', { page: 'errors', slug }),
    page('Traces', { page: 'traces', slug }),
    page('Steps', { page: 'steps', slug }, 'Model calls, tools and other steps of all traces'),
    page('Sessions', { page: 'sessions', slug }),
    page('Users', { page: 'users', slug }),
    page('Scores', { page: 'scores', slug }),
    page('Compare two groups', { page: 'groups', slug }),
    page('Review traces', { page: 'review', slug }, 'Score traces one by one'),
    page('Compare two traces', { page: 'compare', slug }),
    page('Settings: keys', { page: 'settings', slug, tab: 'keys' }),
    page('Settings: scores', { page: 'settings', slug, tab: 'scores' }),
    page('Settings: members', { page: 'settings', slug, tab: 'members' }),
    page('Settings: project', { page: 'settings', slug, tab: 'project' }),
    page('Account', { page: 'account' }, 'Password and signed-in devices'),
    ...projects
      .filter(project => project.slug !== slug)
      .map(project => entry('project', project.name, pathOf({ page: 'traces', slug: project.slug }), project.slug)),
    ...commands.map((command): Entry => ({ kind: 'command', label: COMMANDS[command], target: { command } }))
  ]
}

const filtered = (slug: string, filters: Parameters<typeof writeQuery>[0]['filters']): string =>
  `${pathOf({ page: 'traces', slug })}${writeQuery({ filters, range: ALL_TIME, sort: 'newest' })}`

export const nameEntry = (slug: string, name: string) => entry('name', name, filtered(slug, { name }))
export const tagEntry = (slug: string, tag: string) => entry('tag', tag, filtered(slug, { tag: [tag] }))

/**
 * Offers to list the traces that the typed text describes, by words or by filters such as `status:error`. Returns an
 * empty array if the text cannot be understood, or has words although full-text search is off.
 */
export function searchEntries(slug: string, typed: string, hasSearch: boolean): Entry[] {
  const { terms, faults } = parseFilters(typed)
  const isWords = terms.some(({ filter }) => filter === 'q')
  if (terms.length === 0 || faults.length > 0 || (isWords && !hasSearch)) return []
  const { filters } = withTerms({ filters: {}, sort: 'newest' }, terms)
  return [entry('search', `Search traces for “${typed}”`, filtered(slug, filters))]
}

export const sessionEntry = (slug: string, sessionId: string) =>
  entry('session', sessionId, pathOf({ page: 'session', slug, sessionId }))
export const userEntry = (slug: string, userId: string) => entry('user', userId, pathOf({ page: 'user', slug, userId }))
export const traceEntry = (slug: string, traceId: string, note: string) =>
  entry('trace', traceId, pathOf({ page: 'trace', slug, traceId }), note)

/** Maximum number of entries per kind. */
const MOST_OF_KIND = 6
const ORDER = Object.keys(KINDS) as readonly Kind[]

/**
 * Returns the matching entries, grouped by kind. An entry matches if its label or note contains every typed word.
 * Within a kind, labels that start with the typed text come first, followed by entries in which a later word starts
 * with the typed text.
 */
export function matching(entries: readonly Entry[], text: string): Entry[] {
  const typed = fold(text)
  const words = typed.split(' ').filter(word => word !== '')
  const ranked = entries.flatMap(entry => {
    const label = fold(entry.label)
    const whole = `${label} ${fold(entry.note ?? '')}`
    if (!words.every(word => whole.includes(word))) return []
    const rank = label.startsWith(typed) ? 0 : whole.includes(` ${typed}`) ? 1 : 2
    return [{ entry, rank }]
  })
  return ORDER.flatMap(kind =>
    ranked
      .filter(({ entry }) => entry.kind === kind)
      .sort((one, other) => one.rank - other.rank)
      .slice(0, MOST_OF_KIND)
      .map(({ entry }) => entry)
  )
}

const fold = (text: string) => text.toLowerCase().replace(/\s+/g, ' ').trim()

/** Returns the entries to show before anything is typed: recent entries, then views, pages and projects. */
export function atFirst(entries: readonly Entry[], recent: readonly Entry[]): Entry[] {
  const of = (kind: Kind) => entries.filter(entry => entry.kind === kind)
  return [...recent, ...of('view').slice(0, MOST_OF_KIND), ...of('page'), ...of('project').slice(0, MOST_OF_KIND)]
}

/** Keeps the first entry for each target. */
export function distinct(entries: readonly Entry[]): Entry[] {
  const seen = new Set<string>()
  return entries.filter(({ target }) => {
    const key = JSON.stringify(target)
    if (seen.has(key)) return false
    seen.add(key)
    return true
  })
}

const MOST = 6

interface Kept {
  readonly user: number
  readonly slug: string
  readonly entries: readonly Entry[]
}

/** Returns this user's entries in this project; an empty list if the string is invalid or belongs to another user. */
export function readRecent(text: string | null, user: number, slug: string): Entry[] {
  try {
    const kept = JSON.parse(text ?? '') as Partial<Kept> | null
    if (kept?.user !== user || kept.slug !== slug || !Array.isArray(kept.entries)) return []
    return kept.entries.filter(isEntry).map(entry => ({ ...entry, kind: 'recent' as const }))
  } catch {
    return []
  }
}

/** Returns the entries to store after a new choice, newest first. */
export function writeRecent(before: readonly Entry[], entry: Entry, user: number, slug: string): string {
  const note = entry.kind === 'recent' ? entry.note : [KINDS[entry.kind], entry.note].filter(Boolean).join(' · ')
  const newest = { ...entry, kind: 'recent' as const, ...(note !== undefined && { note }) }
  const others = before.filter(({ target }) => JSON.stringify(target) !== JSON.stringify(entry.target))
  return JSON.stringify({ user, slug, entries: [newest, ...others].slice(0, MOST) } satisfies Kept)
}

function isEntry(value: unknown): value is Entry {
  const entry = value as Partial<Record<keyof Entry, unknown>> | null
  const target = entry?.target as { address?: unknown } | null | undefined
  return (
    typeof entry?.label === 'string' &&
    ['string', 'undefined'].includes(typeof entry.note) &&
    typeof target?.address === 'string' &&
    /^(?:p\/|account$)/.test(target.address)
  )
}
