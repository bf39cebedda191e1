/**
 * One lane of the write path. It takes a batch of operations, reads the stored states that the decisions need, decides
 * each operation (lib/trace/states/decide.ts), writes all decisions in one transaction
 * (lib/store/write/copy-batch.ts), and answers the operations.
 *
 * PostgreSQL undoes the transaction if a stored trace is not in the state that the lane assumed. The lane then reads
 * the states of the whole batch and decides again. Resends come in crowds, so it also reads the states of the next few
 * batches before it writes them.
 *
 * If the connection breaks during a write, the lane cannot know whether PostgreSQL committed it. Every write puts a
 * number into the trace's row that no other operation uses. The lane reads the row and finds out by that number.
 */
import { classifyFailure, isReadOnlyRefusal, isUniqueViolation, isUnreachable } from '../database/failure.ts'
import type { Pool } from '../database/pool.ts'
import type { ConnectionLimit } from '../database/pooled/connection-limit.ts'
import { Refusal } from '../errors.ts'
import type { Logger } from '../log.ts'
import type { SpanRows } from '../rows/copy-rows.ts'
import { isUsedUp } from '../store/projects/accounts.ts'
import type { KnownFloors } from '../store/rankings/known-floors.ts'
import type { SearchedProjects } from '../store/search/searched-projects.ts'
import { type ChangedTrace, changedTrace } from '../store/write/changes.ts'
import type { Batch, RecordedTrace } from '../store/write/copy-batch.ts'
import { TraceNumbers } from '../store/write/trace-numbers.ts'
import { readTraceStates } from '../store/write/trace-state.ts'
import { UNASSIGNED } from '../trace/environment.ts'
import { type Decision, decide, type TraceState } from '../trace/states/decide.ts'
import { changedState } from '../trace/states/state-after.ts'
import { Copier, type OpenCopy } from './copier.ts'
import {
  addedRows,
  addedScores,
  type Decided,
  isOurs,
  isWrite,
  lookOf,
  type Pending,
  recordOf,
  refusalMessage,
  trialLimitReached
} from './pending.ts'
import type { RunningTraces } from './running-traces.ts'

/** Puts an operation that is still without an answer back into the queue, at once or after a pause. */
export type Again = (pending: Pending, pauseMs: number) => void

/** How long a lane looks for the outcome of a lost write. After that the client is told to send the request again. */
const LOST_LIMIT_MS = 5000
/** The pause before each of these looks. */
const PAUSE_MS = 50
/** An operation is refused after so many tries, in each of which somebody else changed its trace. */
const MAX_TRIES = 1000
/** How many batches are looked up before they are written, once a stored trace was not in the assumed state. */
const LOOKS_AFTER_CONFLICT = 8

export interface WriterOptions {
  /** The row of project_totals in which this writer counts; the other writers count in other rows. */
  readonly slot: number
  readonly limit: ConnectionLimit
  readonly running: RunningTraces
  readonly floors: KnownFloors
  readonly searched: SearchedProjects
  readonly again: Again
}

export class Writer {
  readonly #pool: Pool
  readonly #copier: Copier
  readonly #running: RunningTraces
  readonly #searched: SearchedProjects
  readonly #again: Again
  readonly #log: Logger
  readonly #numbers = new TraceNumbers()
  /** How many of the next batches have all their states read before they are written. */
  #looks = 0

  constructor(pool: Pool, openCopy: OpenCopy, options: WriterOptions, log: Logger) {
    this.#pool = pool
    this.#copier = new Copier(openCopy, options.limit, options.slot, options.floors)
    this.#running = options.running
    this.#searched = options.searched
    this.#again = options.again
    this.#log = log
  }

  /**
   * Answers every operation of the batch, or puts it back into the queue. Never rejects. Resolves to the error if the
   * database could not be reached, and to undefined otherwise.
   */
  async process(batch: readonly Pending[]): Promise<unknown> {
    try {
      const undone = await this.#decideAndWrite(batch)
      if (undone.length === 0) return undefined
      this.#looks = LOOKS_AFTER_CONFLICT
      for (const pending of undone) this.#doubt(pending)
      const again = await this.#decideAndWrite(undone)
      // Others are changing some of these traces right now. Halves single out the contended trace, so that its
      // neighbours need not wait for it.
      if (again.length === 1) this.#tryAgain(again[0] as Pending, 0)
      else await this.#inHalves(again)
      return undefined
    } catch (error) {
      const open = batch.filter(pending => !pending.settled)
      await this.fail(open, error)
      return isUnreachable(error) ? error : undefined
    }
  }

