/**
 * Describes background work of a server that is late. Charts and search stay right meanwhile, but incomplete or slow.
 */

/** Folding is a minute late as a rule, and an index that catches up with a burst is some minutes late. */
const LATE_MS = 600_000

/** How long the oldest waiting write has waited for sums over time, and for the search index. */
export interface Lags {
  readonly charts: number
  readonly search: number
}

/** For `lacks` of GET /readyz, which is public, so that causes are left to the log. */
export function describeLags({ charts, search }: Lags): string[] {
  return [
    ...(charts < LATE_MS ? [] : [`charts: sums over time are ${inMinutes(charts)} behind; the log says why`]),
    ...(search < LATE_MS ? [] : [`search: the index is ${inMinutes(search)} behind; the log says why`])
  ]
}

const inMinutes = (ms: number): string => `${Math.floor(ms / 60_000)} minutes`
