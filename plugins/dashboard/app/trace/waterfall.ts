import type { OutlineSpan } from '../contract.ts'
/** Places the bars of a waterfall, in shares of its width from 0 to 1. */

export interface Frame {
  /** Epoch ms. */
  readonly start: number
  readonly end: number
}

/** The time that a trace and all of its spans take up. A running trace reaches to `now`. */
export function frameOf(
  trace: { readonly startedAt: string; readonly endedAt: string | null },
  spans: readonly OutlineSpan[],
  now: number
): Frame {
  let start = Date.parse(trace.startedAt)
  let end = trace.endedAt === null ? Math.max(now, start) : Date.parse(trace.endedAt)
  for (const span of spans) {
    start = Math.min(start, Date.parse(span.startedAt))
    end = Math.max(end, Date.parse(span.endedAt))
  }
  return { start, end: end > start ? end : start + 1 }
}

export interface Bar {
  readonly left: number
  readonly width: number
}

/** A bar, cut to the frame; undefined where it lies outside. */
export function barOf(startedAt: string, endedAt: string, frame: Frame): Bar | undefined {
  const length = frame.end - frame.start
  const [from, to] = [(Date.parse(startedAt) - frame.start) / length, (Date.parse(endedAt) - frame.start) / length]
  if (to < 0 || from > 1) return undefined
  const left = Math.max(0, from)
  return { left, width: Math.max(0, Math.min(1, to) - left) }
}

/** Round steps of an axis: at most `most` marks in ms after the trace's start. */
export function ticks(frame: Frame, origin: number, most: number): number[] {
  const step = roundStep((frame.end - frame.start) / Math.max(1, most))
  const first = Math.ceil((frame.start - origin) / step) * step
  const marks: number[] = []
  for (let at = first; at <= frame.end - origin && marks.length < 50; at += step) marks.push(at)
  return marks
}

const MINUTE = 60_000
const STEPS = [15_000, 30_000, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 30 * MINUTE, 60 * MINUTE]

/** 1, 2 or 5 of a power of ten below 10 s; beyond that what clocks have. */
function roundStep(ms: number): number {
  if (ms > 10_000) {
    const found = STEPS.find(step => step >= ms)
    if (found !== undefined) return found
    const hours = ms / (60 * MINUTE)
    return roundTen(hours) * 60 * MINUTE
  }
  return roundTen(ms)
}

function roundTen(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1e-3)))
  return ([1, 2, 5, 10].find(each => each * power >= value) ?? 10) * power
}

/**
 * The critical path: from the span that ended last, the child that ended last before it, and so on. Spans on it
 * decided when the trace ended.
 */
export function criticalPath(spans: readonly OutlineSpan[]): Set<string> {
  const children = new Map<string | null, OutlineSpan[]>()
  const known = new Set(spans.map(({ id }) => id))
  for (const span of spans) {
    const parent = span.parentSpanId !== null && known.has(span.parentSpanId) ? span.parentSpanId : null
    const siblings = children.get(parent)
    if (siblings === undefined) children.set(parent, [span])
    else siblings.push(span)
  }
  const path = new Set<string>()
  const waiting: { parent: string | null; until: number }[] = [{ parent: null, until: Number.POSITIVE_INFINITY }]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    let { until } = next
    const byEnd = [...(children.get(next.parent) ?? [])].sort((a, b) => Date.parse(b.endedAt) - Date.parse(a.endedAt))
    for (const span of byEnd) {
      if (path.has(span.id) || Date.parse(span.endedAt) > until) continue
      path.add(span.id)
      waiting.push({ parent: span.id, until: Date.parse(span.endedAt) })
      until = Date.parse(span.startedAt)
    }
  }
  return path
}
