/**
 * Judges stored traces in the application's own process. `spoor evaluate` runs next to the database instead. Scores
 * from `spoor evaluate` name the evaluator; scores from this module have the source `api`.
 */
import type { TraceDetail, TraceListQuery } from '../api-types.ts'
import type { ScoreValue } from '../record/step.ts'
import { messageOf } from '../record/values.ts'
import type { Spoor } from '../spoor.ts'

export interface Evaluator {
  /** Name of the scores that this evaluator writes. */
  readonly name: string
  /** Returns undefined to give no verdict. */
  evaluate(trace: TraceDetail): Verdict | ScoreValue | undefined | Promise<Verdict | ScoreValue | undefined>
}

export interface Verdict {
  readonly value: ScoreValue
  readonly comment?: string | undefined
  readonly spanId?: string | undefined
}

export interface Evaluated {
  /** Number of traces with a verdict. */
  readonly judged: number
  /** Number of traces for which the evaluator returned no verdict. */
  readonly passed: number
  readonly failed: number
  /** The first 100 failures. */
  readonly failures: readonly { readonly traceId: string; readonly reason: string }[]
  /**
   * Mean of the numeric verdicts, counting true as 1 and false as 0. Undefined if there are no numeric or boolean
   * verdicts.
   */
  readonly mean: number | undefined
}

export interface EvaluateOptions {
  readonly concurrency?: number | undefined
  /** Whether to continue with new traces until `signal` aborts. */
  readonly follow?: boolean | undefined
  readonly signal?: AbortSignal | undefined
}

/** With `follow`, the pause after a pass is at least PAUSE_MS and at least PAUSE_FACTOR times the pass's duration. */
const PAUSE_MS = 2000
const PAUSE_FACTOR = 10
const MOST_FAILURES = 100

/** Judges all complete traces that match the query and lack a score of this evaluator. Failures do not stop the run. */
export async function evaluate(
  spoor: Spoor,
  { name, evaluate: judge }: Evaluator,
  query: Omit<TraceListQuery, 'after' | 'before'> = {},
  { concurrency = 4, follow = false, signal }: EvaluateOptions = {}
): Promise<Evaluated> {
  const counts = { judged: 0, passed: 0, failed: 0 }
  const failures: { traceId: string; reason: string }[] = []
  let [numbers, sum] = [0, 0]
  // Traces already handled in this run. Their scores may not be visible yet.
  const seen = new Set<string>()
  const look = async () => {
    const traces = spoor.traces.all(query)
    const work = async () => {
      for (let next = await traces.next(); !next.done && !signal?.aborted; next = await traces.next()) {
        const { id, status, scores } = next.value
        if (status === 'running' || scores[name] !== undefined || seen.has(id)) continue
        seen.add(id)
        try {
          const given = await judge(await spoor.traces.get(id))
          if (given === undefined) counts.passed++
          else {
            const { value, ...more } = typeof given === 'object' ? given : { value: given }
            spoor.score(id, name, value, more)
            counts.judged++
            if (typeof value === 'string') continue
            numbers++
            sum += Number(value)
          }
        } catch (error) {
          counts.failed++
          if (failures.length < MOST_FAILURES) failures.push({ traceId: id, reason: messageOf(error) })
        }
      }
    }
    await Promise.all(Array.from({ length: concurrency }, work))
  }
  while (!signal?.aborted) {
    const began = performance.now()
    try {
      await look()
    } catch (error) {
      const status = (error as { readonly status?: number } | undefined)?.status
      // The service is unreachable or busy, which may be temporary.
      const mayPass = status !== undefined && (status === 0 || status === 429 || status >= 500)
      if (!follow || !mayPass) throw error
      spoor.problem(`evaluate tries again later: ${messageOf(error)}`)
    }
    if (!follow) break
    const pause = Math.max(PAUSE_MS, PAUSE_FACTOR * (performance.now() - began))
    await delay(pause, signal)
  }
  return { ...counts, failures, mean: numbers === 0 ? undefined : sum / numbers }
}

/** Resolves after `ms`, or when the signal aborts. */
function delay(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise(resolve => {
    const done = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal?.addEventListener('abort', done)
    if (signal?.aborted) done()
  })
}
