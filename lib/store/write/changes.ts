/**
 * Statements that change the stored rows of traces and tags when a trace is appended to, ends, receives further
 * OpenTelemetry spans, or is updated by a later export line. New rows are written by COPY, which cannot change a row.
 *
 * Each statement changes many traces of one project and takes an array per column. If a trace no longer has the version
 * that its change is based on, the statement fails with error 22012 (division by zero), and the transaction is rolled
 * back.
 */
import type { TableNames } from '../../database/tables.ts'
import {
  advanceValues,
  appendValues,
  type Changed,
  type Delta,
  type Done,
  endValues,
  growthValues,
  type ListedTrace
} from '../../rows/column-values.ts'
import {
  ADVANCE_COLUMNS,
  APPEND_COLUMNS,
  type Column,
  END_COLUMNS,
  GROWTH_COLUMNS,
  TARGET_COLUMNS,
  type Value
} from '../../rows/columns.ts'
import { type ListedRows, renderListedRows, type SpanRows } from '../../rows/copy-rows.ts'
import { type ListNumber, listsOf, type TraceLists, tagListsOf } from '../../rows/list-numbers.ts'
import type { ScoreRows } from '../../rows/score-rows.ts'
import { parameter, rowSource, typed } from '../../rows/text-arrays.ts'
import type { Ending, TraceChange, TraceState } from '../../trace/states/decide.ts'
import type { Advance } from '../../trace/states/decide-restore.ts'
import type { Growth } from '../../trace/states/gathered.ts'
import type { Tables } from './homes.ts'

/** A stored trace with the change to write. */
export interface ChangedTrace {
  readonly projectId: number
  readonly traceId: string
  readonly seq: number
  readonly changed: Changed
  /** Fields that an end, a growth or an advance sets; undefined for an append. */
  readonly done: { readonly ending: Ending } | { readonly growth: Growth } | { readonly advance: Advance } | undefined
  /** Lists after the change; undefined for an append, which leaves the lists unchanged. */
  readonly listed: Listed | undefined
  /** Rows of the added spans. */
  readonly spans: SpanRows | undefined
  /** Stored spans to remove. */
  readonly removed?: readonly { readonly id: string }[]
  /** Rows of the added scores. */
  readonly scores?: ScoreRows | undefined
}

/**
 * Lists that contain the trace after the change. If the trace's tag rows change, `rows` contains the new rows, and
 * `removed` identifies the old rows to delete.
 */
interface Listed {
  readonly lists: TraceLists
  readonly rows: ListedRows
  readonly removed: readonly RemovedTag[]
}

/** A row of trace_tags, identified by the columns of its index. */
interface RemovedTag {
  readonly tagFamily: ListNumber
  readonly startedAt: string
  readonly traceId: string
}

interface Target {
  readonly projectId: number
  readonly traceId: string
  readonly state: TraceState
  /** The trace's version after the change. */
  readonly version: number
}

/** Converts a change into the data to write. `spans` are the rows of the added spans. */
export function changedTrace(
  { projectId, traceId, state, version }: Target,
  sums: TraceChange | Growth | Advance,
  spans: SpanRows | undefined
): ChangedTrace {
  const done = doneOf(sums)
  const listed = done && listedAfter(traceId, state, Object.values(done)[0] as Ending | Growth | Advance)
  return { projectId, traceId, seq: state.seq, changed: { state, version, sums }, done, listed, spans }
}

function doneOf(sums: TraceChange | Growth | Advance): ChangedTrace['done'] {
  if ('ending' in sums) return sums.ending && { ending: sums.ending }
  return 'scores' in sums ? { advance: sums } : { growth: sums }
}

function listedAfter(traceId: string, state: TraceState, change: Ending | Growth | Advance): Listed {
  const { name, userId, startedAt, inputTokens, outputTokens, costUsd, model, tags } = state.gathered ?? state
  const { status, endedAt } = state.gathered ?? state.copy ?? { status: 'running', endedAt: null }
  const usage = { inputTokens, outputTokens, costUsd }
  const before: ListedTrace = { traceId, name, userId, startedAt, ...usage, model, tags, status, endedAt }
  const kept = 'startedAt' in change ? change : before
  const after: ListedTrace = {
    traceId,
    name: kept.name,
    userId: kept.userId,
    startedAt: kept.startedAt,
    inputTokens: change.inputTokens,
    outputTokens: change.outputTokens,
    costUsd: change.costUsd,
    model: change.model,
    tags: change.tags,
    status: change.status,
    endedAt: change.endedAt
  }
  const environment = state.environment ?? ''
  const lists = listsOf(after, environment)
  const isListedAlike = isSame(before, after)
  // Sums of steps are computed again when deltas say that the trace has changed (lib/store/analytics/usage).
  if (isListedAlike && isCountedAlike(before, after) && before.endedAt === null) {
    return { lists, rows: renderListedRows({ ...after, tags: [] }, lists), removed: [] }
  }
  const listsBefore = listsOf(before, environment)
  const deltas = [...deltasOf(-1, before, listsBefore), ...deltasOf(1, after, lists)]
  if (isListedAlike) return { lists, rows: renderListedRows({ ...after, tags: [] }, lists, deltas), removed: [] }
  return { lists, rows: renderListedRows(after, lists, deltas), removed: rowsOfTags(before, listsBefore) }
}

