/** Decides what to do after a response of the service, or after none. */
import type { PartKind } from '../record/trace.ts'

export interface Answer {
  /** 0: no answer came. */
  readonly status: number
  readonly text: string
  readonly retryAfter?: string | undefined
}

export type Verdict =
  | { readonly do: 'done' }
  /** Send it again. `all`: the service is away or full, so that nothing else need be tried meanwhile. */
  | { readonly do: 'again'; readonly all: boolean; readonly reason: string; readonly afterMs?: number }
  /** The key is not accepted: nothing is sent until somebody sees to it. */
  | { readonly do: 'stop'; readonly reason: string }
  /** It is too large, and has to be cut. */
  | { readonly do: 'cut'; readonly reason: string }
  /** The trace had ended before: its end tells whether it is this very trace. */
  | { readonly do: 'ended'; readonly reason: string }
  | { readonly do: 'lost'; readonly reason: string }

const FIRST_WAIT_MS = 200
const LONGEST_WAIT_MS = 30_000
/** A longer Retry-After is not obeyed. */
const LONGEST_RETRY_AFTER_MS = 120_000
/** Another process may send the trace of a score later, so a score is tried this often, which takes about a minute. */
const SCORE_TRIES = 9

/** `tries`: how often this was sent before. */
export function judge(kind: PartKind, { status, text, retryAfter }: Answer, tries: number): Verdict {
  if (status === 0) return { do: 'again', all: true, reason: text }
  const body = parse(text)
  if (status >= 200 && status < 300) return judgeSuccess(kind, status, body)
  const { code, message } = (body?.error ?? {}) as { code?: string; message?: string }
  const reason = code === undefined ? `HTTP ${status}` : `${status} ${code}: ${message}`
  if (status === 413) return { do: 'cut', reason }
  const isBusy = status === 429 || status >= 500 || status === 408
  // Something else than the service answers at this address, which may change.
  if (isBusy || code === undefined) {
    const afterMs = retryAfterMs(retryAfter)
    const all = code === undefined || status !== 500
    return { do: 'again', all, reason, ...(afterMs !== undefined && { afterMs }) }
  }
  if (status === 401 || (status === 403 && code !== 'forbidden')) return { do: 'stop', reason }
  if (kind === 'score' && status === 404 && tries < SCORE_TRIES) return { do: 'again', all: false, reason }
  if (kind === 'spans' && code === 'trace_finished') return { do: 'ended', reason }
  return { do: 'lost', reason }
}

function judgeSuccess(kind: PartKind, status: number, body: Json | undefined): Verdict {
  // A page of a proxy or of a captive portal has the status 200, too.
  const isOurs = kind === 'otlp' ? body !== undefined : body?.ok === true
  if (!isOurs) return { do: 'again', all: true, reason: `HTTP ${status} that is no answer of spoor` }
  const rejected = kind === 'otlp' ? (body!.partialSuccess as Json | undefined) : undefined
  if (Number(rejected?.rejectedSpans ?? 0) === 0) return { do: 'done' }
  return { do: 'lost', reason: `${rejected!.rejectedSpans} spans refused: ${rejected!.errorMessage}` }
}

type Json = Record<string, unknown>

export function parse(text: string): Json | undefined {
  try {
    const value = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** How long to wait after so many failures in a row: at random, so that clients do not come back together. */
export function waitMs(failures: number, afterMs: number | undefined, random = Math.random()): number {
  const backoff = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(20, Math.max(0, failures - 1)))
  return Math.max(afterMs ?? 0, backoff * (0.5 + random / 2))
}

/** Seconds, or a date. */
function retryAfterMs(header: string | undefined): number | undefined {
  if (header === undefined || header === '') return undefined
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now()
  return Number.isNaN(ms) ? undefined : Math.min(LONGEST_RETRY_AFTER_MS, Math.max(0, ms))
}

/** How many of a trace's scores, as the service answers them, are equal to what was sent. */
export function countEqual(text: string, sent: string): number {
  const { name, value, comment = null, spanId = null } = JSON.parse(sent)
  const scores = parse(text)?.scores
  if (!Array.isArray(scores)) return 0
  return scores.filter(
    each => each.name === name && each.value === value && each.comment === comment && each.spanId === spanId
  ).length
}
