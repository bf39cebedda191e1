/** Loaded traces of recent sessions, so that going back restores what was shown. */
import type { SessionTraces } from '../contract.ts'
import { at, read } from '../state/api.ts'
import { withMore } from './conversation.ts'

const KEPT = 5
const conversations = new Map<string, SessionTraces>()
const nameOf = (slug: string, id: string) => `${slug} ${id}`

export const knownConversation = (slug: string, id: string) => conversations.get(nameOf(slug, id))

/** Loads the next page and returns the whole conversation loaded so far. */
export async function loadMore(
  slug: string,
  id: string,
  known: SessionTraces | undefined,
  signal: AbortSignal
): Promise<SessionTraces> {
  const after = known?.nextCursor ?? undefined
  const query = new URLSearchParams({ id, ...(after !== undefined && { after }) })
  const page = await read(at('p/:slug/session-traces', { slug }, query), { signal })
  const loaded = { traces: withMore(known?.traces ?? [], page.traces), nextCursor: page.nextCursor }
  conversations.delete(nameOf(slug, id))
  conversations.set(nameOf(slug, id), loaded)
  for (const old of conversations.keys()) if (conversations.size > KEPT) conversations.delete(old)
  return loaded
}
