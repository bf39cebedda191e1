/**
 * One lane of the write path: takes a batch, looks where a decision needs it, decides, writes it in one go, answers. Where
 * it can be copied it is (lib/store/write/copy-batch.ts), and else written by one statement (lib/store/write/batch.ts).
 *
 * An operation is tried until it is decided. It looks before it writes if it is an append or an end, if an earlier
 * attempt did not take, or if the outcome of an earlier attempt is unknown because the connection went away: then the
 * number that the attempt would have left on the row tells whether it took.
 */
import { classifyFailure, isReadOnlyRefusal, isUniqueViolation, isUnreachable } from '../database/failure.ts'
import type { Pool } from '../database/pool.ts'
import { Refusal } from '../errors.ts'
import type { Logger } from '../log.ts'
import { BatchRows } from '../rows/change-rows.ts'
import type { ChangeTarget } from '../rows/column-values.ts'
import { isUsedUp } from '../store/accounts.ts'
import type { KnownFloors } from '../store/rankings/known-floors.ts'
import { writeBatch } from '../store/write/batch.ts'
import type { CopyBatch } from '../store/write/copy-batch.ts'
import { TraceNumbers } from '../store/write/trace-numbers.ts'
import { readTraceStates } from '../store/write/trace-state.ts'
import { renderAddedAsText, renderAsText, renderGrowth, renderSpansAsText } from '../threads/ready.ts'
import { type Decision, decide, type TraceState } from '../trace/decide.ts'
import { UNASSIGNED } from '../trace/environment.ts'
import { changedState } from '../trace/state-after.ts'
import { Copier, type OpenCopy } from './copier.ts'
import {
  addedRows,
  type Copied,
  type Copyable,
  type Decided,
  INSERT,
  isChange,
  isCopyable,
  isLarge,
  isOurs,
  lookOf,
  type Pending,
  recordOf,
  refusalMessage,
  trialLimitReached,
  WRITTEN
} from './pending.ts'
import type { RunningTraces } from './running-traces.ts'

/** What becomes of an operation that was neither answered nor failed: tried again, at once or after a pause. */
export type Again = (pending: Pending, pauseMs: number) => void

/** How long the outcome of a lost attempt is looked for before the client is told to send again. */
const LOST_LIMIT_MS = 5000
const PAUSE_MS = 50
/** An operation whose trace changed under it this often is given up. */
const MAX_TRIES = 1000

export interface WriterOptions {
  /** The slot of project_totals that this writer alone should use. */
  readonly slot: number
  readonly remembered: RunningTraces
  readonly floors: KnownFloors
  readonly again: Again
}

export class Writer {
  readonly #pool: Pool
  readonly #copier: Copier
  readonly #slot: number
  readonly #remembered: RunningTraces
  readonly #again: Again
  readonly #log: Logger
  readonly #numbers = new TraceNumbers()

  constructor(pool: Pool, openCopy: OpenCopy, { slot, remembered, floors, again }: WriterOptions, log: Logger) {
    this.#pool = pool
    this.#copier = new Copier(openCopy, slot, floors, log)
    this.#remembered = remembered
    this.#slot = slot
    this.#again = again
    this.#log = log
  }

  /**
   * Answers every operation of the batch, or hands it on to be tried again. Never rejects; resolves to the error where no
   * connection was to be had.
   */
  async process(batch: readonly Pending[]): Promise<unknown> {
    try {
      await this.#decideAndWrite(batch)
      return undefined
    } catch (error) {
      const open = batch.filter(pending => !pending.settled)
      await this.fail(open, error)
      return isUnreachable(error) ? error : undefined
    }
  }

  /** Whether rows should be made for COPY: false where this server cannot be copied to. */
  get copies(): boolean {
    return this.#copier.isPossible
  }

  close(): void {
    this.#copier.close()
  }

