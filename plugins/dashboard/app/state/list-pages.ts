/** Caches recent list pages, so that going back is instant and a trace can find its neighbours. */
import type { TracePage } from '../contract.ts'
import { at, read } from './api.ts'
import { type ListQuery, readQuery, toServer, writeQuery } from './list-query.ts'
import { presentTime } from './preferences.ts'

const KEPT = 5
/** Maximum number of empty pages that are passed in search of a neighbour. */
const MOST_EMPTY = 5
const pages = new Map<string, TracePage>()

/** The zone is part of the name, because a range of days begins at midnight in the visitor's zone. */
const nameOf = (slug: string, search: string) => `${slug} ${presentTime().offset} ${search}`

export function knownPage(slug: string, search: string): TracePage | undefined {
  return pages.get(nameOf(slug, search))
}

export function keepPage(slug: string, search: string, page: TracePage): void {
  const name = nameOf(slug, search)
  pages.delete(name)
  pages.set(name, page)
  for (const old of pages.keys()) {
    if (pages.size <= KEPT) break
    pages.delete(old)
  }
}

/** Discards all pages, because rows now show other values. */
export const forgetPages = (): void => pages.clear()

/** `metadata` names the values of metadata that rows show. */
export async function loadPage(
  slug: string,
  query: ListQuery,
  signal?: AbortSignal,
  metadata: readonly string[] = []
): Promise<TracePage> {
  const parameters = new URLSearchParams(toServer(query, presentTime()))
  for (const name of metadata) parameters.append('metadata', name)
  const path = at('p/:slug/traces', { slug }, parameters)
  return read(path, signal === undefined ? {} : { signal })
}

/**
 * Returns the trace after (1) or before (-1) a given trace in the list, and the query string of its list page;
 * undefined at either end of the list.
 */
export async function neighbourOf(
  slug: string,
  list: string,
  id: string,
  by: 1 | -1
): Promise<{ readonly id: string; readonly list: string } | undefined> {
  const page = await pageOf(slug, list)
  const at = page.traces.findIndex(trace => trace.id === id)
  const next = at === -1 ? undefined : page.traces[at + by]
  if (next !== undefined) return { id: next.id, list }
  if (at === -1) return undefined
  const { after, before, ...query } = readQuery(list)
  let cursor = by === 1 ? page.nextCursor : page.prevCursor
  // A page may be empty although more traces match, because a search examines a bounded number of traces.
  for (let i = 0; i < MOST_EMPTY && cursor !== null; i++) {
    const search = writeQuery({ ...query, ...(by === 1 ? { after: cursor } : { before: cursor }) })
    const { traces, nextCursor, prevCursor } = await pageOf(slug, search)
    const found = by === 1 ? traces[0] : traces.at(-1)
    if (found !== undefined) return { id: found.id, list: search }
    cursor = by === 1 ? nextCursor : prevCursor
  }
  return undefined
}

async function pageOf(slug: string, search: string): Promise<TracePage> {
  const known = knownPage(slug, search)
  if (known !== undefined) return known
  const page = await loadPage(slug, readQuery(search))
  keepPage(slug, search, page)
  return page
}
