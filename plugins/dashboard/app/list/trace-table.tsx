import type { ComponentChildren } from 'preact'
import type { Excerpt, TraceListItem, TracePage } from '../contract.ts'
import { type Filter, type ListQuery, type ListSort, narrowed, SORTS, writeQuery } from '../state/list-query.ts'
import { type Page, pathOf } from '../state/route.ts'
import { Icon, StatusIcon } from '../ui/controls.tsx'
import { Moment, ScoreChip } from '../ui/facts.tsx'
import { formatBytes, formatCost, formatCount, formatDuration, formatPart, NONE } from '../ui/format.ts'
import { openRow } from '../ui/table.tsx'
import { asLine } from '../ui/text.ts'
import type { Zone } from '../ui/time.ts'
import { type ListColumn, scoreOfColumn } from './columns.ts'

interface Props {
  readonly traces: readonly TraceListItem[]
  readonly columns: readonly ListColumn[]
  readonly context: CellContext
  readonly excerpts: TracePage['excerpts']
  readonly selected: ReadonlySet<string>
  /** Traces that arrived while the list was open. */
  readonly fresh: ReadonlySet<string>
  readonly query: ListQuery
  select(id: string, range: boolean): void
  selectAll(on: boolean): void
  sort(sort: ListSort): void
}

/** Sort order of each column that the server can sort by. */
const SORTED: Readonly<Record<string, ListSort>> = { started: 'newest', latency: 'slowest', cost: 'costliest' }
const SORT_NAMES: Readonly<Record<ListSort, string>> = {
  newest: 'newest first',
  slowest: 'slowest first',
  costliest: 'costliest first'
}

export function TraceTable(props: Props) {
  const { traces, columns, context, excerpts, selected, fresh, query, select, selectAll, sort } = props
  const all = traces.length > 0 && traces.every(({ id }) => selected.has(id))
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard.
    <section class="table" tabIndex={0} aria-label="Traces">
      <table class="traces">
        <thead>
          <tr>
            <th class="box" scope="col">
              <input
                type="checkbox"
                aria-label="Select all on this page"
                checked={all}
                onChange={event => selectAll(event.currentTarget.checked)}
              />
            </th>
            {columns.map(({ name, title, number }) => {
              const by = SORTED[name]
              const isBy = by !== undefined && query.sort === by
              return (
                <th key={name} scope="col" class={number ? 'number' : ''} aria-sort={isBy ? 'descending' : undefined}>
                  {by === undefined ? (
                    title
                  ) : (
                    <button type="button" class="plain" title={`Sort: ${SORT_NAMES[by]}`} onClick={() => sort(by)}>
                      {title}
                      {isBy && <Icon name="down" />}
                    </button>
                  )}
                </th>
              )
            })}
          </tr>
        </thead>
        {/* biome-ignore lint/a11y/useKeyWithClickEvents: each row has a link for the keyboard. */}
        <tbody onClick={openRow}>
          {traces.map(trace => [
            <tr
              key={trace.id}
              class={`${fresh.has(trace.id) ? 'is-fresh' : ''} ${selected.has(trace.id) ? 'is-selected' : ''}`}
            >
              <td class="box">
                <input
                  type="checkbox"
                  aria-label={`Select ${asLine(trace.name, 60)}`}
                  checked={selected.has(trace.id)}
                  onClick={event => select(trace.id, event.shiftKey)}
                />
              </td>
              {columns.map(({ name, title, number }) => (
                <td
                  key={name}
                  data-label={title}
                  class={`${number ? 'number' : ''} of-${scoreOfColumn(name) === undefined ? name : 'score'}`}
                >
                  <Cell name={name} trace={trace} context={context} />
                </td>
              ))}
            </tr>,
            excerpts?.[trace.id] && (
              <tr key={`${trace.id} excerpt`} class="excerpt">
                <td class="box" />
                <td colSpan={columns.length}>{markedText(excerpts[trace.id]!)}</td>
              </tr>
            )
          ])}
        </tbody>
      </table>
    </section>
  )
}

function markedText({ text, marks }: Excerpt) {
  let at = 0
  const pieces = marks.map(([start, end]) => {
    const before = text.slice(at, start)
    at = end
    return [before, <mark key={start}>{text.slice(start, end)}</mark>]
  })
  return [pieces, text.slice(at)]
}

export function SortMenuItems(query: ListQuery, sort: (sort: ListSort) => void, kept: readonly string[]) {
  return SORTS.map(each => ({
    label: SORT_NAMES[each].replace(/^./, first => first.toUpperCase()),
    checked: query.sort === each,
    ...(each !== 'newest' && kept.length > 0 && { note: `without the filter of ${kept.join(' and ')}` }),
    act: () => sort(each)
  }))
}

interface CellContext {
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

/** A value with a link to the list filtered by that value. */
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

/** Token counts and cost are unknown while a trace is running. */
function whenEnded(trace: TraceListItem, text: string): ComponentChildren {
  return trace.status === 'running' ? <span title="Known when the trace has ended">{NONE}</span> : text
}

function Cell({
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
      return <Moment iso={trace.startedAt} zone={zone} now={now} />
    case 'ended':
      return trace.endedAt === null ? NONE : <Moment iso={trace.endedAt} zone={zone} now={now} />
    case 'ingested':
      return trace.ingestedAt === null ? NONE : <Moment iso={trace.ingestedAt} zone={zone} now={now} />
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
