/**
 * Completes OpenTelemetry traces whose root never arrives: running traces that have received no new span for `afterMs`.
 * Idle time is measured from when this process first saw the trace's current version, so restarting the service resets
 * the idle time.
 */
import type { SqlAccess } from '../database/sql-access.ts'
import type { Ingest } from '../ingest/ingest.ts'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { type RunningTrace, readEndedSpans, readRunningTraces } from '../store/write/idle-traces.ts'
import { endOf } from '../trace/states/idle.ts'
import { Rounds, type RoundsOptions } from './rounds.ts'

export interface IdleTracesOptions {
  readonly sql: SqlAccess
  readonly ingest: Pick<Ingest, 'complete'>
  readonly log: Logger
  readonly health?: RoundsOptions['health']
  readonly metrics: Pick<Metrics, 'countIdle'>
  /** Idle time, in ms, after which a trace is completed. If undefined, idle traces stay running. */
  readonly afterMs: number | undefined
}

/** Maximum number of running traces that one round reads, oldest first. */
const MOST_WATCHED = 20_000
/** Maximum number of traces completed at a time, because all of each trace's spans are read. */
const MOST_AT_ONCE = 100
const LONGEST_PAUSE_MS = 60_000
const ROUNDS = 10

/**
 * Each running trace's version, and the time at which this process first saw that version, in ms of performance.now().
 */
export type Watched = ReadonlyMap<number, { readonly version: number; readonly since: number }>

/**
 * Returns the traces to watch, and the traces that have been idle for `afterMs` milliseconds. `running` contains the
 * traces that the current round found.
 */
export function watch<T extends Pick<RunningTrace, 'seq' | 'version'>>(
  before: Watched,
  running: readonly T[],
  now: number,
  afterMs: number
): { watched: Watched; idle: T[] } {
  const watched = new Map(
    running.map(({ seq, version }) => {
      const known = before.get(seq)
      return [seq, { version, since: known?.version === version ? known.since : now }]
    })
  )
  return { watched, idle: running.filter(({ seq }) => now - watched.get(seq)!.since >= afterMs) }
}

export class IdleTraces {
  readonly #options: IdleTracesOptions
  readonly #rounds: Rounds | undefined
  #watched: Watched = new Map()

  constructor(options: IdleTracesOptions) {
    const { afterMs, log, health } = options
    this.#options = options
    if (afterMs === undefined) return
    const pauseMs = Math.min(LONGEST_PAUSE_MS, afterMs / ROUNDS)
    this.#rounds = new Rounds({ what: 'completing idle traces', pauseMs, log, health }, () => this.#round(afterMs))
  }

  close(): void {
    this.#rounds?.close()
  }

  async #round(afterMs: number): Promise<void> {
    const { sql, log, metrics } = this.#options
    const running = await sql.read(sql => readRunningTraces(sql, MOST_WATCHED))
    const { watched, idle } = watch(this.#watched, running, performance.now(), afterMs)
    this.#watched = watched
    for (let i = 0; i < idle.length && this.#rounds?.isClosed === false; i += MOST_AT_ONCE) {
      const completed = await this.#complete(idle.slice(i, i + MOST_AT_ONCE))
      metrics.countIdle(completed)
      this.#rounds.advance()
      if (completed > 0) log.info({ traces: completed }, 'completed traces that had received no spans for a while')
    }
  }

  /** Completes the traces that have not changed in the meantime. Returns the number of completed traces. */
  async #complete(idle: readonly RunningTrace[]): Promise<number> {
    const { sql, ingest } = this.#options
    const spans = await sql.read(sql => readEndedSpans(sql, idle))
    const outcomes = idle.flatMap(({ projectId, traceId, seq, version }) => {
      const known = spans.get(seq)
      return known === undefined ? [] : [ingest.complete({ projectId, traceId, version, end: endOf(known) })]
    })
    return (await Promise.all(outcomes)).filter(Boolean).length
  }
}