/** Returns a trace's deltas. A trace is counted only after it has ended. */
const deltasOf = (sign: 1 | -1, trace: ListedTrace, lists: TraceLists): Delta[] =>
  trace.endedAt === null ? [] : [{ sign, trace, lists }]

function rowsOfTags({ traceId, startedAt, tags }: ListedTrace, lists: TraceLists): RemovedTag[] {
  return tags.map(tag => ({ tagFamily: tagListsOf(tag, lists).tagFamily, startedAt, traceId }))
}

/** Whether a change leaves the trace's tag rows unchanged. */
const isSame = ({ tags, inputTokens: _, outputTokens: __, ...before }: ListedTrace, after: ListedTrace): boolean =>
  tags.length === after.tags.length &&
  tags.every((tag, i) => tag === after.tags[i]) &&
  Object.entries(before).every(([name, value]) => after[name as keyof ListedTrace] === value)

/** Whether a change that leaves the lists unchanged also leaves the rollups unchanged. */
const isCountedAlike = (before: ListedTrace, after: ListedTrace): boolean =>
  before.inputTokens === after.inputTokens && before.outputTokens === after.outputTokens

/** A prepared statement. Its first parameters are the project's id and the row count; `parameters` returns the rest. */
interface Statement<T> {
  readonly name: string
  readonly text: (tables: TableNames) => string
  readonly parameters: (items: readonly T[]) => string[]
}

const isTarget = (name: string) => TARGET_COLUMNS.some(column => column.name === name)

/** The columns that say where a text is stored, and the text's column. They are set together with the text. */
const TEXT_OF: ReadonlyMap<string, string> = new Map(
  ['input', 'output'].flatMap(side => ['span_id', 'bytes'].map(end => [`${side}_${end}`, side] as const))
)

function updateOf<T, N extends string>(
  name: string,
  columns: readonly (Column & { readonly name: N })[],
  values: Readonly<Record<N, (item: T) => Value>>
): Statement<T> {
  const source = new Map<string, string>(columns.map(column => [column.name, typed(column, 'c')]))
  const onlyOn = new Set<string>(columns.filter(column => column.onlyOn).map(({ name }) => name))
  const sets = [...source]
    .filter(([name]) => !isTarget(name) && !name.startsWith('sets_'))
    .map(([name, value]) => {
      if (onlyOn.has(name)) return `${name} = t.${name} or ${value}`
      const isSet = source.get(`sets_${TEXT_OF.get(name) ?? name}`)
      return `${name} = ${isSet === undefined ? value : `case when ${isSet} then ${value} else t.${name} end`}`
    })
  // A new text without these columns is never shared with a span, even if its former text was.
  for (const [name, side] of TEXT_OF) {
    const isSet = source.get(`sets_${side}`)
    if (isSet !== undefined && !source.has(name)) sets.push(`${name} = case when not ${isSet} then t.${name} end`)
  }
  const text: Statement<T>['text'] = ({ traces }) => `with changed as (
      update ${traces} as t set ${sets.join(', ')} from ${rowSource(columns, 3, 'c')}
      where t.project_id = $1::int and t.seq = ${source.get('seq')} and t.version = ${source.get('old_version')}
      returning 1
    ) select 1 / (count(*) = $2::bigint)::int from changed`
  return { name, text, parameters: items => columns.map(column => parameter(column, items.map(values[column.name]))) }
}

const UPDATES = {
  append: updateOf('change_append', APPEND_COLUMNS, appendValues),
  end: updateOf('change_end', END_COLUMNS, endValues),
  growth: updateOf('change_growth', GROWTH_COLUMNS, growthValues),
  advance: updateOf('change_advance', ADVANCE_COLUMNS, advanceValues)
}

