import type { ComponentChildren } from 'preact'
import type { TokenUsage, TraceListItem, TraceMatch, TracePage } from '../contract.ts'
import {
  type Filter,
  type ListQuery,
  type ListSort,
  narrowed,
  SORTS,
  withTerms,
  withTime,
  writeQuery
} from '../state/list-query.ts'
import { type Page, pathOf } from '../state/route.ts'
import { ALL_TIME } from '../state/time-range.ts'
import { Icon, StatusIcon } from '../ui/controls.tsx'
import { DurationMeter } from '../ui/duration-meter.tsx'
import { Moment, ScoreChip } from '../ui/facts.tsx'
import { formatBytes, formatCost, formatCount, formatCounted, formatDuration, formatPart, NONE } from '../ui/format.ts'
import { openRow } from '../ui/table.tsx'
import { asLine } from '../ui/text.ts'
import type { Zone } from '../ui/time.ts'
import { type ListColumn, metadataOfColumn, scoreOfColumn } from './columns.ts'
import { hasPreview, RowPreviews } from './previews.tsx'

interface Props {
  readonly traces: readonly TraceMatch[]
  readonly columns: readonly ListColumn[]
  readonly context: CellContext
  /** Whether rows hide their first words and errors. */
  readonly isCompact: boolean
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
export const SORT_NAMES: Readonly<Record<ListSort, string>> = {
  newest: 'newest first',
  slowest: 'slowest first',
  costliest: 'most expensive first'
}

export function TraceTable(props: Props) {
  const { traces, columns, context, isCompact, selected, fresh, query, select, selectAll, sort } = props
  const all = traces.length > 0 && traces.every(({ id }) => selected.has(id))
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard.
    <section id="table" class="table" tabIndex={0} aria-label="Traces">
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
                <td key={name} data-label={title} class={`${number ? 'number' : ''} of-${name.replace(/:.*/s, '')}`}>
                  <Cell name={name} trace={trace} context={context} />
                </td>
              ))}
            </tr>,
            (!isCompact || trace.excerpt !== null) && hasPreview(trace) && (
              <tr key={`${trace.id} excerpt`} class="excerpt">
                <td class="box" />
                <td colSpan={columns.length}>
                  <RowPreviews trace={trace} />
                </td>
              </tr>
            )
          ])}
        </tbody>
      </table>
    </section>
  )
}

export function SortMenuItems(query: ListQuery, sort: (sort: ListSort) => void) {
  return SORTS.map(each => ({
    label: SORT_NAMES[each].replace(/^./, first => first.toUpperCase()),
    checked: query.sort === each,
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
  /** Longest duration on the page, at which a latency bar is full. */
  readonly longestMs: number
  readonly details: TracePage['details']
  readonly metadata: TracePage['metadata']
}

/** A value with a link to the list filtered by that value. */
function Narrow({ filter, value, context }: { filter: Filter; value: string | null; context: CellContext }) {
  if (value === null) return <span class="soft">{NONE}</span>
  const { query, base } = context
  return (
    <a class="narrow-to" href={`${base}${writeQuery(withTerms(query, [{ filter, value }]))}`} title={`Only ${value}`}>
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
        href={`${base}${writeQuery(withTime(narrowed(query, { [filter]: value }), { range: ALL_TIME }))}`}
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

type Steps = NonNullable<TracePage['details'][string]['steps']>

/** A number of the trace, or the sum of its steps if the trace does not state the number. */
function StatedOrSum({ stated, sum }: { stated: string | undefined; sum: string | undefined }) {
  if (stated !== undefined) return stated
  if (sum === undefined) return <span class="soft">{NONE}</span>
  return <span title="Sum of the steps. The trace itself reports no value.">≈ {sum}</span>
}

function Tokens({ trace, steps, part }: { trace: TraceListItem; steps: Steps | undefined; part: keyof TokenUsage }) {
  const { usage } = trace
  const isStated = usage.totalTokens > 0 || (steps === undefined && trace.status !== 'running')
  const stated = part === 'totalTokens' ? formatCount(usage.totalTokens) : formatPart(usage, part)
  const { inputTokens, outputTokens, totalTokens } = steps ?? {}
  const total =
    totalTokens ?? (inputTokens == null && outputTokens == null ? null : (inputTokens ?? 0) + (outputTokens ?? 0))
  const sum = { inputTokens, outputTokens, totalTokens: total }[part]
  return <StatedOrSum stated={isStated ? stated : undefined} sum={sum == null ? undefined : formatCount(sum)} />
}

function Cost({ trace, steps }: { trace: TraceListItem; steps: Steps | undefined }) {
  const stated = trace.costUsd === null ? undefined : formatCost(trace.costUsd)
  const sum = steps?.costUsd == null ? undefined : formatCost(steps.costUsd)
  return <StatedOrSum stated={stated} sum={sum} />
}

function Model({ trace, steps, context }: { trace: TraceListItem; steps: Steps | undefined; context: CellContext }) {
  const [model, ...others] = steps?.models ?? []
  if (trace.model !== null || model === undefined)
    return <Narrow filter="model" value={trace.model} context={context} />
  const all = [model, ...others].join(', ')
  return (
    <span class="soft" title={`Models of its steps: ${all}`}>
      {asLine(model, 60)}
      {others.length > 0 && ` +${others.length}`}
    </span>
  )
}

/** The number of spans, of spans that were not stored, and of failed spans. */
function Spans({ trace, leftOut }: { trace: TraceListItem; leftOut: number }) {
  return (
    <>
      {formatCount(trace.spanCount)}
      {leftOut > 0 && (
        <span class="soft" title={`${formatCounted(leftOut, 'span')} not stored`}>
          {' '}
          of {formatCount(trace.spanCount + leftOut)}
        </span>
      )}
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
  const { zone, now, details } = context
  const leftOut = details[trace.id]?.leftOut ?? 0
  const steps = details[trace.id]?.steps ?? undefined
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
      return <Model trace={trace} steps={steps} context={context} />
    case 'provider':
      return trace.provider === null ? NONE : asLine(trace.provider, 40)
    case 'input':
      return <Tokens trace={trace} steps={steps} part="inputTokens" />
    case 'output':
      return <Tokens trace={trace} steps={steps} part="outputTokens" />
    case 'tokens':
      return <Tokens trace={trace} steps={steps} part="totalTokens" />
    case 'cost':
      return <Cost trace={trace} steps={steps} />
    case 'spans':
      return <Spans trace={trace} leftOut={leftOut} />
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
      const key = metadataOfColumn(name)
      if (key !== undefined) {
        const value = context.metadata[trace.id]?.[key]
        return value === undefined ? <span class="soft">{NONE}</span> : <span title={value}>{asLine(value, 60)}</span>
      }
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
  return <DurationMeter ms={durationMs} longestMs={context.longestMs} />
}
