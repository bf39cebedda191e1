import type { OutlineSpan } from '../contract.ts'
/** Computes the bars of a waterfall, as shares of the waterfall's width, from 0 to 1. */

export interface WaterfallFrame {
  /** Milliseconds since 1970. */
  readonly start: number
  readonly end: number
}

/** Returns the time range that a trace and its spans cover. A running trace extends to `now`. */
export function frameOf(
  trace: { readonly startedAt: string; readonly endedAt: string | null },
  spans: readonly OutlineSpan[],
  now: number
): WaterfallFrame {
  let start = Date.parse(trace.startedAt)
  let end = trace.endedAt === null ? Math.max(now, start) : Date.parse(trace.endedAt)
  for (const span of spans) {
    start = Math.min(start, Date.parse(span.startedAt))
    end = Math.max(end, Date.parse(span.endedAt))
  }
  return { start, end: end > start ? end : start + 1 }
}

export interface WaterfallBar {
  readonly left: number
  readonly width: number
}

/** Returns a bar clipped to the frame; undefined if the bar is outside. */
export function barOf(startedAt: string, endedAt: string, frame: WaterfallFrame): WaterfallBar | undefined {
  const length = frame.end - frame.start
  const [from, to] = [(Date.parse(startedAt) - frame.start) / length, (Date.parse(endedAt) - frame.start) / length]
  if (to < 0 || from > 1) return undefined
  const left = Math.max(0, from)
  return { left, width: Math.max(0, Math.min(1, to) - left) }
}

/** Returns at most `most` axis ticks at round values, in ms after the trace's start. */
export function ticks(frame: WaterfallFrame, origin: number, most: number): number[] {
  const step = roundStep((frame.end - frame.start) / Math.max(1, most))
  const first = Math.ceil((frame.start - origin) / step) * step
  const marks: number[] = []
  for (let at = first; at <= frame.end - origin && marks.length < 50; at += step) marks.push(at)
  return marks
}

const MINUTE = 60_000
const STEPS = [15_000, 30_000, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 30 * MINUTE, 60 * MINUTE]

/** Returns 1, 2 or 5 times a power of ten up to 10 s, and a customary clock interval above 10 s. */
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
 * Returns the critical path: the spans that determined when the trace ended. Among the roots, the path consists of the
 * span that ended last, then the last span to end before that span started, and so on. The same rule then selects
 * children of each span on the path.
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
