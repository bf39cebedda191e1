/**
 * Packs the texts of complete traces again (lib/store/repacking) in the process that holds the lock. Pauses between
 * traces to leave the CPU to requests. The pauses are longer while many requests are in flight.
 */
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises'
import type { Sql } from 'postgres'
import { ADVISORY_LOCK } from '../database/advisory-locks.ts'
import type { Database } from '../database/database.ts'
import { classifyFailure } from '../database/failure.ts'
import { closeSingle, openSingle } from '../database/pooled/single-connection.ts'
import type { SqlAccess } from '../database/sql-access.ts'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { LOOK, tracePortions } from '../store/repacking/portions.ts'
import {
  addWaits,
  forgetWaits,
  type Marks,
  moveOn,
  noteMark,
  postpone,
  type RepackBacklog,
  readDue,
  readMarks,
  readNext,
  readRepackBacklog,
  readWalks,
  type WalkedProject,
  type WalkedTrace
} from '../store/repacking/progress.ts'
import { findShrinkable, repackTrace, type Shrinkable } from '../store/repacking/repack-trace.ts'
import { Rounds, type RoundsOptions } from './rounds.ts'

export interface RepackingOptions {
  readonly sql: SqlAccess
  readonly database: Pick<Database, 'connect' | 'limit'>
  readonly log: Logger
  readonly health?: RoundsOptions['health']
  readonly metrics: Pick<Metrics, 'watch'>
  /** Whether few requests are in flight. */
  readonly isCalm: () => boolean
  /** How long, in ms, a trace must have been unchanged. If undefined, nothing is repacked. */
  readonly afterMs: number | undefined
}

/** Longest pause between rounds; with a short `afterMs`, a tenth of it, but no less than LEAST_PAUSE_MS. */
const PAUSE_MS = 60_000
const LEAST_PAUSE_MS = 250
const BACKLOG_PAUSE_MS = 60_000
const TIMEOUT_MS = 30_000
/** Pause after each step, as a multiple of the step's duration. */
const PAUSES = { calm: 1, busy: 9 }

export class Repacking {
  readonly #options: RepackingOptions
  readonly #rounds: Rounds | undefined
  readonly #backlogRounds: Rounds | undefined
  #backlog = new RepackAge()
  #sql: Sql | undefined
  #began = 0
  /** Traces after the walk's position that were already checked, by project. Empty unless `afterMs` is short. */
  readonly #passed = new Map<number, Set<number>>()

