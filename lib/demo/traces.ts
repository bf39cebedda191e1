/**
 * The traces that `spoor demo` records, as instrumented applications would send them: runs that succeed, that recover,
 * and that fail; conversations; a picture and a recording. Each line of traces.ndjson is a `DemoTrace` whose times are
 * seconds from now, and whose ids are names that begin with `$`. Each run replaces the names by new ids, so it adds
 * traces.
 */
import { readFileSync } from 'node:fs'
import { ordinaryTraces } from './ordinary.ts'
import { clock, type DemoTrace, spanId, traceId } from './parts.ts'

/** How many traces there are at least: the lines of the file. */
export const WRITTEN_OUT = 12
/** How many there are at most: they are made in memory. */
export const MOST_TRACES = 10_000

/** The compiler copies no data: the package has the file where the source tree has it. */
const FILE = new URL('lib/demo/traces.ndjson', import.meta.resolve('#package.json'))
const TIMES = new Set(['startedAt', 'endedAt', 'timestamp'])
const HOUR_MS = 3_600_000

/** In the order of time, all shortly before `now`. More than WRITTEN_OUT are ordinary ones of the day before. */
export function demoTraces(now: number, count = WRITTEN_OUT): DemoTrace[] {
  const lines = readFileSync(FILE, 'utf8').trimEnd().split('\n')
  return [...ordinaryTraces(now - HOUR_MS, count - WRITTEN_OUT), ...lines.map(line => readTrace(line, now))]
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
