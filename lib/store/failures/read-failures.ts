/**
 * Reads a project's failures, newest trace first, and groups them (lib/trace/failures/failure-groups.ts). No index
 * finds traces with failed spans, so the traces are walked (lib/store/walks/bounded-walk.ts). A walk that reaches a
 * bound returns a cursor, and the next call groups the failures after it.
 */
import type { Sql } from 'postgres'
import { SCHEMA_NAMES, type TableNames } from '../../database/tables.ts'
import { Slices } from '../../limits/slices.ts'
import {
  type FailingStep,
  type Failure,
  FailureGroups,
  type GroupedFailures
} from '../../trace/failures/failure-groups.ts'
import { failureOfStep } from '../../trace/failures/step-failure.ts'
import { fillSpans, type PlacedMessages } from '../../trace/span-messages.ts'
import type { SpanRow } from '../answers/trace-json.ts'
import { portionReader, type TracePortion, type WalkedTraces } from '../finding/trace-portions.ts'
import type { Edge, Order } from '../lists/cursor.ts'
import { edgeBelow, TRACE_ORDERS } from '../lists/order.ts'
import {
  byTrace,
  HEAD_COLUMNS,
  type PackedRow,
  textColumns,
  unpackWanted,
  withPackedRows
} from '../spans/packed-rows.ts'
import { readSpoken } from '../spans/span-texts.ts'
import { WALK_BOUNDS, type WalkPortion, walkBounded } from '../walks/bounded-walk.ts'

/** Kind of a trace's own failure, in addition to the kinds of spans. */
export const TRACE_KIND = 'trace'

export interface FailureQuery {
  /** Filters of the failed trace. */
  readonly trace: WalkedTraces & { readonly from: string; readonly to: string }
  readonly kind?: string | undefined
  /** Exact name of the step, or of the trace for a trace's own failure. */
  readonly name?: string | undefined
  /** Exact model of the step. A trace's own failure has none. */
  readonly model?: string | undefined
  readonly after?: Edge | undefined
  /**
   * Returns the number of the time step that contains a failure; negative for failures before the first step. −∞
   * leaves a failure out of all numbers, so that only the group's first start is known.
   */
  readonly stepOf?: ((at: string) => number) | undefined
}

export interface FoundFailures {
  readonly groups: readonly GroupedFailures[]
  readonly steps: readonly FailingStep[]
  /** Number of failures. */
  readonly count: number
  /** Position at which the walk was stopped; undefined if it has examined the whole range. */
  readonly next: Edge | undefined
  /** Start of the last examined trace, if the walk was stopped. */
  readonly reached: string | undefined
}

/** The list of failures is read in the order of the traces. */
export const FAILURE_ORDER: Order = { ...TRACE_ORDERS.newest, name: 'errors' }

/** Limits on the work of a call, and the maximum size of the traces whose failures a statement reads. */
const BOUNDS = { ...WALK_BOUNDS, bytes: 32 * 1024 * 1024 }

/** Groups failures until the range ends or a bound is reached. `bounds` is for tests. */
export async function groupFailures(
  sql: Sql,
  projectId: number,
  query: FailureQuery,
  names: TableNames = SCHEMA_NAMES,
  bounds = BOUNDS
): Promise<FoundFailures> {
  const groups = new FailureGroups()
  let count = 0
  const ends = performance.now() + bounds.ms
  const next = portionReader(sql, projectId, { filters: query.trace, isFailing: true }, names)
  const walked = await walkBounded<never, Edge>({
    from: edgeBelow(TRACE_ORDERS.newest, query.after, query.trace.to),
    limit: 1,
    async read(edge, size) {
      const portion = await readPortion(sql, await next(edge, size), names, bounds.bytes)
      const failing = [...byTrace(portion.rows)]
      const spoken = await readSpoken(sql, projectId, portion.rows, names)
      const slices = new Slices()
      for (const [i, [, rows]] of failing.entries()) {
        // The time needed to unpack a trace's texts is known only afterwards.
        if (i > 0 && performance.now() > ends) return cutBefore(rows[0]!, portion)
        for (const failure of await failuresOf(rows, spoken, slices)) {
          if (!hasFields(failure, query)) continue
          groups.add(failure, query.stepOf?.(failure.at))
          count++
        }
      }
      return portion
    },
    bounds
  })
  return {
    groups: groups.list(),
    steps: groups.steps(),
    count,
    next: walked.next,
    reached: walked.isStopped ? walked.reached?.key : undefined
  }
}

const FIELDS = ['kind', 'name', 'model'] as const
const hasFields = (failure: Failure, query: FailureQuery): boolean =>
  FIELDS.every(field => query[field] === undefined || failure[field] === query[field])

