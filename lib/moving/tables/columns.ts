/** Rows and columns of an export as a table: of traces, of spans or of scores. */
import type { Cell, CellType } from '../../csv.ts'
import { list } from '../../store/answers/json-text.ts'
import { renderScoreMap, type ScoreRow } from '../../store/answers/score-json.ts'
import { renderSpanUsage, renderUsage, type SpanRow, type StoredTraceRow } from '../../store/answers/trace-json.ts'
import type { ShownTrace } from '../../store/answers/traces.ts'
import { UNASSIGNED } from '../../trace/environment.ts'
import type { UsageFields } from '../../trace/prepared.ts'

export interface TableColumn {
  readonly name: string
  readonly type: CellType
}

interface Row<Own> extends ShownTrace {
  readonly own: Own
}

type ColumnOf<Own> = TableColumn & { readonly of: (row: Row<Own>) => Cell }

const own = <Own, N extends keyof Own & string>(
  type: CellType,
  ...names: readonly (Own[N] extends Cell | undefined ? N : never)[]
): ColumnOf<Own>[] => names.map(name => ({ name, type, of: row => (row.own[name] as Cell | undefined) ?? null }))

const usage = <Own extends UsageFields>(render: (usage: UsageFields) => string): ColumnOf<Own>[] =>
  (['inputTokens', 'outputTokens', 'totalTokens'] as const).map(name => ({
    name,
    type: 'integer',
    of: ({ own }) => (JSON.parse(render(own)) as UsageFields | null)?.[name] ?? null
  }))

const environmentOf = ({ trace: { environment } }: ShownTrace): string | null =>
  environment === UNASSIGNED ? null : environment
const json = <Own>(name: string, of: (row: Row<Own>) => string | null): ColumnOf<Own> => ({ name, type: 'json', of })
const text = <Own>(name: string, of: (row: Row<Own>) => string | null): ColumnOf<Own> => ({ name, type: 'text', of })

const TRACE_COLUMNS: readonly ColumnOf<StoredTraceRow>[] = [
  ...own<StoredTraceRow, 'id' | 'name' | 'status'>('text', 'id', 'name', 'status'),
  text('environment', environmentOf),
  ...own<StoredTraceRow, 'startedAt' | 'endedAt'>('time', 'startedAt', 'endedAt'),
  ...own<StoredTraceRow, 'durationMs'>('integer', 'durationMs'),
  ...own<StoredTraceRow, 'provider' | 'model' | 'sessionId' | 'userId'>(
    'text',
    'provider',
    'model',
    'sessionId',
    'userId'
  ),
  json('tags', ({ own: { tags } }) => (tags?.length ? list(tags.map(tag => JSON.stringify(tag))) : null)),
  ...usage<StoredTraceRow>(renderUsage),
  ...own<StoredTraceRow, 'costUsd'>('number', 'costUsd'),
  ...own<StoredTraceRow, 'spanCount' | 'errorCount' | 'estimatedBytes'>(
    'integer',
    'spanCount',
    'errorCount',
    'estimatedBytes'
  ),
  ...own<StoredTraceRow, 'ingestedAt'>('time', 'ingestedAt'),
  ...own<StoredTraceRow, 'input' | 'output' | 'metadata'>('json', 'input', 'output', 'metadata'),
  ...own<StoredTraceRow, 'metadataUpdatedAt'>('time', 'metadataUpdatedAt'),
  json('scores', ({ scores }) => (scores.length === 0 ? null : renderScoreMap(scores)))
]

/** Facts about the trace that rows of its parts repeat, so that few queries need a join. */
const OF_TRACE: readonly ColumnOf<unknown>[] = [
  text('traceName', ({ trace }) => trace.name),
  text('environment', environmentOf)
]

