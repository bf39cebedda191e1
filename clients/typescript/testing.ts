/**
 * `spoor-client/testing`: keeps traces in memory, for tests of applications with Vitest, Jest or node:test:
 * `const { spoor, traces } = recordInMemory()`. Nothing is sent, so no server and no key are needed.
 */
import type { SpanInput, TraceInput } from './api-types.ts'
import type { SpoorOptions } from './options.ts'
import type { TracePart } from './record/trace.ts'
import { Spoor } from './spoor.ts'

/** A trace as an application has recorded it, with its spans in the order in which they ended. */
export interface RecordedTrace extends Omit<TraceInput, 'spans'> {
  readonly spans: readonly SpanInput[]
  /** Values of the trace's and its spans' scores, by name. */
  readonly scores: Readonly<Record<string, number | string | boolean>>
}

export interface InMemory {
  /** A client that sends nothing. */
  readonly spoor: Spoor
  /** The traces that have ended, in that order. */
  readonly traces: readonly RecordedTrace[]
  /** Reports of the client, which a test may expect to be empty. */
  readonly problems: readonly string[]
  /** Returns the only trace with this name. Throws if there is none, or if there are several. */
  one(name: string): RecordedTrace
  /** Forgets all traces and problems, for example before each test. */
  clear(): void
}

/** Returns a client that keeps its traces in memory. The options are those of `Spoor`. */
export function recordInMemory(options: SpoorOptions = {}): InMemory {
  const traces: (RecordedTrace & { scores: Record<string, number | string | boolean> })[] = []
  const problems: string[] = []
  const take = (traceId: string, { kind, body }: TracePart) => {
    const given = JSON.parse(body)
    if (kind === 'record') traces.push({ spans: [], ...given.trace, scores: {} })
    const trace = traces.findLast(({ id }) => id === traceId)
    if (kind === 'score' && trace !== undefined) trace.scores[given.name] = given.value
  }
  const inMemory = { ...options, key: 'none', spool: false, live: false, flushEach: false, sampleRate: 1 } as const
  const spoor = new Spoor({ ...inMemory, onProblem: problem => problems.push(problem) }, take)
  return {
    spoor,
    traces,
    problems,
    one(name) {
      const found = traces.filter(trace => trace.name === name)
      if (found.length === 1) return found[0]!
      const names = traces.map(trace => trace.name).join(', ') || 'none'
      const count = found.length === 0 ? 'no trace is' : `${found.length} traces are`
      throw new Error(`${count} named ${name}; recorded: ${names}`)
    },
    clear() {
      traces.length = 0
      problems.length = 0
    }
  }
}
