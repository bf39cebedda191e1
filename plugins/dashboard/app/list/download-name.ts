/** Names of files that the list downloads, such as `spoor-shop-traces-status-error-2026-11-28.csv`. */
import { renderTerms } from '../state/filter-text.ts'
import { filterTerms, type ListQuery } from '../state/list-query.ts'
import type { Present } from '../state/time-range.ts'

/** Maximum number of characters that say what a file contains. */
const MOST = 60

/** Returns the list's filters as text. */
export const filterText = ({ filters, runsOnly }: ListQuery): string =>
  [runsOnly && 'runs only', renderTerms(filterTerms(filters))].filter(Boolean).join(' ')

/** Returns a file name with the project, the content, of which letters and digits remain, and the visitor's date. */
export function downloadName(slug: string, content: string, ending: string, { now, offset }: Present): string {
  const words = content
    .replaceAll(/>=?/g, ' over ')
    .replaceAll(/<=?/g, ' under ')
    .split(/[^\p{L}\p{M}\p{N}._]+/u)
    .filter(word => /[^._]/.test(word))
  const kept = [...words.join('-')].slice(0, MOST).join('')
  const day = new Date(now + offset * 60_000).toISOString().slice(0, 10)
  return `spoor-${slug}-${kept.replace(/-+$/, '')}-${day}.${ending}`
}
