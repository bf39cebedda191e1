/** Reads acknowledged traces back from the server that acknowledged them. */
import { setTimeout as delay } from 'node:timers/promises'
import type { AcceptedTrace } from '../load/load.ts'

export interface ReadBack {
  /** Share of the traces that were complete at the first attempt. */
  readonly atOnce: number
  /** Share of the traces that were finally complete. */
  readonly finally: number
  /** Seconds until all were complete, including the duration of the requests; infinite if some never were. */
  readonly seconds: number
}

export interface Patience {
  readonly timeoutMs: number
  readonly pauseMs: number
}

const READERS = 8

/**
 * Requests each trace, the latest first, and then repeats the request for missing and incomplete ones, until all are
 * complete or the time is up.
 */
export async function readBack(
  traces: readonly AcceptedTrace[],
  readSpans: (traceId: string) => Promise<number>,
  { timeoutMs, pauseMs }: Patience
): Promise<ReadBack> {
  const began = performance.now()
  let missing = await findMissing(traces.toReversed(), readSpans)
  const atOnce = shareOf(traces, missing)
  while (missing.length > 0 && performance.now() - began < timeoutMs) {
    await delay(pauseMs)
    missing = await findMissing(missing, readSpans)
  }
  const seconds = missing.length > 0 ? Number.POSITIVE_INFINITY : (performance.now() - began) / 1_000
  return { atOnce, finally: shareOf(traces, missing), seconds }
}

const shareOf = (traces: readonly AcceptedTrace[], missing: readonly AcceptedTrace[]) =>
  traces.length === 0 ? Number.NaN : 1 - missing.length / traces.length

async function findMissing(
  traces: readonly AcceptedTrace[],
  readSpans: (traceId: string) => Promise<number>
): Promise<AcceptedTrace[]> {
  const left = [...traces].reverse()
  const missing: AcceptedTrace[] = []
  const look = async () => {
    for (let trace = left.pop(); trace !== undefined; trace = left.pop()) {
      if ((await readSpans(trace.id)) !== trace.spans) missing.push(trace)
    }
  }
  await Promise.all(Array.from({ length: READERS }, look))
  return missing
}
