/**
 * Judges stored traces in a process of one's own. `spoor evaluate` does the same beside the database, and its scores say
 * which evaluator gave them; these have the source `api`.
 */
import type { TraceDetail, TraceListQuery } from '../api-types.ts'
import type { ScoreValue } from '../record/step.ts'
import { messageOf } from '../record/values.ts'
import type { Spoor } from '../spoor.ts'

export interface Evaluator {
  /** Of its scores. */
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
  readonly judged: number
  readonly without: number
  readonly failures: readonly { readonly traceId: string; readonly reason: string }[]
}

/** Judges each complete trace that the filters match and that has no score of this name; failures do not end it. */
export async function evaluate(
  spoor: Spoor,
  { name, evaluate: judge }: Evaluator,
  query: Omit<TraceListQuery, 'after' | 'before'> = {},
  { concurrency = 4 }: { readonly concurrency?: number } = {}
): Promise<Evaluated> {
  let judged = 0
  let without = 0
  const failures: { traceId: string; reason: string }[] = []
  const traces = spoor.traces.all(query)
  const work = async () => {
    for (let next = await traces.next(); !next.done; next = await traces.next()) {
      const { id, status, scores } = next.value
      if (status === 'running' || scores[name] !== undefined) continue
      try {
        const given = await judge(await spoor.traces.get(id))
        if (given === undefined) without++
        else {
          const { value, ...more } = typeof given === 'object' ? given : { value: given }
          spoor.score(id, name, value, more)
          judged++
        }
      } catch (error) {
        failures.push({ traceId: id, reason: messageOf(error) })
      }
    }
  }
  await Promise.all(Array.from({ length: concurrency }, work))
  return { judged, without, failures }
}
