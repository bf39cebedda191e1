/** The page to which a person goes after signing in. */

/** Far below what a cookie takes. */
const MOST_LENGTH = 1500

/** Any address: only how others resolve against it is looked at. */
const BASE = 'http://own/app/'

/**
 * The page of the dashboard that was asked for, relative to `/app/` and encoded; empty if it is none: no text leads
 * elsewhere.
 */
export function ownPage(asked: string | undefined): string {
  if (asked === undefined || !/^(?:[pt]\/[^\\\p{Cc}\p{Cs}]*|account)$/u.test(asked)) return ''
  // Browsers resolve `..`, also where it is encoded.
  const { href } = new URL(asked, BASE)
  const page = href.slice(BASE.length)
  const isOwn = href.startsWith(BASE) && page.length <= MOST_LENGTH && /^(?:[pt]\/|account$)/.test(page)
  return isOwn ? page : ''
}
