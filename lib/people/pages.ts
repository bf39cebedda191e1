/** Checks the page to which a person is redirected after signing in. */

/** Maximum length of a page's URL, in characters. The cookie that contains the page has a much higher limit. */
const MOST_LENGTH = 1500

/** An arbitrary base, used only to resolve the page's URL. */
const BASE = 'http://own/app/'

/**
 * Returns the requested dashboard page, relative to `/app/` and encoded. Returns an empty string for any other input,
 * so that no input causes a redirect outside the dashboard.
 */
export function ownPage(asked: string | undefined): string {
  if (asked === undefined || !/^(?:[pt]\/[^\\\p{Cc}\p{Cs}]*|account)$/u.test(asked)) return ''
  // Browsers resolve `..` even if it is encoded.
  const { href } = new URL(asked, BASE)
  const page = href.slice(BASE.length)
  const isOwn = href.startsWith(BASE) && page.length <= MOST_LENGTH && /^(?:[pt]\/|account$)/.test(page)
  return isOwn ? page : ''
}
