/**
 * Reads the traces that `spoor demo` records, in the form that instrumented applications would send. The traces show
 * runs that succeed, recover or fail, as well as conversations, a picture and a recording. Each line of traces.ndjson
 * is a `DemoTrace`. Its times are in seconds relative to now, and its ids are placeholders that begin with `$`. Each
 * run replaces the placeholders with new ids, so each run adds traces.
 */
import { readFileSync } from 'node:fs'
import { ordinaryTraces } from './ordinary/traces.ts'
import { clock, type DemoTrace, spanId, traceId } from './parts.ts'

/** Minimum number of traces, which is the number of lines in the file. */
export const WRITTEN_OUT = 12
/** Maximum number of traces, which take about 10 minutes to record. */
export const MOST_TRACES = 10_000
export const LONGEST_DAYS = 365

/** The compiler does not copy data files, so the file has the same path in the package as in the source tree. */
const FILE = new URL('lib/demo/traces.ndjson', import.meta.resolve('#package.json'))
const TIMES = new Set(['startedAt', 'endedAt', 'timestamp'])
const HOUR_MS = 3_600_000

export interface DemoSize {
  /** The number of traces. Those beyond WRITTEN_OUT are ordinary traces. */
  readonly count?: number | undefined
  /** The number of days over which ordinary traces are spread. */
  readonly days?: number | undefined
  readonly seed?: number | undefined
}

/** Yields traces before `now`, oldest first. Each trace is generated when it is needed, because runs can be long. */
export function* demoTraces(now: number, { count = WRITTEN_OUT, days, seed }: DemoSize = {}): Generator<DemoTrace> {
  yield* ordinaryTraces(now - HOUR_MS, count - WRITTEN_OUT, days, seed)
  for (const line of readFileSync(FILE, 'utf8').trimEnd().split('\n')) yield readTrace(line, now)
}

function readTrace(line: string, now: number): DemoTrace {
  const at = clock(now)
  const ids = new Map([['$trace', traceId()]])
  return JSON.parse(line, (key, value) => {
    if (TIMES.has(key)) return at(value * 1000)
    if (typeof value !== 'string' || !value.startsWith('$')) return value
    const id = ids.get(value) ?? spanId()
    ids.set(value, id)
    return id
  })
}
