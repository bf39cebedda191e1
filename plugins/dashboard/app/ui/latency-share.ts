/** The shortest duration with a visible latency bar. */
const SHORTEST_MS = 10

/**
 * Returns the length of a latency bar, from 0 to 1. The scale is logarithmic, because one trace of several minutes
 * would make all other bars equal. The bar of the longest trace is full.
 */
export function latencyShare(ms: number, longestMs: number): number {
  const longest = Math.max(longestMs, SHORTEST_MS * 10)
  return Math.min(1, Math.max(0, Math.log(ms / SHORTEST_MS) / Math.log(longest / SHORTEST_MS)))
}
