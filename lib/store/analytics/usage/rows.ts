/** Rows of sums as PostgreSQL returns them, and their conversion to the rows of `GET /api/v1/usage`. */
import { toDollars } from '../../../rollups/amounts.ts'
import type { UsageRow, UsageSums } from '../../../schema/history/usage.ts'

/** Costs are in billionths of a dollar. */
export interface SumsRow {
  readonly traces: number
  readonly errors: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cost: number
  /** Null if it is not known. */
  readonly computed: number | null
  readonly priced: number
  /** Number of steps; null if the sums are of traces. */
  readonly steps: number | null
  readonly p50: number | null
  readonly p95: number | null
}

export interface GroupRow extends SumsRow {
  /** Start of the hour or day in milliseconds since 1970. */
  readonly start: number | null
  readonly key: string | null
  readonly kind: string | null
  readonly isOther: boolean
}

/** The sums of a period. `others` is the number of groups that are not listed separately. */
export interface PeriodSums {
  readonly total: UsageSums
  readonly rows: readonly UsageRow[]
  readonly others: number
}

/** Token counts too large for an exact double lose their last digits, but must remain integers. */
const count = (tokens: number): number => Math.round(tokens)

export const usageSumsOf = ({ steps, cost, computed, priced, p50, p95, ...row }: SumsRow): UsageSums => ({
  traces: row.traces,
  errors: row.errors,
  inputTokens: count(row.inputTokens),
  outputTokens: count(row.outputTokens),
  costUsd: toDollars(cost),
  computedCostUsd: computed === null ? null : toDollars(computed),
  withoutCost: (steps ?? row.traces) - priced,
  p50Ms: p50,
  p95Ms: p95
})

export const rowOf = ({ start, key, kind, isOther, ...row }: GroupRow): UsageRow => ({
  start: start === null ? null : new Date(start).toISOString(),
  key: isOther ? null : key,
  kind: isOther ? null : kind,
  isOther,
  steps: row.steps,
  ...usageSumsOf(row)
})

/** A group of a second statement, whose figures are added to the row of the same group. */
export interface SameGroup {
  /** Start of the hour or day in milliseconds since 1970. */
  readonly start: number | null
  readonly key: string | null
  readonly isOther: boolean
}

/**
 * The keys of groups with rows of their own, as two parameters: the keys except null, and whether null is among them.
 */
export function listedKeys({ rows }: PeriodSums): readonly [keys: readonly string[], hasNull: boolean] {
  const keys = new Set(rows.filter(({ isOther }) => !isOther).map(({ key }) => key))
  return [[...keys].filter(key => key !== null), keys.has(null)]
}

/** SQL for whether a `key` is not listed. The arguments are the parameters that `listedKeys` returns. */
export const isUnlisted = (keys: string, hasNull: string): string =>
  `case when key is null then not ${hasNull}::bool else key <> all (${keys}::text[]) end`

/** Returns a function that finds a row's groups by a map, because a period can have thousands of rows. */
export function groupsByRow<T extends SameGroup>(groups: readonly T[]): (row: UsageRow) => readonly T[] {
  const nameOf = (start: number | null, { key, isOther }: Pick<SameGroup, 'key' | 'isOther'>) =>
    JSON.stringify([start, isOther, isOther ? null : key])
  const found = new Map<string, T[]>()
  for (const group of groups) {
    const name = nameOf(group.start, group)
    const same = found.get(name)
    if (same === undefined) found.set(name, [group])
    else same.push(group)
  }
  return row => found.get(nameOf(row.start === null ? null : Date.parse(row.start), row)) ?? []
}

export const NO_SUMS: SumsRow = {
  traces: 0,
  errors: 0,
  inputTokens: 0,
  outputTokens: 0,
  cost: 0,
  computed: 0,
  priced: 0,
  steps: null,
  p50: null,
  p95: null
}