  /** Runs a statement without result over the connection for COPY. No batch may be under way. */
  check(statement: string): Promise<void> {
    return this.#copier.check(statement)
  }

  close(): void {
    this.#copier.close()
  }

  /** Returns the operations whose write was undone because a stored trace was not in the assumed state. */
  async #decideAndWrite(batch: readonly Pending[]): Promise<readonly Pending[]> {
    const decided = await this.#decide(batch)
    if (decided.length === 0) return []
    if (!this.#numbers.has(decided.length)) {
      await this.#pool.run(sql => this.#numbers.refill(sql, decided.length))
    }
    if (this.#searched.isStale) await this.#pool.run(sql => this.#searched.read(sql))
    if (!(await this.#copier.write(this.#batchOf(decided)))) return decided.map(({ pending }) => pending)
    for (const each of decided) {
      this.#remember(each)
      each.pending.resolve(each.decision)
    }
    return []
  }

  /** Decides all operations, answers those that need no write, and returns the others. */
  async #decide(batch: readonly Pending[]): Promise<Decided[]> {
    const looksAtAll = this.#looks > 0
    if (looksAtAll) this.#looks--
    const known: Decided[] = []
    const unknown: Pending[] = []
    for (const pending of batch) {
      const each = looksAtAll ? undefined : this.#decideAtOnce(pending)
      if (each === undefined) unknown.push(pending)
      else known.push(each)
    }
    return unknown.length === 0 ? known : [...known, ...(await this.#look(unknown))]
  }

  /** Decides without reading the database. Undefined if the stored state must be read first. */
  #decideAtOnce(pending: Pending): Decided | undefined {
    if (!pending.look) return { pending, state: undefined, decision: { type: 'insert' } }
    // A remembered state has only what appends and ends need.
    const isKnown = pending.tries === 0 && pending.operation.operation !== 'record'
    const state = isKnown ? this.#running.get(pending.key) : undefined
    const decision = state && decide(state, pending.operation)
    return decision?.type === 'change' ? { pending, state, decision } : undefined
  }

  #doubt(pending: Pending): void {
    pending.look = true
    this.#running.forget(pending.key)
  }

  /**
   * Reads the states of these operations, decides, answers those that need no write, and returns the others.
   *
   * Whether a trial account is used up is read before the states: the trace that used it up can be the same one, which
   * another process has just recorded, and is then found. An operation that is charged is a batch by itself.
   */
  async #look(looking: readonly Pending[]): Promise<Decided[]> {
    const usedUp = await this.#refuseCharge(looking[0] as Pending)
    const states = await this.#pool.run(sql => readTraceStates(sql, looking.map(lookOf)))
    const toWrite: Decided[] = []
    for (const [i, pending] of looking.entries()) {
      const state = states[i]
      // This trace was looked up only because resends came before it, and it is a resend as well: keep looking.
      if (state !== undefined && !pending.look) this.#looks = LOOKS_AFTER_CONFLICT
      if (state !== undefined && pending.decision !== undefined && isOurs(pending, state)) {
        pending.resolve(pending.decision)
        continue
      }
      const refusal = state === undefined ? usedUp : undefined
      const decision = refusal ?? decide(state, pending.operation)
      if (isWrite(decision)) toWrite.push({ pending, state, decision })
      else pending.resolve(decision)
    }
    return toWrite
  }

  /** Refuses a new trace of a used-up trial account. This limit comes before the size limit, which decide() checks. */
  async #refuseCharge({ charge }: Pending): Promise<Decision | undefined> {
    if (charge === undefined) return undefined
    return (await this.#pool.run(sql => isUsedUp(sql, charge))) ? trialLimitReached(charge) : undefined
  }

