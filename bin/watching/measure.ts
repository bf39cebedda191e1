/** Measures a condition by querying the API. */
import type { UsageSums } from '../../lib/schema/history/usage.ts'
import { type Asker, requestPath } from '../asking/asker.ts'
import type { Condition, Measured } from './condition.ts'

/** Maximum number of scores per request, and of requests. Beyond that, only the newest scores count. */
const SCORES = { page: 500, requests: 20 }

export async function measure(asker: Asker, { measure, windowMs }: Condition, now: number): Promise<Measured> {
  const from = new Date(now - windowMs).toISOString()
  if (measure.of === 'silence') return measureSilence(asker, from, now)
  if (measure.of === 'score') return measureScore(asker, measure.name, from)
  const query = { from, to: new Date(now).toISOString() }
  const { total } = JSON.parse(await asker.ask('GET', requestPath('/api/v1/usage', query))) as { total: UsageSums }
  return { value: sumFor(measure, total), samples: total.traces }
}

type Summed = Exclude<Condition['measure'], { of: 'silence' } | { of: 'score' }>

function sumFor(measure: Summed, { traces, errors, costUsd, inputTokens, outputTokens, ...sums }: UsageSums) {
  switch (measure.of) {
    case 'errors':
      return measure.isRate ? (traces === 0 ? null : (errors / traces) * 100) : errors
    case 'cost':
      return costUsd
    case 'tokens':
      return inputTokens + outputTokens
    case 'traces':
      return traces
    default:
      return measure.of === 'p50' ? sums.p50Ms : sums.p95Ms
  }
}

/**
 * Running traces count, so that a long run is not silence. A project without traces has no last trace to measure from.
 */
async function measureSilence(asker: Asker, from: string, now: number): Promise<Measured> {
  const path = requestPath('/api/v1/traces', { limit: 1 })
  const { traces } = JSON.parse(await asker.ask('GET', path)) as { traces: { startedAt: string }[] }
  const [last] = traces
  if (last === undefined) return { value: null, samples: 0 }
  return { value: Math.max(0, now - Date.parse(last.startedAt)), samples: last.startedAt >= from ? 1 : 0 }
}

interface ScorePage {
  readonly scores: readonly { readonly value: unknown }[]
  readonly nextCursor: string | null
}

/** Returns the mean of numeric scores, or the share of `true` among boolean ones. */
async function measureScore(asker: Asker, name: string, from: string): Promise<Measured> {
  let [sum, samples] = [0, 0]
  let after: string | undefined
  for (let requests = 0; requests < SCORES.requests; requests++) {
    const path = requestPath('/api/v1/scores', { name, from, limit: SCORES.page, after })
    const { scores, nextCursor } = JSON.parse(await asker.ask('GET', path)) as ScorePage
    for (const { value } of scores) {
      if (typeof value !== 'number' && typeof value !== 'boolean') continue
      sum += Number(value)
      samples++
    }
    if (nextCursor === null) break
    after = nextCursor
  }
  return { value: samples === 0 ? null : sum / samples, samples }
}