/** A failing trace with one of its failed spans, or with a row of their packed texts. */
interface Row extends PackedRow, SpanRow {
  readonly place: number
  readonly traceId: string
  readonly traceName: string
  readonly traceStatus: string
  readonly traceStartedAt: string
  /** Texts in which the trace may describe its own failure. */
  readonly traceOutput: string | null
  readonly traceMetadata: string | null
  readonly hasMessages: boolean
}

interface Counts {
  readonly traces: number
  readonly examined: number
  readonly lastKey: string | null
  readonly lastId: string | null
}

/** Maximum number of bytes of a text in which a trace's own failure is sought. */
const MOST_OWN_BYTES = 65_536
const ownText = (column: string): string =>
  `case when t.status = 'error' and octet_length(t.${column}::text) <= ${MOST_OWN_BYTES}
    then t.${column} end as ${column}`

interface FailurePortion extends WalkPortion<never, Edge> {
  readonly rows: readonly Row[]
}

async function readPortion(
  sql: Sql,
  { text, statement, hasMore }: TracePortion,
  names: TableNames,
  bytes: number
): Promise<FailurePortion> {
  const columns = `${HEAD_COLUMNS}, null::json as input, ${textColumns('is_wanted')}`
  const found = await sql.unsafe<(Counts & Row)[]>(
    `with portion as materialized (${text}), weighed as materialized (
      select p.place, p.seq, t.id, t.name, t.status, t.started_at, ${ownText('output')}, ${ownText('metadata')},
        sum(t.estimated_bytes) over (order by p.place) as bytes
      from portion p join ${names.traces} t on t.project_id = $1 and t.seq = p.seq
      where p.is_examined and p.fits
    ), reach as materialized (
      select coalesce(
        (select min(place) from weighed where bytes > ${statement.bind(bytes)}
          and place > (select min(place) from weighed)) - 1,
        (select max(place) from portion where is_examined)) as place
    ), failing as materialized (
      select w.* from weighed w, reach r where w.place <= r.place
    ), wanted as materialized (
      select f.seq, s.id from failing f join ${names.spans} s on s.project_id = $1 and s.trace_seq = f.seq
      where s.status = 'error'
    ) ${withPackedRows(names, columns)}
    select c.traces, r.place::int as examined, l.key as "lastKey", l.id as "lastId",
      s.*, f.place::int, f.seq, f.id as "traceId", f.name as "traceName", f.status as "traceStatus",
      f.started_at as "traceStartedAt", f.output as "traceOutput", f.metadata as "traceMetadata",
      exists (
        select from ${names.span_messages} m where m.project_id = $1 and m.trace_id = f.id
      ) as "hasMessages"
    from (select count(*)::int as traces from portion) c
    cross join reach r
    left join portion l on l.place = r.place
    left join failing f on true
    left join rows s on s.seq = f.seq
    order by f.place, s."startedAt", s.id`,
    statement.values,
    { prepare: false }
  )
  const [{ traces, examined, lastKey, lastId }] = found as unknown as readonly [Counts]
  return {
    rows: found.filter(({ traceId }) => traceId !== null),
    found: [],
    examined: examined ?? 0,
    last: lastKey === null || lastId === null ? undefined : { key: lastKey, tie: lastId, inclusive: false },
    hasMore: hasMore(traces, examined ?? 0)
  }
}

/** Returns the portion up to a failing trace, with which the next call begins. */
const cutBefore = ({ place, traceStartedAt, traceId }: Row, portion: FailurePortion): FailurePortion => ({
  ...portion,
  examined: place - 1,
  last: { key: traceStartedAt, tie: traceId, inclusive: true },
  hasMore: true
})

/** Returns the failures of one trace: those of its failed steps, or its own. */
async function failuresOf(
  rows: readonly Row[],
  spoken: ReadonlyMap<string, readonly PlacedMessages[]>,
  slices: Slices
): Promise<Failure[]> {
  const { traceId, traceName, traceStatus, traceStartedAt, traceOutput, traceMetadata } = rows[0]!
  const steps = await unpackWanted(
    rows.filter(({ id }) => id !== null),
    () => slices.next()
  )
  if (steps.length === 0) {
    if (traceStatus !== 'error') return []
    const own = failureOfStep({ kind: TRACE_KIND, output: traceOutput, attributes: traceMetadata, events: null })
    return [
      {
        ...own,
        kind: TRACE_KIND,
        name: traceName,
        model: null,
        traceId,
        spanId: null,
        at: traceStartedAt,
        isPassedOn: false
      }
    ]
  }
  const parents = new Set(steps.map(({ parentSpanId }) => parentSpanId))
  const failures: Failure[] = []
  for (const step of fillSpans(steps, spoken.get(traceId) ?? [])) {
    await slices.next()
    const { id, kind, name, model, startedAt } = step
    const isPassedOn = parents.has(id)
    failures.push({ ...failureOfStep(step), kind, name, model, traceId, spanId: id, at: startedAt, isPassedOn })
  }
  return failures
}
