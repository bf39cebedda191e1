/** Sentences for answers that are empty because a filter names nothing that exists. */
import type { Sql } from 'postgres'
import { nearestNames } from '../lib/search/nearest.ts'
import { readKnownNames } from '../lib/store/lists/known-names.ts'

/** Each filter looks for an exact name or for names that begin with a text. */
const KINDS = {
  sessionPrefix: { of: 'session', isPrefix: true },
  userPrefix: { of: 'user', isPrefix: true },
  user: { of: 'user', isPrefix: false },
  environment: { of: 'environment', isPrefix: false }
} as const

/**
 * Returns a sentence for each filter that matches no name of the newest traces, with the nearest names; null if there
 * is nothing to say.
 */
export async function hintOn(
  sql: Sql,
  projectId: number,
  filters: Readonly<Partial<Record<keyof typeof KINDS, string | undefined>>>
): Promise<string | null> {
  const sentences: string[] = []
  for (const [kind, name] of Object.entries(filters) as [keyof typeof KINDS, string | undefined][]) {
    if (name === undefined) continue
    const { of, isPrefix } = KINDS[kind]
    const known = await readKnownNames(sql, projectId, of)
    const isKnown = isPrefix ? known.some(each => each.startsWith(name)) : known.includes(name)
    if (isKnown) continue
    const missing = `Among the newest traces, no ${of} ${isPrefix ? 'begins with' : 'is'} ${JSON.stringify(name)}`
    const nearest = nearestNames(name, known, isPrefix).map(each => JSON.stringify(each))
    sentences.push(
      nearest.length === 0 ? `${missing}; they have no ${of}.` : `${missing}; near are ${nearest.join(', ')}.`
    )
  }
  return sentences.length === 0 ? null : sentences.join(' ')
}
