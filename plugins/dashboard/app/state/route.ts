/** The pages and their addresses, relative to the page's base (`<base href>`, which ends in `/app/`). */

export const SETTINGS = ['keys', 'members', 'views', 'scores', 'prices', 'audit', 'project'] as const
export type SettingsTab = (typeof SETTINGS)[number]

export type Page =
  | { readonly page: 'home' }
  | { readonly page: 'sign-in' }
  | { readonly page: 'account' }
  | { readonly page: 'shared' }
  | { readonly page: 'find'; readonly traceId: string }
  | { readonly page: 'traces'; readonly slug: string }
  | { readonly page: 'trace'; readonly slug: string; readonly traceId: string }
  | { readonly page: (typeof SECTIONS)[number]; readonly slug: string }
  | { readonly page: 'session'; readonly slug: string; readonly sessionId: string }
  | { readonly page: 'user'; readonly slug: string; readonly userId: string }
  | { readonly page: 'settings'; readonly slug: string; readonly tab: SettingsTab }
  | { readonly page: 'nowhere' }

const SECTIONS = ['overview', 'errors', 'steps', 'groups', 'sessions', 'users', 'scores', 'compare', 'review'] as const

const TRACE_ID = /^[0-9a-f]{32}$/i

export function readPath(path: string): Page {
  const parts = path.replace(/^\/|\/$/g, '').split('/')
  const [first, slug, section, last, ...more] = parts.map(decode)
  if (more.length > 0) return { page: 'nowhere' }
  if (first === '' && slug === undefined) return { page: 'home' }
  if ((first === 'sign-in' || first === 'account' || first === 'shared') && slug === undefined) return { page: first }
  if (first === 't' && slug !== undefined && section === undefined) return { page: 'find', traceId: slug }
  if (first !== 'p' || !slug) return { page: 'nowhere' }
  if (section === undefined) return { page: 'traces', slug }
  if (section === 'traces') {
    if (last === undefined) return { page: 'traces', slug }
    return TRACE_ID.test(last) ? { page: 'trace', slug, traceId: last.toLowerCase() } : { page: 'nowhere' }
  }
  const alone = SECTIONS.find(each => each === section)
  if (alone !== undefined && last === undefined) return { page: alone, slug }
  if (section === 'sessions' && last) return { page: 'session', slug, sessionId: last }
  if (section === 'users' && last) return { page: 'user', slug, userId: last }
  if (section === 'settings') {
    const tab = SETTINGS.find(each => each === (last ?? SETTINGS[0]))
    if (tab !== undefined) return { page: 'settings', slug, tab }
  }
  return { page: 'nowhere' }
}

export function pathOf(page: Page): string {
  switch (page.page) {
    case 'home':
    case 'nowhere':
      return ''
    case 'sign-in':
    case 'account':
    case 'shared':
      return page.page
    case 'find':
      return `t/${encodeURIComponent(page.traceId)}`
    case 'traces':
      return `p/${encodeURIComponent(page.slug)}/traces`
    case 'trace':
      return `p/${encodeURIComponent(page.slug)}/traces/${page.traceId}`
    case 'overview':
    case 'errors':
    case 'steps':
    case 'groups':
    case 'sessions':
    case 'users':
    case 'scores':
    case 'compare':
    case 'review':
      return `p/${encodeURIComponent(page.slug)}/${page.page}`
    case 'session':
      return `p/${encodeURIComponent(page.slug)}/sessions/${encodeURIComponent(page.sessionId)}`
    case 'user':
      return `p/${encodeURIComponent(page.slug)}/users/${encodeURIComponent(page.userId)}`
    case 'settings':
      return `p/${encodeURIComponent(page.slug)}/settings/${page.tab}`
  }
}

/** Decodes a path segment. An invalid encoding is left as is. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Returns the parameters with the given names. An empty parameter counts as missing. */
export function readParameters<N extends string>(search: string, names: readonly N[]): Partial<Record<N, string>> {
  const given = new URLSearchParams(search)
  const found: Partial<Record<N, string>> = {}
  for (const name of names) {
    const value = given.get(name)
    if (value) found[name] = value
  }
  return found
}

/** Formats the named parameters as a query string: `?…`, or an empty string if all are empty. */
export function searchOf<N extends string>(
  parameters: Readonly<Partial<Record<N, string | undefined>>>,
  names: readonly N[]
): string {
  const written = new URLSearchParams()
  for (const name of names) if (parameters[name]) written.set(name, parameters[name])
  return written.size === 0 ? '' : `?${written}`
}
