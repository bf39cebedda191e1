/** Describes late background work. Charts and search stay correct in the meantime, but may be slow or incomplete. */

/** Threshold for reporting a lag. Folding normally lags by a minute, and the index by several minutes after a burst. */
const LATE_MS = 600_000

/** Age of the oldest write not yet folded into sums over time or added to the search index, in milliseconds. */
export interface Lags {
  readonly charts: number
  readonly search: number
}

/** Describes lags for `lacks` in GET /readyz. Omits causes, because the endpoint is public. */
export function describeLags({ charts, search }: Lags): string[] {
  return [
    ...(charts < LATE_MS ? [] : [`charts: sums over time are ${inMinutes(charts)} behind; the log says why`]),
    ...(search < LATE_MS ? [] : [`search: the index is ${inMinutes(search)} behind; the log says why`])
  ]
}

const inMinutes = (ms: number): string => `${Math.floor(ms / 60_000)} minutes`
