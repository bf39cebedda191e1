/** The amounts that one ended trace adds to each sum of rollups: for the write path, and as SQL for stored traces. */
import { durationMs } from '../trace/timestamp.ts'
import { bucketOf, latencyInSql } from './latency.ts'

export interface CountedTrace {
  readonly name: string
  readonly userId: string | null
  readonly status: string
  readonly startedAt: string
  /** Null while the trace is running. It does not count then. */
  readonly endedAt: string | null
  readonly inputTokens: number | null
  readonly outputTokens: number | null
  readonly costUsd: number | null
}

/** A trace that costs more counts with this, in dollars, so that its cost is an exact whole number. */
const MOST_USD = 100_000
const NANOS = 1_000_000_000

/** In billionths of a dollar. */
export const nanoDollars = (costUsd: number | null): number =>
  costUsd === null ? 0 : Math.floor(Math.min(costUsd, MOST_USD) * NANOS + 0.5)

export const toDollars = (nanos: number): number => nanos / NANOS

export const bucketOfTrace = ({ startedAt, endedAt }: CountedTrace): number =>
  endedAt === null ? 0 : bucketOf(durationMs(startedAt, endedAt))

/** The columns that are added up, in rollup_news as in rollups. */
export const AMOUNTS = ['traces', 'errors', 'priced', 'input_tokens', 'output_tokens', 'cost', 'latency'] as const
export type Amount = (typeof AMOUNTS)[number]

/** SQL of the same from the columns of a stored trace. `one` is 1, or -1 to take it away. */
export const amountsInSql = (trace: string, one: 1 | -1): Readonly<Record<Amount, string>> => ({
  traces: `${one}`,
  errors: `${one} * (${trace}.status = 'error')::int`,
  priced: `${one} * (${trace}.cost_usd is not null)::int`,
  input_tokens: `${one} * coalesce(${trace}.input_tokens, 0)::numeric`,
  output_tokens: `${one} * coalesce(${trace}.output_tokens, 0)::numeric`,
  cost: `${one} * floor(least(coalesce(${trace}.cost_usd, 0), ${MOST_USD}) * ${NANOS} + 0.5)::bigint::numeric`,
  latency: `${one} * ${latencyInSql(`${trace}.duration_ms`)}`
})
