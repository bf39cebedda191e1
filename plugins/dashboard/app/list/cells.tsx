import type { ComponentChildren } from 'preact'
import type { TraceListItem } from '../contract.ts'
import { type Filter, type ListQuery, narrowed, writeQuery } from '../state/list-query.ts'
import { type Page, pathOf } from '../state/route.ts'
import { formatBytes, formatCost, formatCount, formatDuration, formatPart, NONE } from '../ui/format.ts'
import { Icon, StatusIcon } from '../ui/icons.tsx'
import { ScoreChip } from '../ui/score-chip.tsx'
import { asLine } from '../ui/text.ts'
import { fullTime, shortTime, type Zone } from '../ui/time.ts'
import { scoreOfColumn } from './columns.ts'

export interface CellContext {
  readonly slug: string
  readonly query: ListQuery
  readonly zone: Zone
  readonly now: Date
  /** Address of the list, without query string. */
  readonly base: string
  readonly search: string
  /** Longest duration on the page. The latency bars are relative to this value. */
  readonly longestMs: number
}

function Time({ iso, zone, now }: { iso: string | null; zone: Zone; now: Date }) {
  if (iso === null) return <>{NONE}</>
  return (
    <time dateTime={iso} title={fullTime(iso, zone)}>
      {shortTime(iso, zone, now)}
    </time>
  )
}

/** A value that links to the list filtered by the value. */
function Narrow({ filter, value, context }: { filter: Filter; value: string | null; context: CellContext }) {
  if (value === null) return <span class="soft">{NONE}</span>
  const { query, base } = context
  return (
    <a class="narrow-to" href={`${base}${writeQuery(narrowed(query, { [filter]: value }))}`} title={`Only ${value}`}>
      {asLine(value, 60)}
    </a>
  )
}

/** A session or user: a link to its page, and a link to its traces in the list. */
function Group({ filter, value, context }: { filter: 'session' | 'user'; value: string | null; context: CellContext }) {
  if (value === null) return <span class="soft">{NONE}</span>
  const { query, base, slug } = context
  const page: Page =
    filter === 'session' ? { page: 'session', slug, sessionId: value } : { page: 'user', slug, userId: value }
  return (
    <>
      <a class="narrow-to" href={pathOf(page)} title={value}>
        {asLine(value, 60)}
      </a>{' '}
      <a
        class="narrow-icon"
        href={`${base}${writeQuery(narrowed(query, { [filter]: value }))}`}
        title="Only these traces"
      >
        <Icon name="filter" />
        <span class="unseen">Only these traces</span>
      </a>
    </>
  )
}

const MOST_SCORES = 3

function Scores({ scores }: { scores: TraceListItem['scores'] }) {
  const entries = Object.entries(scores)
  if (entries.length === 0) return <span class="soft">{NONE}</span>
  return (
    <span class="scores">
      {entries.slice(0, MOST_SCORES).map(([name, score]) => (
        <ScoreChip key={name} name={name} score={score} />
      ))}
      {entries.length > MOST_SCORES && <span class="soft">+{entries.length - MOST_SCORES}</span>}
    </span>
  )
}

/** A running trace has no tokens and no cost yet. */
function whenEnded(trace: TraceListItem, text: string): ComponentChildren {
  return trace.status === 'running' ? <span title="Known when the trace has ended">{NONE}</span> : text
}

export function Cell({
  name,
  trace,
  context
}: {
  name: string
  trace: TraceListItem
  context: CellContext
}): ComponentChildren {
  const { zone, now } = context
  switch (name) {
    case 'name':
      return (
        <a id={`t-${trace.id}`} class="open" href={`${context.base}/${trace.id}`} data-list={context.search}>
          {asLine(trace.name, 120)}
        </a>
      )
    case 'status':
      return <StatusIcon status={trace.status} />
    case 'started':
      return <Time iso={trace.startedAt} zone={zone} now={now} />
    case 'ended':
      return <Time iso={trace.endedAt} zone={zone} now={now} />
    case 'ingested':
      return <Time iso={trace.ingestedAt} zone={zone} now={now} />
    case 'latency':
      return <Latency trace={trace} context={context} />
    case 'model':
      return <Narrow filter="model" value={trace.model} context={context} />
    case 'provider':
      return trace.provider === null ? NONE : asLine(trace.provider, 40)
    case 'input':
      return whenEnded(trace, formatPart(trace.usage, 'inputTokens'))
    case 'output':
      return whenEnded(trace, formatPart(trace.usage, 'outputTokens'))
    case 'tokens':
      return whenEnded(trace, formatCount(trace.usage.totalTokens))
    case 'cost':
      return whenEnded(trace, formatCost(trace.costUsd))
    case 'spans':
      return (
        <>
          {formatCount(trace.spanCount)}
          {trace.errorCount > 0 && (
            <span class="is-error" title={`${trace.errorCount} failed`}>
              {' '}
              <Icon name="error" />
              {trace.errorCount}
              <span class="unseen"> failed</span>
            </span>
          )}
        </>
      )
    case 'errors':
      return formatCount(trace.errorCount)
    case 'session':
      return <Group filter="session" value={trace.sessionId} context={context} />
    case 'user':
      return <Group filter="user" value={trace.userId} context={context} />
    case 'environment':
      return <Narrow filter="env" value={trace.environment} context={context} />
    case 'tags':
      return (
        <span class="scores">
          {trace.tags.map(tag => (
            <Narrow key={tag} filter="tag" value={tag} context={context} />
          ))}
        </span>
      )
    case 'size':
      return formatBytes(trace.estimatedBytes)
    case 'id':
      return <code>{trace.id}</code>
    case 'scores':
      return <Scores scores={trace.scores} />
    default: {
      const score = trace.scores[scoreOfColumn(name) ?? '']
      return score === undefined ? <span class="soft">{NONE}</span> : <ScoreChip score={score} />
    }
  }
}

function Latency({ trace, context }: { trace: TraceListItem; context: CellContext }) {
  const { durationMs } = trace
  if (durationMs === null) {
    const ms = Math.max(0, context.now.getTime() - Date.parse(trace.startedAt))
    return <span title="Still running">{formatDuration(Math.floor(ms / 1000) * 1000)}</span>
  }
  const share = context.longestMs === 0 ? 0 : durationMs / context.longestMs
  return (
    <span class="latency">
      {formatDuration(durationMs)}
      <span class="meter" aria-hidden="true">
        <span style={{ inlineSize: `${(share * 100).toFixed(1)}%` }} />
      </span>
    </span>
  )
}
