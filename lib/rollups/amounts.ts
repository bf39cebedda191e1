/**
 * Computes the amounts that an ended trace adds to each rollup sum. The write path computes the amounts in TypeScript.
 * For stored traces, PostgreSQL computes the amounts.
 */
import { latencyInSql } from './latency.ts'

export interface CountedTrace {
  readonly name: string
  readonly userId: string | null
  readonly status: string
  readonly startedAt: string
  /** The trace's end; null while the trace is running and therefore not counted. */
  readonly endedAt: string | null
  readonly inputTokens: number | null
  readonly outputTokens: number | null
  readonly costUsd: number | null
}

/**
 * Maximum cost counted per trace, in dollars. The cap ensures that the cost is an exact integer in billionths of a
 * dollar.
 */
const MOST_USD = 100_000
const NANOS = 1_000_000_000

/** Returns a cost in billionths of a dollar, capped at MOST_USD. */
export const nanoDollars = (costUsd: number | null): number =>
  costUsd === null ? 0 : Math.floor(Math.min(costUsd, MOST_USD) * NANOS + 0.5)

export const toDollars = (nanos: number): number => nanos / NANOS

/** Summed columns, with the same names in rollup_news and rollups. */
export const AMOUNTS = ['traces', 'errors', 'priced', 'input_tokens', 'output_tokens', 'cost', 'latency'] as const
export type Amount = (typeof AMOUNTS)[number]

/** Returns SQL for a stored trace's amounts. `one` is 1 to add the trace, or -1 to subtract it. */
export const amountsInSql = (trace: string, one: 1 | -1): Readonly<Record<Amount, string>> => ({
  traces: `${one}`,
  errors: `${one} * (${trace}.status = 'error')::int`,
  priced: `${one} * (${trace}.cost_usd is not null)::int`,
  input_tokens: `${one} * coalesce(${trace}.input_tokens, 0)::numeric`,
  output_tokens: `${one} * coalesce(${trace}.output_tokens, 0)::numeric`,
  cost: `${one} * floor(least(coalesce(${trace}.cost_usd, 0), ${MOST_USD}) * ${NANOS} + 0.5)::bigint::numeric`,
  latency: `${one} * ${latencyInSql(`${trace}.duration_ms`)}`
})
