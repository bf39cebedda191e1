/** One trace of a conversation: question, answer, duration, tokens and cost. */

import { useMemo } from 'preact/hooks'
import { type Body, conversationOf, loadBody, pathOfBody, TRACE_ROW } from '../content/bodies.ts'
import { type JsonNode, sourceOf } from '../content/json-text.ts'
import { JsonOfText } from '../content/json-view.tsx'
import { Messages } from '../content/messages-view.tsx'
import type { TraceListItem } from '../contract.ts'
import { useLoad } from '../state/load.ts'
import { pathOf } from '../state/route.ts'
import { formatCost, formatCount, formatDuration } from '../ui/format.ts'
import { Icon, StatusIcon } from '../ui/icons.tsx'
import { Offscreen } from '../ui/offscreen.tsx'
import { Problem } from '../ui/problem.tsx'
import { ScoreChip } from '../ui/score-chip.tsx'
import { asLine } from '../ui/text.ts'
import { fullTime, shortTime, type Zone } from '../ui/time.ts'
import { asked } from './conversation.ts'

/** Estimated height of a turn until its texts load. */
const ESTIMATE_PX = 220

export function Turn({ slug, trace, zone, now }: { slug: string; trace: TraceListItem; zone: Zone; now: Date }) {
  const { startedAt, usage, costUsd, durationMs, scores } = trace
  const isRunning = trace.status === 'running'
  return (
    <article class="turn" id={`t-${trace.id}`} aria-label={asLine(trace.name, 120)}>
      <header>
        <a class="open" href={pathOf({ page: 'trace', slug, traceId: trace.id })}>
          {asLine(trace.name, 120)}
        </a>
        <StatusIcon status={trace.status} quiet={trace.status === 'ok'} />
        <time dateTime={startedAt} title={fullTime(startedAt, zone)}>
          {shortTime(startedAt, zone, now)}
        </time>
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
      <Said body={body} side="input" none="Nothing was recorded as its input." />
      <Said
        body={body}
        side="output"
        none={trace.status === 'running' ? 'It is running.' : 'Nothing was recorded as its output.'}
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