  constructor(options: RepackingOptions) {
    const { afterMs, log, health, metrics } = options
    this.#options = options
    if (afterMs === undefined) return
    const about = 'Complete traces waiting to be repacked; counted up to 10,000 per project.'
    metrics.watch('spoor_repacking_waiting', about, () => this.#backlog.waiting, 'max')
    const age = 'Lower bound on how long the oldest trace has waited to be repacked, in seconds.'
    metrics.watch('spoor_repacking_waiting_age_seconds', age, () => this.lagMs / 1000, 'max')
    const pauseMs = Math.max(LEAST_PAUSE_MS, Math.min(PAUSE_MS, afterMs / 10))
    this.#rounds = new Rounds({ what: 'repacking', pauseMs, log, health }, () => this.#round(afterMs))
    const looking = { what: 'checking the repacking backlog', pauseMs: BACKLOG_PAUSE_MS, log, health }
    this.#backlogRounds = new Rounds(looking, async () => {
      const seen = await options.sql.read(sql => readRepackBacklog(sql, afterMs))
      this.#backlog = this.#backlog.next(seen, performance.now())
    })
  }

  /** Lower bound for the waiting time of the trace that has waited longest. */
  get lagMs(): number {
    return this.#backlog.ageMs(performance.now())
  }

  close(): void {
    this.#rounds?.close()
    this.#backlogRounds?.close()
    void this.#sql?.end({ timeout: 0 })
  }

  async #round(afterMs: number): Promise<void> {
    const { database } = this.#options
    const own = await openSingle(database, { applicationName: 'repacking', statementTimeoutMs: TIMEOUT_MS })
    this.#sql = own
    try {
      const [lock] = await own<[{ held: boolean }]>`select pg_try_advisory_lock(${ADVISORY_LOCK.repacking}) as held`
      // Closing the connection releases the lock.
      if (!lock.held) return
      await noteMark(own, afterMs)
      const marks = await readMarks(own, afterMs)
      for (const project of await readWalks(own)) {
        this.#began = performance.now()
        await this.#walk(own, project, marks)
        await this.#lookAgain(own, project.projectId, marks, afterMs)
        await this.#rest()
        if (this.#rounds?.isClosed !== false) return
      }
    } finally {
      this.#sql = undefined
      await closeSingle(database, own)
    }
  }

  /** Checks the traces after the walk's position, and advances the position. */
  async #walk(sql: Sql, { projectId, to }: WalkedProject, marks: Marks): Promise<void> {
    const passed = this.#passedOf(projectId, to)
    for (let after = to; ; ) {
      const next = await readNext(sql, projectId, after, marks.calm, LOOK.traces)
      const last = next.at(-1)?.seq
      if (last === undefined) return
      const fresh = next.filter(({ seq }) => !passed.has(seq))
      const isDue = (trace: WalkedTrace) => trace.isEnded && trace.version < marks.calm
      await addWaits(
        sql,
        projectId,
        fresh.filter(trace => !isDue(trace)).map(({ seq }) => seq)
      )
      const changed = await this.#repack(sql, projectId, fresh.filter(isDue))
      await addWaits(sql, projectId, changed)
      // No further trace gets a seq below the settled mark.
      const settled = next.findLast(({ seq }) => seq < marks.settled)?.seq ?? after
      if (settled > after) await moveOn(sql, projectId, settled)
      // Traces up to the new position, which may be millions, need not be remembered.
      for (const { seq } of fresh) if (seq > settled) passed.add(seq)
      after = last
      await this.#rest()
    }
  }

  /** Returns the checked traces after `to`, and forgets those up to `to`. */
  #passedOf(projectId: number, to: number): Set<number> {
    const passed = new Set([...(this.#passed.get(projectId) ?? [])].filter(seq => seq > to))
    this.#passed.set(projectId, passed)
    return passed
  }

  /** Checks waiting traces that are due. */
  async #lookAgain(sql: Sql, projectId: number, marks: Marks, afterMs: number): Promise<void> {
    for (;;) {
      const due = await readDue(sql, projectId, LOOK.traces)
      if (due.length === 0) return
      const isReady = (trace: (typeof due)[number]): trace is WalkedTrace =>
        trace.version !== null && trace.isEnded && trace.version < marks.calm
      const ready = due.filter(isReady)
      const changed = new Set(await this.#repack(sql, projectId, ready))
      const waits = due.filter(trace => (trace.version !== null && !isReady(trace)) || changed.has(trace.seq))
      const again = new Set(waits.map(({ seq }) => seq))
      await postpone(sql, projectId, [...again], afterMs)
      await forgetWaits(
        sql,
        projectId,
        due.flatMap(({ seq }) => (again.has(seq) ? [] : [seq]))
      )
      await this.#rest()
    }
  }

  /** Repacks traces where it is worthwhile. Returns the traces that changed in the meantime. */
  async #repack(sql: Sql, projectId: number, traces: readonly WalkedTrace[]): Promise<number[]> {
    const changed: number[] = []
    for (const portion of tracePortions(traces)) {
      const shrinkable = await findShrinkable(sql, projectId, portion)
      await this.#rest()
      for (const trace of shrinkable) {
        if (await this.#isChanged(sql, projectId, trace)) changed.push(trace.seq)
        await this.#rest()
      }
    }
    return changed
  }

  /** Repacks a trace. Returns whether the trace has changed, so that nothing was written. */
  async #isChanged(sql: Sql, projectId: number, trace: Shrinkable): Promise<boolean> {
    try {
      return (await repackTrace(sql, projectId, trace)).outcome === 'changed'
    } catch (error) {
      if (this.#rounds?.isClosed !== false || classifyFailure(error) !== 'bug') throw error
      // Without this, a single trace that cannot be unpacked would keep all others from being repacked.
      this.#options.log.error({ err: error, project: projectId, seq: trace.seq }, 'a trace could not be repacked')
      return false
    }
  }

  async #rest(): Promise<void> {
    if (this.#rounds?.isClosed !== false) throw new Error('repacking is closed')
    const tookMs = performance.now() - this.#began
    const times = this.#options.isCalm() ? PAUSES.calm : PAUSES.busy
    await (tookMs < 1 ? turn() : delay(tookMs * times))
    this.#began = performance.now()
    this.#rounds.advance()
  }
}

interface Mark {
  readonly last: number
  readonly since: number
}

/**
 * Tracks how long traces wait to be checked. Each project's last counted trace is marked with the time at which it
 * was first seen; until the walk passes it, the mark's age is a lower bound for the waiting time.
 */
export class RepackAge {
  /** Number of waiting traces of all projects; undefined until the first check. */
  readonly waiting: number | undefined
  readonly #marks: ReadonlyMap<number, Mark>

  constructor(waiting?: number, marks: ReadonlyMap<number, Mark> = new Map()) {
    this.waiting = waiting
    this.#marks = marks
  }

  ageMs(now: number): number {
    return Math.max(0, ...[...this.#marks.values()].map(({ since }) => now - since))
  }

  next(seen: readonly RepackBacklog[], now: number): RepackAge {
    const marks = seen.flatMap(({ projectId, to, last }): [number, Mark][] => {
      const mark = this.#marks.get(projectId)
      if (mark !== undefined && mark.last > to) return [[projectId, mark]]
      return last === null ? [] : [[projectId, { last, since: now }]]
    })
    return new RepackAge(
      seen.reduce((sum, { waiting }) => sum + waiting, 0),
      new Map(marks)
    )
  }
}