const SPAN_COLUMNS: readonly ColumnOf<SpanRow>[] = [
  text('traceId', ({ trace }) => trace.id),
  ...own<SpanRow, 'id' | 'parentSpanId' | 'name' | 'kind' | 'status'>(
    'text',
    'id',
    'parentSpanId',
    'name',
    'kind',
    'status'
  ),
  ...own<SpanRow, 'startedAt' | 'endedAt'>('time', 'startedAt', 'endedAt'),
  ...own<SpanRow, 'durationMs'>('integer', 'durationMs'),
  ...own<SpanRow, 'provider' | 'model'>('text', 'provider', 'model'),
  ...usage<SpanRow>(renderSpanUsage),
  ...own<SpanRow, 'costUsd'>('number', 'costUsd'),
  ...own<SpanRow, 'input' | 'output' | 'attributes' | 'events'>('json', 'input', 'output', 'attributes', 'events'),
  ...OF_TRACE
]

const SCORE_COLUMNS: readonly ColumnOf<ScoreRow>[] = [
  text('traceId', ({ trace }) => trace.id),
  ...own<ScoreRow, 'id' | 'spanId' | 'name' | 'dataType'>('text', 'id', 'spanId', 'name', 'dataType'),
  text('value', ({ own: { dataType, value } }) => (dataType === 'categorical' ? JSON.parse(value) : value)),
  { name: 'number', type: 'number', of: ({ own }) => numberOf(own) },
  ...own<ScoreRow, 'comment' | 'source' | 'evaluatorId' | 'runId'>('text', 'comment', 'source', 'evaluatorId', 'runId'),
  ...own<ScoreRow, 'createdAt'>('time', 'createdAt'),
  ...OF_TRACE
]

/** Returns a score as a number, so that scores can be averaged: 1 and 0 for booleans, null for categories. */
function numberOf({ dataType, value }: ScoreRow): number | null {
  if (dataType === 'categorical') return null
  return dataType === 'boolean' ? Number(value === 'true') : Number(value)
}

/** Names of scores have only these characters (`ScoreName` in lib/schema/input.ts). */
const SCORE_COLUMN = /^score:[\w-]+$/

/** Whether the name is a column of scores, which each have one name: `score:NAME`. Only rows of traces have these. */
export const isScoreColumn = (kind: RowKind, name: string): boolean => kind === 'traces' && SCORE_COLUMN.test(name)

/** Returns the column with the newest value of a trace's scores with one name. */
function scoreColumn<Own>(column: string): ColumnOf<Own> {
  const name = column.slice('score:'.length)
  return {
    name: column,
    type: 'text',
    of({ scores }) {
      const newest = scores.find(score => score.name === name)
      if (newest === undefined) return null
      return newest.dataType === 'boolean' ? newest.value : JSON.parse(newest.value)
    }
  }
}

/** A table: its columns, and the rows of a trace. */
export interface Table {
  readonly columns: readonly TableColumn[]
  rowsOf(trace: ShownTrace): Cell[][]
}

export const ROW_KINDS = ['traces', 'spans', 'scores'] as const
export type RowKind = (typeof ROW_KINDS)[number]

/** Names of all columns of a kind of rows, in order. */
export const COLUMN_NAMES: Readonly<Record<RowKind, readonly string[]>> = {
  traces: TRACE_COLUMNS.map(({ name }) => name),
  spans: SPAN_COLUMNS.map(({ name }) => name),
  scores: SCORE_COLUMNS.map(({ name }) => name)
}

/** Returns the table with these columns, in this order. All names must be in COLUMN_NAMES or columns of scores. */
export function tableOf(kind: RowKind, names: readonly string[] = COLUMN_NAMES[kind]): Table {
  if (kind === 'traces') return makeTable(TRACE_COLUMNS, names, ({ trace }) => [trace])
  if (kind === 'spans') return makeTable(SPAN_COLUMNS, names, ({ spans }) => spans)
  return makeTable(SCORE_COLUMNS, names, ({ scores }) => scores)
}

function makeTable<Own>(
  all: readonly ColumnOf<Own>[],
  names: readonly string[],
  rowsIn: (trace: ShownTrace) => readonly Own[]
): Table {
  const columns = names.map(name => all.find(column => column.name === name) ?? scoreColumn<Own>(name))
  return {
    columns,
    rowsOf: trace => rowsIn(trace).map(own => columns.map(({ of }) => of({ ...trace, own })))
  }
}
