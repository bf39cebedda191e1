/** The traces of a session. Scrolling to the end loads more. */

import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { type Body, conversationOf, loadBody, pathOfBody } from '../content/bodies.ts'
import { type JsonNode, sourceOf } from '../content/json-text.ts'
import { JsonOfText } from '../content/json-view.tsx'
import { Messages } from '../content/messages-view.tsx'
import { TRACE_ROW } from '../content/span-tree.ts'
import type { SessionTraces as Loaded, SessionTraces, TraceListItem } from '../contract.ts'
import { at, read } from '../state/api.ts'
import { useLoad } from '../state/load.ts'
import { pathOf } from '../state/route.ts'
import { Icon, MoreButton, StatusIcon } from '../ui/controls.tsx'
import { Moment, ScoreChip } from '../ui/facts.tsx'
import { formatCost, formatCount, formatCounted, formatDuration } from '../ui/format.ts'
import { Offscreen } from '../ui/offscreen.tsx'
import { Problem, Waiting } from '../ui/problem.tsx'
import { asLine } from '../ui/text.ts'
import type { Zone } from '../ui/time.ts'
import { asked, gapBefore, withMore } from './conversation.ts'

export interface Loading {
  readonly loaded: Loaded | undefined
  readonly error: unknown
  more(): void
}

/** Loads the first page immediately and further pages on demand. */
export function useConversation(slug: string, id: string): Loading {
  const [loaded, setLoaded] = useState(() => knownConversation(slug, id))
  const [error, setError] = useState<unknown>()
  const stop = useRef<AbortController>(undefined)
  const latest = useRef(loaded)
  const more = useCallback(async () => {
    if (stop.current !== undefined) return
    stop.current = new AbortController()
    const { signal } = stop.current
    setError(undefined)
    try {
      latest.current = await loadMore(slug, id, latest.current, signal)
      if (!signal.aborted) setLoaded(latest.current)
    } catch (failed) {
      if (!signal.aborted) setError(failed)
    }
    stop.current = undefined
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
            <Turn key={trace.id} slug={slug} trace={trace} error={loaded?.errors[trace.id]} zone={zone} now={now} />
          </>
        )
      })}
      {error !== undefined && <Problem error={error} again={more} />}
      {loaded === undefined && error === undefined && <Waiting what="the conversation" />}
      {follows && error === undefined && (
        <div ref={end}>
          <MoreButton onClick={more}>More traces</MoreButton>
        </div>
      )}
      {loaded !== undefined && !follows && (
        <p class="soft conversation-end">{formatCounted(traces.length, 'trace')}, oldest first.</p>
      )}
    </div>
  )
}

/** Estimated height of a turn until its texts load. */
const ESTIMATE_PX = 220

/** One trace of a conversation: question, answer, duration, tokens and cost. */
interface TurnProps {
  readonly slug: string
  readonly trace: TraceListItem
  readonly error: Loaded['errors'][string] | undefined
  readonly zone: Zone
  readonly now: Date
}

function Turn({ slug, trace, error, zone, now }: TurnProps) {
  const { startedAt, usage, costUsd, durationMs, scores } = trace
  const isRunning = trace.status === 'running'
  return (
    <article class="turn" id={`t-${trace.id}`} aria-label={asLine(trace.name, 120)}>
      <header>
        <a class="open" href={pathOf({ page: 'trace', slug, traceId: trace.id })}>
          {asLine(trace.name, 120)}
        </a>
        <StatusIcon status={trace.status} quiet={trace.status === 'ok'} />
        <Moment iso={startedAt} zone={zone} now={now} />
        {durationMs !== null && <span>{formatDuration(durationMs)}</span>}
        {!isRunning && usage.totalTokens > 0 && <span>{formatCount(usage.totalTokens)} tokens</span>}
        {costUsd !== null && <span>{formatCost(costUsd)}</span>}
        {trace.errorCount > 0 && (
          <span class="is-error">
            <Icon name="error" /> {formatCount(trace.errorCount)} failed
          </span>
        )}
        {Object.entries(scores).map(([name, score]) => (
          <ScoreChip key={name} name={name} score={score} />
        ))}
      </header>
      {error !== undefined && (
        <p class="turn-error">
          <a href={`${pathOf({ page: 'trace', slug, traceId: trace.id })}?span=${error.spanId}`}>
            {asLine(error.step, 60)}
          </a>
          {error.type !== null && <b> {asLine(error.type, 80)}</b>}
          {error.message !== null && ` ${asLine(error.message, 200)}`}
        </p>
      )}
      <Offscreen estimate={ESTIMATE_PX}>
        <Texts slug={slug} trace={trace} />
      </Offscreen>
    </article>
  )
}

function Texts({ slug, trace }: { slug: string; trace: TraceListItem }) {
  const path = pathOfBody(slug, trace.id, TRACE_ROW)
  // The texts of a running or growing trace change over time.
  const version = `${trace.estimatedBytes}.${trace.spanCount}.${trace.endedAt}`
  const { value: body, error, again } = useLoad(`${path} ${version}`, signal => loadBody(path, version, signal))
  if (error !== undefined) return <Problem error={error} again={again} />
  if (body === undefined) return <p class="turn-wait" role="status" aria-label="Loading the texts" />
  return (
    <>
      <Said body={body} side="input" none="No input was recorded." />
      <Said
        body={body}
        side="output"
        none={trace.status === 'running' ? 'Still running.' : 'No output was recorded.'}
      />
    </>
  )
}

function Said({ body, side, none }: { body: Body; side: 'input' | 'output'; none: string }) {
  const node = body[side]
  const messages = conversationOf(body)[side]
  const shown = useMemo(() => messages && (side === 'input' ? asked(messages) : messages), [messages])
  if (node === undefined) return <p class="soft">{none}</p>
  if (shown === undefined || shown.length === 0) return <Json body={body} node={node} label={side} />
  return <Messages messages={shown} rendered />
}

function Json({ body, node, label }: { body: Body; node: JsonNode; label: string }) {
  const text = useMemo(() => sourceOf(body.text, node), [body, node])
  return (
    <div class="turn-json">
      <h3>{label}</h3>
      <JsonOfText text={text} label={label} name={label} />
    </div>
  )
}

const KEPT = 5
const conversations = new Map<string, SessionTraces>()
const nameOf = (slug: string, id: string) => `${slug} ${id}`

const knownConversation = (slug: string, id: string) => conversations.get(nameOf(slug, id))

/** Loads the next page and returns the whole conversation loaded so far. */
async function loadMore(
  slug: string,
  id: string,
  known: SessionTraces | undefined,
  signal: AbortSignal
): Promise<SessionTraces> {
  const after = known?.nextCursor ?? undefined
  const query = new URLSearchParams({ id, ...(after !== undefined && { after }) })
  const page = await read(at('p/:slug/session-traces', { slug }, query), { signal })
  const loaded = {
    traces: withMore(known?.traces ?? [], page.traces),
    nextCursor: page.nextCursor,
    errors: { ...known?.errors, ...page.errors }
  }
  conversations.delete(nameOf(slug, id))
  conversations.set(nameOf(slug, id), loaded)
  for (const old of conversations.keys()) if (conversations.size > KEPT) conversations.delete(old)
  return loaded
}
