/** Reads the values of a field in the listed period. */
import type { SuggestedField, SuggestedValues } from '../contract.ts'
import { at, read } from '../state/api.ts'
import { type ListQuery, listedTime } from '../state/list-query.ts'
import { toCounted } from '../state/overview-query.ts'
import { presentTime } from '../state/preferences.ts'

/** Fields whose traces are counted in full, by their names in the response. Others are counted in the newest traces. */
const COUNTED = { status: 'statuses', name: 'names', model: 'models', env: 'environments' } as const
const SUGGESTED: Readonly<Record<string, SuggestedField>> = {
  tag: 'tag',
  user: 'userId',
  session: 'sessionId',
  step: 'step',
  score: 'score'
}

const isCounted = (field: string): field is keyof typeof COUNTED => Object.hasOwn(COUNTED, field)
export const hasValues = (field: string): boolean => isCounted(field) || Object.hasOwn(SUGGESTED, field)

export async function suggest(
  slug: string,
  query: ListQuery,
  field: string,
  typed: string,
  signal: AbortSignal
): Promise<SuggestedValues> {
  const current = presentTime()
  if (isCounted(field)) {
    const counts = await read(at('p/:slug/facet-counts', { slug }, toCounted(query, current)), { signal })
    const values = counts[COUNTED[field]].map(({ value, traces }) => ({ value: value ?? 'unassigned', traces }))
    return { values, newest: null }
  }
  const parameters = { field: SUGGESTED[field]!, ...(typed !== '' && { typed }), ...listedTime(query, current) }
  return read(at('p/:slug/suggestions', { slug }, new URLSearchParams(parameters)), { signal })
}