  async #decideAndWrite(batch: readonly Pending[], isSecondTry = false): Promise<void> {
    const decided = await this.#decide(batch)
    const left = await this.#copy(decided, isSecondTry)
    if (left === undefined) {
      // Something is not as it was thought to be: what is not answered yet is looked for, once.
      const open = decided.map(({ pending }) => pending)
      for (const pending of open) this.#doubt(pending)
      await this.#decideAndWrite(open, true)
    } else if (left.length > 0) {
      await this.#writeByStatement(left)
    }
  }

  /** Decides what can be decided, answers what needs no write, and gives the rest. */
  async #decide(batch: readonly Pending[]): Promise<Decided[]> {
    const known: Decided[] = []
    const unknown: Pending[] = []
    for (const pending of batch) {
      const each = pending.look ? this.#recall(pending) : { pending, state: undefined, decision: INSERT }
      if (each === undefined) unknown.push(pending)
      else known.push(each)
    }
    return [...known, ...(await this.#look(unknown))]
  }

  #doubt(pending: Pending): void {
    pending.look = true
    this.#remembered.forget(pending.place)
  }

  /** Gives what the statement is to write; undefined where there is much to copy, and should be looked for first. */
  async #copy(decided: readonly Decided[], isSecondTry: boolean): Promise<readonly Decided[] | undefined> {
    const copyable = decided.filter(isCopyable)
    const isMuch = this.#copier.isPossible && isLarge(copyable)
    const isAll = copyable.length > 0 && copyable.length === decided.length
    if (!isMuch && !isAll) return decided
    if (!this.#copier.isNext() && !(isMuch && isSecondTry)) return isMuch ? undefined : decided
    if (!(await this.#copier.isReady())) return decided
    await this.#refillNumbers(copyable.length)
    if (!(await this.#copier.write(this.#copyBatch(copyable)))) return isMuch && !isSecondTry ? undefined : decided
    for (const each of copyable) {
      this.#remember(each)
      each.pending.resolve(each.decision)
    }
    return isAll ? [] : decided.filter(each => !isCopyable(each))
  }

  async #refillNumbers(count: number): Promise<void> {
    if (!this.#numbers.has(count)) await this.#pool.run(sql => this.#numbers.refill(sql, count))
  }

  #copyBatch(copyable: readonly Copyable[]): CopyBatch {
    const ingestedAt = new Date().toISOString()
    const rows = new BatchRows()
    const traces = []
    const changed = []
    for (const { pending, state, decision } of copyable) {
      pending.decision = decision
      const { projectId, environment, keyId } = pending
      if (decision.type === 'change' && state !== undefined) {
        const { change } = decision
        rows.change(this.#targetOf(pending, state), change)
        changed.push({ projectId, seq: state.seq, addedBytes: change.addedBytes, rows: addedRows(pending, change) })
      } else {
        const { estimatedBytes, copy } = recordOf(pending) as Copied
        traces.push({
          projectId,
          environment,
          keyId,
          seq: this.#numberOf(pending),
          ingestedAt,
          estimatedBytes,
          rows: copy
        })
      }
    }
    const { appends, ends } = rows.parameters
    return { traces, changed, appends, ends }
  }

  async #writeByStatement(decided: readonly Decided[]): Promise<void> {
    const taken = await this.#pool.run(async sql => {
      await this.#numbers.refill(sql, decided.length)
      const rows = new BatchRows()
      const ingestedAt = new Date().toISOString()
      for (const each of decided) this.#addRows(rows, each, ingestedAt)
      const [first] = decided
      const charge = first?.decision.type === 'insert' ? first.pending.charge : undefined
      return writeBatch(sql, { ...rows.parameters, slot: this.#slot }, charge)
    })
    for (const each of decided) {
      const { pending, state, decision } = each
      const seq = state?.seq ?? pending.attempts[0]
      if (seq !== undefined && taken.has(seq)) {
        this.#remember(each)
        pending.resolve(decision)
      } else {
        this.#remembered.forget(pending.place)
        await this.#notTaken(pending, state)
      }
    }
  }

  /** Decides by what is remembered of a trace, where that gives something to write. */
  #recall(pending: Pending): Decided | undefined {
    const state = pending.tries === 0 ? this.#remembered.get(pending.place) : undefined
    const decision = state && decide(state, pending.operation)
    return decision?.type === 'change' ? { pending, state, decision } : undefined
  }

  /** Remembers what this process knows all of: a trace that it recorded, and has changed by what it remembered of it. */
  #remember({ pending, state, decision }: Decided): void {
    const { place, attempts, environment, body } = pending
    const version = attempts.at(-1) as number
    if (decision.type === 'insert') {
      const started = recordOf(pending)?.started
      if (started === undefined) return
      const stamp = { seq: version, version, environment: environment ?? UNASSIGNED }
      this.#remembered.start(place, { ...started, ...stamp }, body.byteLength)
    } else if (decision.type === 'change') {
      const known = this.#remembered.get(place)
      if (known !== undefined && known === state && decision.change.ending === undefined)
        this.#remembered.change(place, changedState(known, decision.change, version))
      else this.#remembered.forget(place)
    }
  }

  /** The same number at every attempt: whichever of them takes, it leaves one row. */
  #numberOf(pending: Pending): number {
    const seq = pending.attempts[0] ?? this.#numbers.take()
    pending.attempts = [seq]
    return seq
  }

  /** A number for this attempt, which a change leaves on the row. */
  #targetOf(pending: Pending, { seq, version: oldVersion }: TraceState): ChangeTarget {
    const version = this.#numbers.take()
    pending.attempts.push(version)
    return { projectId: pending.projectId, seq, oldVersion, version }
  }

  /** Reads the states of these operations, answers what is decided already, and gives what is to be written. */
  async #look(looking: readonly Pending[]): Promise<Decided[]> {
    if (looking.length === 0) return []
    const states = await this.#pool.run(sql => readTraceStates(sql, looking.map(lookOf)))
    const toWrite: Decided[] = []
    for (const [i, pending] of looking.entries()) {
      const state = states[i]
      if (state !== undefined && pending.decision !== undefined && isOurs(pending, state)) {
        pending.resolve(pending.decision)
        continue
      }
      const decision = decide(state, pending.operation)
      if (WRITTEN.includes(decision.type)) toWrite.push({ pending, state, decision })
      else pending.resolve((state === undefined && (await this.#refuseCharge(pending))) || decision)
    }
    return toWrite
  }

  /** A new trace that cannot be stored meets the limit of its account before that of its size. */
  async #refuseCharge({ charge }: Pending): Promise<Decision | undefined> {
    if (charge === undefined) return undefined
    return (await this.#pool.run(sql => isUsedUp(sql, charge))) ? trialLimitReached(charge) : undefined
  }

  #addRows(rows: BatchRows, { pending, state, decision }: Decided, ingestedAt: string): void {
    pending.decision = decision
    const { projectId, operation, environment, keyId, body } = pending
    if (state !== undefined && decision.type === 'grow' && operation.operation === 'export') {
      rows.grow(this.#targetOf(pending, state), decision.growth, renderGrowth(operation, decision.added))
    } else if (state !== undefined && decision.type === 'change' && isChange(operation)) {
      const added = renderAddedAsText(operation, body, decision.change.spans)
      rows.change(this.#targetOf(pending, state), decision.change, added)
    } else if (operation.operation === 'record' || operation.operation === 'export') {
      const seq = this.#numberOf(pending)
      const text =
        operation.operation === 'record' ? (operation.text ?? renderAsText(body)) : renderSpansAsText(operation)
      rows.insert({ projectId, seq, environment, keyId, ingestedAt }, text)
    }
  }

  /** The id exists, the version moved, or the trial allowance is used up: look, and decide again. */
  async #notTaken(pending: Pending, state: TraceState | undefined): Promise<void> {
    const { charge } = pending
    // The trace may have come by another process, and have taken the last of the allowance: then this is a resend.
    if (charge !== undefined && state === undefined && !(await this.#isThere(pending))) {
      pending.resolve(trialLimitReached(charge))
      return
    }
    this.#tryAgain(pending, 0)
  }

  async #isThere(pending: Pending): Promise<boolean> {
    const [state] = await this.#pool.run(sql => readTraceStates(sql, [lookOf(pending)]))
    return state !== undefined
  }

  #tryAgain(pending: Pending, pauseMs: number): void {
    pending.look = true
    if (++pending.tries > MAX_TRIES) {
      pending.reject(new Refusal('quota_exhausted', 'the trace is being changed by too many others; retry later'))
      return
    }
    this.#again(pending, pauseMs)
  }

  /** Answers operations that met this error, or would, or hands them on to be tried again. */
  async fail(batch: readonly Pending[], error: unknown): Promise<void> {
    const failure = classifyFailure(error)
    if (failure === 'retry' || isUniqueViolation(error)) {
      for (const pending of batch) this.#tryAgain(pending, 0)
      return
    }
    if (failure === 'bug') {
      await this.#isolate(batch, error)
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

  /** An error that belongs to one operation must not fail its neighbours: halves are tried until it stands alone. */
  async #isolate(batch: readonly Pending[], error: unknown): Promise<void> {
    if (batch.length === 1) {
      batch[0]?.reject(error)
      return
    }
    const middle = Math.ceil(batch.length / 2)
    for (const half of [batch.slice(0, middle), batch.slice(middle)]) await this.process(half)
  }
}
