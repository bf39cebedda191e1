/** The page of a public link: one trace, read only, without the rest of the project. */

import { useMemo, useState } from 'preact/hooks'
import { type Body, bodyIn } from '../content/bodies.ts'
import { countMembers, memberAt, membersOf, nodeAt } from '../content/json-text.ts'
import { ValueSection } from '../content/value-section.tsx'
import type { SharedTrace } from '../contract.ts'
import { ApiError, at, writeForText } from '../state/api.ts'
import { useLoad } from '../state/load.ts'
import { useArrival, usePlace } from '../state/navigation.ts'
import { preferences } from '../state/preferences.ts'
import { useStore } from '../state/store.ts'
import { MoreButton, StatusIcon } from '../ui/controls.tsx'
import { Fact, Moment } from '../ui/facts.tsx'
import { formatCost, formatCount, formatCounted, formatDuration } from '../ui/format.ts'
import { Problem, Waiting } from '../ui/problem.tsx'
import { asLine } from '../ui/text.ts'
import { fullTime } from '../ui/time.ts'
import { culpritOf, withDepths } from './order.ts'

/** Number of spans shown at first, and added on request. */
const SPANS_AT_ONCE = 300

interface Loaded extends SharedTrace {
  readonly body: Body
  readonly bodies: ReadonlyMap<string, Body>
}

async function loadShared(token: string, signal: AbortSignal): Promise<Loaded> {
  const text = await writeForText('POST', at('shared', {}), { body: { token }, signal, visitor: true })
  const answer = JSON.parse(text) as SharedTrace
  const root = nodeAt(text)
  const [trace, spans] = ['trace', 'spans'].map(key => root && memberAt(text, root, key))
  const members = spans === undefined ? [] : membersOf(text, spans)
  const bodies = new Map(answer.spans.map(({ id }, i) => [id, bodyIn(text, members[i]?.node)]))
  return { ...answer, body: bodyIn(text, trace), bodies }
}

export function SharedPage() {
  // The token is in the fragment, which browsers do not send, so it appears in no log.
  usePlace()
  const token = location.hash.slice(1)
  const loaded = useLoad(`shared ${token}`, signal => loadShared(token, signal))
  useArrival(!loaded.loading)
  const { value, error } = loaded
  if (error instanceof ApiError && error.status === 404) {
    return (
      <div class="narrow">
        <h1 tabIndex={-1}>This link does not work</h1>
        <p>This link does not exist, has expired, or was revoked. Ask the person who sent it for a new one.</p>
      </div>
    )
  }
  if (error !== undefined) return <Problem error={error} again={loaded.again} />
  return value === undefined ? <Waiting what="the trace" /> : <SharedView loaded={value} />
}

function SharedView({ loaded }: { loaded: Loaded }) {
  const { trace, spans, body, bodies } = loaded
  const { texts, zone } = useStore(preferences)
  const [count, setCount] = useState(SPANS_AT_ONCE)
  const placed = useMemo(() => withDepths(spans), [spans])
  const culprit = useMemo(() => culpritOf(spans), [spans])
  const rendered = texts === 'rendered'
  const hasMetadata = body.metadata !== undefined && countMembers(body.text, body.metadata) > 0
  const hasTexts = body.input !== undefined || body.output !== undefined
  return (
    <article class="shared">
      <header>
        <h1 tabIndex={-1}>{asLine(trace.name, 200)}</h1>
        <StatusIcon status={trace.status} />
      </header>
      <dl class="shared-facts">
        <Fact name="Started">
          <Moment iso={trace.startedAt} zone={zone} text={fullTime(trace.startedAt, zone)} />
        </Fact>
        {trace.durationMs !== null && <Fact name="Duration">{formatDuration(trace.durationMs)}</Fact>}
        {trace.userId !== null && <Fact name="User">{asLine(trace.userId, 60)}</Fact>}
        {trace.sessionId !== null && <Fact name="Session">{asLine(trace.sessionId, 60)}</Fact>}
        {trace.environment !== null && <Fact name="Environment">{trace.environment}</Fact>}
        {trace.tags.length > 0 && <Fact name="Tags">{asLine(trace.tags.join(', '), 200)}</Fact>}
        {trace.model !== null && <Fact name="Model">{asLine(trace.model, 60)}</Fact>}
        {trace.usage !== null && <Fact name="Tokens">{formatCount(trace.usage.totalTokens)}</Fact>}
        {trace.costUsd !== null && <Fact name="Cost">{formatCost(trace.costUsd)}</Fact>}
      </dl>
      {hasTexts && <h2 class="unseen">Input and output</h2>}
      {hasTexts && <ValueSection title="Input" body={body} part="input" rendered={rendered} />}
      {hasTexts && <ValueSection title="Output" body={body} part="output" rendered={rendered} />}
      {hasMetadata && <ValueSection title="Metadata" body={body} part="metadata" rendered={rendered} />}
      <h2>{formatCounted(spans.length, 'span')}</h2>
      <ol class="shared-spans">
        {placed.slice(0, count).map(({ span, depth }) => (
          <li key={span.id} data-depth={Math.min(depth, 8)}>
            <SharedSpan span={span} body={bodies.get(span.id)!} rendered={rendered} isCulprit={span.id === culprit} />
          </li>
        ))}
      </ol>
      {placed.length > count && (
        <MoreButton onClick={() => setCount(count + SPANS_AT_ONCE)}>
          {formatCounted(placed.length - count, 'more span')}
        </MoreButton>
      )}
    </article>
  )
}

interface SpanProps {
  readonly span: SharedTrace['spans'][number]
  readonly body: Body
  readonly rendered: boolean
  /** Whether this is the step that failed by itself. It is open from the beginning. */
  readonly isCulprit: boolean
}

/** A span whose values are drawn once it is open. */
function SharedSpan({ span, body, rendered, isCulprit }: SpanProps) {
  const [open, setOpen] = useState(isCulprit)
  return (
    <details open={isCulprit} onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>
        <b>{asLine(span.name, 120)}</b> <span class={`kind is-${span.kind}`}>{span.kind}</span>{' '}
        <StatusIcon status={span.status} />{' '}
        <span class="soft">
          {formatDuration(span.durationMs)}
          {span.usage !== null && span.usage.totalTokens > 0 && ` · ${formatCounted(span.usage.totalTokens, 'token')}`}
          {span.costUsd !== null && ` · ${formatCost(span.costUsd)}`}
        </span>
      </summary>
      {open && (
        <>
          <ValueSection title="Input" body={body} part="input" rendered={rendered} />
          <ValueSection title="Output" body={body} part="output" rendered={rendered} />
          {span.events.length > 0 && <ValueSection title="Events" body={body} part="events" rendered={rendered} />}
        </>
      )}
    </details>
  )
}
