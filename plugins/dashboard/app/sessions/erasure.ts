/** Erases the traces of a user or of a session, in bounded requests. */
import { at, write } from '../state/api.ts'

/** A user or a session, as the server's body names it. */
export type Erased = { readonly userId: string } | { readonly sessionId: string }

/** Returns the number of traces, counted up to the server's limit. */
export async function countErased(slug: string, target: Erased): Promise<number> {
  const body = { ...target, dryRun: true }
  return (await write('POST', at('p/:slug/deletions', { slug }), { body })).remaining
}

/** Erases all traces. Reports the number erased after each request, until `signal` is aborted. */
export async function erase(slug: string, target: Erased, progress: (done: number) => void, signal: AbortSignal) {
  for (let done = 0; !signal.aborted; ) {
    const { deleted, remaining } = await write('POST', at('p/:slug/deletions', { slug }), { body: target })
    done += deleted
    progress(done)
    if (remaining === 0) return
  }
}
