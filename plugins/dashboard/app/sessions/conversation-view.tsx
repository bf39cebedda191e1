/** The traces of a session. Scrolling to the end loads more. */

import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import type { SessionTraces as Loaded } from '../contract.ts'
import { formatCounted, formatDuration } from '../ui/format.ts'
import { Problem, Waiting } from '../ui/problem.tsx'
import type { Zone } from '../ui/time.ts'
import { gapBefore } from './conversation.ts'
import { knownConversation, loadMore } from './conversation-pages.ts'
import { Turn } from './conversation-turn.tsx'

export interface Loading {
  readonly loaded: Loaded | undefined
  readonly error: unknown
  more(): void
}

/** Loads the first page at once and further pages on demand. */
export function useConversation(slug: string, id: string): Loading {
  const [loaded, setLoaded] = useState(() => knownConversation(slug, id))
  const [error, setError] = useState<unknown>()
  const stop = useRef<AbortController>(undefined)
  const latest = useRef(loaded)
  const more = useCallback(() => {
    if (stop.current !== undefined) return
    stop.current = new AbortController()
    const { signal } = stop.current
    setError(undefined)
    loadMore(slug, id, latest.current, signal)
      .then(
        next => {
          latest.current = next
          if (!signal.aborted) setLoaded(next)
        },
        failed => {
          if (!signal.aborted) setError(failed)
        }
      )
      .finally(() => {
        stop.current = undefined
      })
  }, [slug, id])
  useEffect(() => {
    if (latest.current === undefined) more()
    return () => stop.current?.abort()
  }, [more])
  return { loaded, error, more }
}

export function ConversationView({ slug, loading, zone }: { slug: string; loading: Loading; zone: Zone }) {
  const { loaded, error, more } = loading
  const end = useRef<HTMLDivElement>(null)
  const follows = loaded !== undefined && loaded.nextCursor !== null
  useEffect(() => {
    const element = end.current
    if (element === null || error !== undefined) return
    const observer = new IntersectionObserver(
      entries => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) more()
      },
      { rootMargin: '600px 0px' }
    )
    observer.observe(element)
    return () => observer.disconnect()
  }, [loaded, error])
  const now = new Date()
  const traces = loaded?.traces ?? []
  return (
    <div class="conversation">
      {traces.map((trace, i) => {
        const gap = gapBefore(traces[i - 1], trace)
        return (
          <>
            {gap !== undefined && (
              <p key={`gap ${trace.id}`} class="gap">
                <span>{formatDuration(gap)} later</span>
              </p>
            )}
            <Turn key={trace.id} slug={slug} trace={trace} zone={zone} now={now} />
          </>
        )
      })}
      {error !== undefined && <Problem error={error} again={more} />}
      {loaded === undefined && error === undefined && <Waiting what="the conversation" />}
      {follows && error === undefined && (
        <div ref={end}>
          <button type="button" class="show-all" onClick={more}>
            More traces
          </button>
        </div>
      )}
      {loaded !== undefined && !follows && (
        <p class="soft conversation-end">{formatCounted(traces.length, 'trace')}, the newest last.</p>
      )}
    </div>
  )
}
