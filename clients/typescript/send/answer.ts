/** Decides how to proceed after a service response, or after a request without one. */
import type { PartKind } from '../record/trace.ts'

export interface ServerAnswer {
  /** HTTP status; 0 if no response arrived. */
  readonly status: number
  readonly text: string
  readonly retryAfter?: string | undefined
}

export type AnswerVerdict =
  | { readonly do: 'done' }
  /** Retry. If `all` is true, the service is unreachable or busy, so all sending pauses. */
  | { readonly do: 'again'; readonly all: boolean; readonly reason: string; readonly afterMs?: number }
  /** The service rejects the key or the address, so all sending pauses for a minute. */
  | { readonly do: 'stop'; readonly reason: string }
  /** The part is too large and must be reduced. */
  | { readonly do: 'cut'; readonly reason: string }
  /** The trace had already ended. The response to the end request shows whether the stored trace is this trace. */
  | { readonly do: 'ended'; readonly reason: string }
  | { readonly do: 'lost'; readonly reason: string }

const FIRST_WAIT_MS = 200
const LONGEST_WAIT_MS = 30_000
/** Maximum delay accepted from a Retry-After header. */
const LONGEST_RETRY_AFTER_MS = 120_000
/**
 * Maximum number of retries, over about a minute, for a score whose trace is missing. Another process may still send
 * the trace.
 */
const SCORE_TRIES = 9

/** `tries` is the number of earlier attempts. */
export function judge(kind: PartKind, { status, text, retryAfter }: ServerAnswer, tries: number): AnswerVerdict {
  if (status === 0) return { do: 'again', all: true, reason: text }
  const body = parseAnswer(text)
  if (status >= 200 && status < 300) return judgeSuccess(kind, status, body)
  const { code, message } = (body?.error ?? {}) as { code?: string; message?: string }
  const reason = code === undefined ? `HTTP ${status}` : `${status} ${code}: ${message}`
  if (status === 413) return { do: 'cut', reason }
  const isBusy = status === 429 || status >= 500 || status === 408
  // A response without an error code is not from the service. The cause may be temporary.
  if (isBusy || code === undefined) {
    const afterMs = retryAfterMs(retryAfter)
    const all = code === undefined || status !== 500
    return { do: 'again', all, reason, ...(afterMs !== undefined && { afterMs }) }
  }
  if (status === 401 || (status === 403 && code !== 'forbidden')) return { do: 'stop', reason }
  // The server has an address for every new trace, so it is reached under a wrong path.
  if (/^(?:record|start|otlp)$/.test(kind) && (status === 404 || status === 405))
    return { do: 'stop', reason: `check SPOOR_URL: ${reason}` }
  if (kind === 'score' && status === 404 && tries < SCORE_TRIES) return { do: 'again', all: false, reason }
  if (kind === 'spans' && code === 'trace_finished') return { do: 'ended', reason }
  return { do: 'lost', reason }
}

function judgeSuccess(kind: PartKind, status: number, body: Json | undefined): AnswerVerdict {
  // A proxy's or captive portal's page can also have status 200.
  const isOurs = kind === 'otlp' ? body !== undefined : body?.ok === true
  if (!isOurs) return { do: 'again', all: true, reason: `HTTP ${status} that is not from spoor` }
  const rejected = kind === 'otlp' ? (body!.partialSuccess as Json | undefined) : undefined
  if (Number(rejected?.rejectedSpans ?? 0) === 0) return { do: 'done' }
  return { do: 'lost', reason: `${rejected!.rejectedSpans} spans rejected: ${rejected!.errorMessage}` }
}

type Json = Record<string, unknown>

export function parseAnswer(text: string): Json | undefined {
  try {
    const value = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Returns the delay after consecutive failures, randomised so that clients do not retry simultaneously. */
export function waitMs(failures: number, afterMs: number | undefined, random = Math.random()): number {
  const backoff = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(20, Math.max(0, failures - 1)))
  return Math.max(afterMs ?? 0, backoff * (0.5 + random / 2))
}

/** Parses a Retry-After header, which contains seconds or a date. */
function retryAfterMs(header: string | undefined): number | undefined {
  if (header === undefined || header === '') return undefined
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now()
  return Number.isNaN(ms) ? undefined : Math.min(LONGEST_RETRY_AFTER_MS, Math.max(0, ms))
}

/** Returns the number of scores in the service's response that equal the sent score. */
export function countEqual(text: string, sent: string): number {
  const { name, value, comment = null, spanId = null } = JSON.parse(sent)
  const scores = parseAnswer(text)?.scores
  if (!Array.isArray(scores)) return 0
  return scores.filter(
    each => each.name === name && each.value === value && each.comment === comment && each.spanId === spanId
  ).length
}
