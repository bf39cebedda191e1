/** Looks up the typed text on the server, so that the command box offers only entries that exist. */

import { useEffect, useState } from 'preact/hooks'
import { ApiError, at, errorMessageOf, read } from '../state/api.ts'
import { type Entry, nameEntry, sessionEntry, tagEntry, traceEntry, userEntry } from './command-entries.ts'

const TYPING_MS = 150
const TRACE_ID = /^[0-9a-f]{32}$/i
const MOST = 3

export interface IdLookup {
  readonly entries: readonly Entry[]
  readonly asking: boolean
  readonly error: string | undefined
}

const NOTHING: IdLookup = { entries: [], asking: false, error: undefined }

export function useLookup(slug: string, typed: string): IdLookup {
  const [found, setFound] = useState<{ typed: string; lookup: IdLookup }>({ typed: '', lookup: NOTHING })
  useEffect(() => {
    if (typed === '') return
    const stop = new AbortController()
    const timer = setTimeout(async () => {
      const lookups = TRACE_ID.test(typed)
        ? [findTrace(slug, typed.toLowerCase(), stop.signal)]
        : [
            findListed(slug, typed, 'name', stop.signal),
            findGroups(slug, typed, 'sessions', stop.signal),
            findGroups(slug, typed, 'users', stop.signal),
            findListed(slug, typed, 'tag', stop.signal)
          ]
      const answers = await Promise.allSettled(lookups)
      if (stop.signal.aborted) return
      const failed = answers.find(answer => answer.status === 'rejected')
      const entries = answers.flatMap(answer => (answer.status === 'fulfilled' ? answer.value : []))
      const error = failed === undefined ? undefined : errorMessageOf(failed.reason)
      setFound({ typed, lookup: { entries, asking: false, error } })
    }, TYPING_MS)
    return () => {
      clearTimeout(timer)
      stop.abort()
    }
  }, [slug, typed])
  if (typed === '') return NOTHING
  // Entries found for the previous text stay until a response arrives.
  return found.typed === typed ? found.lookup : { ...found.lookup, asking: true, error: undefined }
}

/** Finds the trace with this id, in this project or in another project that the visitor may see. */
async function findTrace(slug: string, id: string, signal: AbortSignal): Promise<Entry[]> {
  const { traces } = await read(at('p/:slug/traces', { slug }, `ids=${id}`), { signal })
  if (traces[0] !== undefined) return [traceEntry(slug, id, traces[0].name)]
  try {
    const elsewhere = await read(at('traces/:traceId', { traceId: id }), { signal })
    return [traceEntry(elsewhere.slug, id, `in the project ${elsewhere.slug}`)]
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return []
    throw error
  }
}

async function findListed(slug: string, typed: string, filter: 'name' | 'tag', signal: AbortSignal): Promise<Entry[]> {
  const query = new URLSearchParams({ [filter]: typed, limit: '1' })
  const { traces } = await read(at('p/:slug/traces', { slug }, query), { signal })
  return traces.length === 0 ? [] : [filter === 'name' ? nameEntry(slug, typed) : tagEntry(slug, typed)]
}

async function findGroups(
  slug: string,
  typed: string,
  what: 'sessions' | 'users',
  signal: AbortSignal
): Promise<Entry[]> {
  const query = new URLSearchParams({ prefix: typed, ...(what === 'users' && { range: '1y' }) })
  const { groups } = await read(at(`p/:slug/${what}`, { slug }, query), { signal })
  const entry = what === 'sessions' ? sessionEntry : userEntry
  return groups.slice(0, MOST).map(({ id }) => entry(slug, id))
}