const REMOVED_COLUMNS: readonly Column[] = [
  { name: 'tag_family', type: 'bigint' },
  { name: 'started_at', type: 'timestamptz' },
  { name: 'id', type: 'uuid' }
]
const REMOVE_TAGS: Statement<RemovedTag> = {
  name: 'remove_tags',
  text: ({ trace_tags }) => `delete from ${trace_tags} g using ${rowSource(REMOVED_COLUMNS, 3, 'r')}
    where g.project_id = $1::int and $2::bigint > 0 and g.tag_family = r.tag_family
      and g.started_at = r.started_at and g.id = r.id`,
  parameters: tags =>
    [tags.map(tag => tag.tagFamily), tags.map(tag => tag.startedAt), tags.map(tag => tag.traceId)].map((values, i) =>
      parameter(REMOVED_COLUMNS[i] as Column, values)
    )
}

interface RemovedSpan {
  readonly seq: number
  readonly id: string
}
const REMOVED_SPAN_COLUMNS: readonly Column[] = [
  { name: 'trace_seq', type: 'bigint' },
  { name: 'id', type: 'bytea' }
]
const REMOVE_SPANS: Statement<RemovedSpan> = {
  name: 'remove_spans',
  text: ({ spans }) => `delete from ${spans} s using ${rowSource(REMOVED_SPAN_COLUMNS, 3, 'r')}
    where s.project_id = $1::int and $2::bigint > 0 and s.trace_seq = r.trace_seq and s.id = r.id`,
  parameters: spans =>
    [spans.map(span => span.seq), spans.map(span => span.id)].map((values, i) =>
      parameter(REMOVED_SPAN_COLUMNS[i] as Column, values)
    )
}

/** Returns statements that a connection must prepare before it executes the statements of `changesOf`. */
export const prepareChanges = ({ names, suffix }: Tables): string[] =>
  [...Object.values(UPDATES), REMOVE_TAGS, REMOVE_SPANS].map(
    ({ name, text }) => `prepare ${name}${suffix} as ${text(names)}`
  )

export interface Execution {
  readonly name: string
  readonly parameters: readonly string[]
}

/**
 * Returns the statement executions that write these changes, by project. `rank` returns a trace's `ranked` value after
 * the change. `suffix` is appended to the statements' names.
 */
export function changesOf(
  all: readonly ChangedTrace[],
  rank: (trace: ChangedTrace) => number,
  suffix = ''
): Execution[] {
  const projects = new Map<number, ChangedTrace[]>()
  for (const trace of all) {
    const traces = projects.get(trace.projectId)
    if (traces === undefined) projects.set(trace.projectId, [trace])
    else traces.push(trace)
  }
  // Every batch locks projects in the same order, so that two batches cannot deadlock.
  return [...projects]
    .sort(([a], [b]) => a - b)
    .flatMap(([projectId, traces]) => changesOfProject(projectId, traces, rank))
    .map(({ name, parameters }) => ({ name: name + suffix, parameters }))
}

function changesOfProject(
  projectId: number,
  traces: readonly ChangedTrace[],
  rank: (trace: ChangedTrace) => number
): Execution[] {
  const appends: Changed[] = []
  const ends: Done<Ending>[] = []
  const growths: Done<Growth>[] = []
  const advances: Done<Advance>[] = []
  for (const trace of traces) {
    const { changed, done, listed } = trace
    if (done === undefined || listed === undefined) appends.push(changed)
    else if ('ending' in done) ends.push({ done: done.ending, lists: listed.lists, ranked: rank(trace), ...changed })
    else if ('growth' in done) growths.push({ done: done.growth, lists: listed.lists, ranked: rank(trace), ...changed })
    else advances.push({ done: done.advance, lists: listed.lists, ranked: rank(trace), ...changed })
  }
  const removed = traces.flatMap(({ listed }) => listed?.removed ?? [])
  const removedSpans = traces.flatMap(({ seq, removed = [] }) => removed.map(({ id }) => ({ seq, id })))
  const execute = <T>({ name, parameters }: Statement<T>, items: readonly T[]): Execution[] =>
    items.length === 0 ? [] : [{ name, parameters: [String(projectId), String(items.length), ...parameters(items)] }]
  return [
    ...execute(UPDATES.append, appends),
    ...execute(UPDATES.end, ends),
    ...execute(UPDATES.growth, growths),
    ...execute(UPDATES.advance, advances),
    ...execute(REMOVE_TAGS, removed),
    ...execute(REMOVE_SPANS, removedSpans)
  ]
}
