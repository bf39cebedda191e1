/**
 * Judges stored traces in a process of one's own. `spoor evaluate` does the same beside the database, and its scores say
 * which evaluator gave them; these have the source `api`.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { TraceDetail, TraceListQuery } from '../api-types.ts'
import type { ScoreValue } from '../record/step.ts'
import { messageOf } from '../record/values.ts'
import type { Spoor } from '../spoor.ts'

export interface Evaluator {
  /** The name of the scores that it writes. */
  readonly name: string
  /** Undefined is no verdict. */
  evaluate(trace: TraceDetail): Verdict | ScoreValue | undefined | Promise<Verdict | ScoreValue | undefined>
}

export interface Verdict {
  readonly value: ScoreValue
  readonly comment?: string | undefined
  readonly spanId?: string | undefined
}

export interface Evaluated {
  /** Traces that got a verdict. */
  readonly judged: number
  /** Traces of which the evaluator said nothing. */
  readonly passed: number
  readonly failed: number
  /** The first hundred that failed. */
  readonly failures: readonly { readonly traceId: string; readonly reason: string }[]
  /** The mean of the numeric verdicts; true counts 1 and false 0. Undefined if there are none. */
  readonly mean: number | undefined
}

export interface EvaluateOptions {
  readonly concurrency?: number | undefined
  /** Goes on with the traces that come, until the signal is given. */
  readonly follow?: boolean | undefined
  readonly signal?: AbortSignal | undefined
}

/** The pause of `follow`, and how many times as long as a look took it is at least. */
const PAUSE_MS = 2000
const PAUSE_FACTOR = 10
const MOST_FAILURES = 100

/** Judges each complete trace that the filters match and that has no score of this name; failures do not end it. */
export async function evaluate(
  spoor: Spoor,
  { name, evaluate: judge }: Evaluator,
  query: Omit<TraceListQuery, 'after' | 'before'> = {},
  { concurrency = 4, follow = false, signal }: EvaluateOptions = {}
): Promise<Evaluated> {
  let judged = 0
  let passed = 0
  let failed = 0
  const failures: { traceId: string; reason: string }[] = []
  let numbers = 0
  let sum = 0
  // The score of a trace may still be on its way.
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
          if (given === undefined) passed++
          else {
            const { value, ...more } = typeof given === 'object' ? given : { value: given }
            spoor.score(id, name, value, more)
            judged++
            if (typeof value === 'string') continue
            numbers++
            sum += Number(value)
          }
        } catch (error) {
          failed++
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
      if (!follow || !mayPass(error)) throw error
      spoor.problem(`evaluate looks again later: ${messageOf(error)}`)
    }
    if (!follow) break
    const pause = Math.max(PAUSE_MS, PAUSE_FACTOR * (performance.now() - began))
    await delay(pause, undefined, { signal }).catch(() => {})
  }
  return { judged, passed, failed, failures, mean: numbers === 0 ? undefined : sum / numbers }
}

/** The service is away or busy; otherwise it would say the same again. */
function mayPass(error: unknown): boolean {
  const { status } = error as { readonly status?: number }
  return status !== undefined && (status === 0 || status === 429 || status >= 500)
}
