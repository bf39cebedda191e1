/** Finds the traces and spans to which two sources gave different scores of the same name. */
import type { Sql } from 'postgres'
import { readTracesById } from '../../lists/summary-page.ts'
import { type Examined, examinedInSql, newestScores, type ScoresQuery } from './series.ts'
import type { SummarySource } from './summary.ts'

type Value = number | string | boolean

/** Two sources' newest scores of the same trace or span. */
export interface Verdicts {
  readonly traceSeq: number
  /** Id of the scored span; null for scores of the whole trace. */
  readonly spanId: string | null
  readonly dataType: string
  readonly a: SummarySource
  readonly b: SummarySource
  readonly valueOfA: Value
  readonly valueOfB: Value
}

export interface Pair {
  readonly a: SummarySource
  readonly b: SummarySource
  readonly dataType: string
  /** Number of traces and spans scored by both sources. */
  readonly both: number
  /** Number of traces and spans that the sources scored differently. */
  readonly differing: number
  /** Means of b − a and of |b − a|; null unless the values are numbers and the mean is finite. */
  readonly meanDifference: number | null
  readonly meanDistance: number | null
}

/** Compares each pair of sources, separately for each data type. Pairs with the most differing scores come first. */
export function pairsOf(all: readonly Verdicts[]): Pair[] {
  const pairs = new Map<string, Verdicts[]>()
  for (const each of all) {
    const key = `${each.a} ${each.b} ${each.dataType}`
    pairs.set(key, [...(pairs.get(key) ?? []), each])
  }
  return Array.from(pairs.values(), same => {
    const { a, b, dataType } = same[0]!
    const differences =
      dataType === 'numeric' ? same.map(({ valueOfA, valueOfB }) => Number(valueOfB) - Number(valueOfA)) : []
    return {
      a,
      b,
      dataType,
      both: same.length,
      differing: same.filter(differs).length,
      meanDifference: meanOf(differences),
      meanDistance: meanOf(differences.map(Math.abs))
    }
  }).sort((x, y) => y.differing - x.differing || y.both - x.both)
}

export const differs = ({ valueOfA, valueOfB }: Verdicts): boolean => valueOfA !== valueOfB

function meanOf(values: readonly number[]): number | null {
  const mean = values.reduce((sum, each) => sum + each / values.length, 0)
  return values.length === 0 || !Number.isFinite(mean) ? null : mean
}

/** Maximum number of differences that a response lists, newest first. */
const MOST_NAMED = 50

export interface Difference {
  readonly traceId: string
  readonly spanId: string | null
  readonly values: Readonly<Partial<Record<SummarySource, Value>>>
}

type Row = Examined &
  (
    | (Omit<Verdicts, 'valueOfA' | 'valueOfB'> & { readonly valueOfA: string; readonly valueOfB: string })
    | { readonly traceSeq: null }
  )

/**
 * Compares the scores of different sources. In the result, `traces` contains summaries of the traces in `differences`,
 * as a JSON array string; `newest` is defined as in `ScoreSeries`.
 */
export async function readDisagreement(sql: Sql, projectId: number, query: ScoresQuery & { readonly name: string }) {
  const values: (string | number)[] = [projectId]
  const bind = (value: string | number) => `$${values.push(value)}`
  const rows = await sql.unsafe<Row[]>(
    `with ${newestScores(query, bind)}, verdicts as materialized (
      select distinct on (trace_seq, step, source)
        trace_seq, step, span_id, source, data_type, value::text as value, created_at
      from (select *, coalesce(span_id, '') as step from counted) s
      order by trace_seq, step, source, created_at desc, seq desc
    ), pairs as (
      select a.trace_seq, a.span_id, a.data_type, a.source as a, b.source as b, a.value as value_a, b.value as value_b,
        greatest(a.created_at, b.created_at) as at
      from verdicts a join verdicts b
        on a.trace_seq = b.trace_seq and a.step = b.step and a.data_type = b.data_type and a.source < b.source
    )
    select trace_seq as "traceSeq", span_id as "spanId", data_type as "dataType", a, b, value_a as "valueOfA",
      value_b as "valueOfB", e.examined, e."isFull"
    from ${examinedInSql(query)} e left join pairs on true
    order by at desc, trace_seq desc`,
    values,
    { prepare: true }
  )
  const all = rows.flatMap(row =>
    row.traceSeq === null ? [] : [{ ...row, valueOfA: JSON.parse(row.valueOfA), valueOfB: JSON.parse(row.valueOfB) }]
  )
  const named = all.filter(differs).slice(0, MOST_NAMED)
  const ids = await readIds(sql, projectId, [...new Set(named.map(({ traceSeq }) => traceSeq))])
  const { examined, isFull } = rows[0]!
  return {
    pairs: pairsOf(all),
    differences: named.flatMap(({ traceSeq, spanId, a, b, valueOfA, valueOfB }) => {
      const traceId = ids.get(traceSeq)
      return traceId === undefined ? [] : [{ traceId, spanId, values: { [a]: valueOfA, [b]: valueOfB } }]
    }),
    traces: await readTracesById(sql, projectId, [...ids.values()]),
    newest: isFull ? examined : null
  }
}

/** Maps internal trace numbers to ids, omitting traces deleted in the meantime. */
async function readIds(sql: Sql, projectId: number, numbers: readonly number[]): Promise<ReadonlyMap<number, string>> {
  if (numbers.length === 0) return new Map()
  const rows = await sql<{ seq: number; id: string }[]>`
    select seq, id from traces where project_id = ${projectId} and seq = any (${numbers as number[]}::bigint[])`
  return new Map(rows.map(({ seq, id }) => [seq, id]))
}