  #batchOf(decided: readonly Decided[]): Batch {
    const ingestedAt = new Date().toISOString()
    const traces: RecordedTrace[] = []
    const changed: ChangedTrace[] = []
    for (const { pending, state, decision } of decided) {
      pending.decision = decision
      if (state === undefined || decision.type === 'insert') traces.push(this.#recorded(pending, ingestedAt))
      else if (decision.type === 'change') {
        const { change } = decision
        changed.push(this.#changed(pending, state, change, addedRows(pending, change.spans)))
      } else if (decision.type === 'advance') {
        const { advance } = decision
        changed.push({
          ...this.#changed(pending, state, advance, addedRows(pending, advance.spans)),
          scores: addedScores(pending, advance.scores)
        })
      } else changed.push(this.#changed(pending, state, decision.growth, addedRows(pending, decision.added)))
    }
    const news = [
      ...traces.map(({ projectId, seq }) => ({ projectId, seq, version: seq })),
      ...changed.map(({ projectId, seq, changed: { version } }) => ({ projectId, seq, version }))
    ].filter(({ projectId }) => this.#searched.has(projectId))
    return { traces, changed, news, charge: traces.length === 1 ? decided[0]?.pending.charge : undefined }
  }

  #recorded(pending: Pending, now: string): RecordedTrace {
    const record = recordOf(pending)
    if (record === undefined) throw new Error(`a ${pending.operation.operation} makes no trace`)
    const { projectId } = pending
    const own = { environment: pending.environment ?? UNASSIGNED, keyId: pending.keyId, ingestedAt: now }
    const { environment, keyId, ingestedAt } = record.restored?.past ?? own
    const { estimatedBytes, rows } = record
    return { projectId, seq: this.#numberOf(pending), environment, keyId, ingestedAt, estimatedBytes, rows }
  }

  #changed(
    pending: Pending,
    state: TraceState,
    sums: Parameters<typeof changedTrace>[1],
    spans: SpanRows | undefined
  ): ChangedTrace {
    const { projectId, traceId } = pending
    const version = this.#numbers.take()
    pending.attempts.push(version)
    return changedTrace({ projectId, traceId, state, version }, sums, spans)
  }

  /** A new trace keeps its number through all attempts: whichever of them is committed, the row has this number. */
  #numberOf(pending: Pending): number {
    const seq = pending.attempts[0] ?? this.#numbers.take()
    pending.attempts = [seq]
    return seq
  }

  /**
   * Remembers a running trace while this process knows its whole state: it recorded the trace, and decided every change
   * since from the remembered state. Any other trace is forgotten.
   */
  #remember({ pending, state, decision }: Decided): void {
    const { key, attempts, environment } = pending
    const version = attempts.at(-1) as number
    if (decision.type === 'insert') {
      const started = recordOf(pending)?.started
      if (started !== undefined)
        this.#running.set(key, { seq: version, version, environment: environment ?? UNASSIGNED, ...started })
      return
    }
    const known = this.#running.get(key)
    const goesOn = decision.type === 'change' && decision.change.ending === undefined
    if (goesOn && known !== undefined && known === state) {
      this.#running.set(key, changedState(known, decision.change, version))
    } else {
      this.#running.forget(key)
    }
  }

  #tryAgain(pending: Pending, pauseMs: number): void {
    pending.look = true
    if (++pending.tries > MAX_TRIES) {
      pending.reject(new Refusal('quota_exhausted', 'the trace is being changed by too many others; retry later'))
      return
    }
    this.#again(pending, pauseMs)
  }

  /** Answers operations that met this error, or would meet it, or puts them back into the queue. */
  async fail(batch: readonly Pending[], error: unknown): Promise<void> {
    const failure = classifyFailure(error)
    if (failure === 'retry' || isUniqueViolation(error)) {
      for (const pending of batch) this.#tryAgain(pending, 0)
      return
    }
    if (failure === 'bug') {
      if (batch.length === 1) batch[0]?.reject(error)
      else await this.#inHalves(batch)
      return
    }
    this.#log.warn({ err: error, operations: batch.length }, 'the database did not take a batch')
    const now = performance.now()
    for (const pending of batch) {
      if (failure === 'lost') pending.lostSince ??= now
      const isOver = pending.lostSince === undefined || now - pending.lostSince >= LOST_LIMIT_MS
      if (!isOver && !isReadOnlyRefusal(error)) this.#tryAgain(pending, PAUSE_MS)
      else pending.reject(new Refusal('quota_exhausted', refusalMessage(pending)))
    }
  }

  /** An error of one operation must not fail its neighbours: halves are tried until that operation stands alone. */
  async #inHalves(batch: readonly Pending[]): Promise<void> {
    if (batch.length === 0) return
    const middle = Math.ceil(batch.length / 2)
    for (const half of [batch.slice(0, middle), batch.slice(middle)]) await this.process(half)
  }
}
