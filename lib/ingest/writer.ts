/**
 * One lane of the write path: takes a batch, looks where a decision needs it, decides, writes one statement, answers.
 *
 * An operation is tried until it is decided. It looks before it writes if it is an append or an end, if an earlier
 * attempt did not take, or if the outcome of an earlier attempt is unknown because the connection went away: then the
 * number that the attempt would have left on the row tells whether it took.
 */
import { classifyFailure, isReadOnlyRefusal, isUniqueViolation, isUnreachable } from '../database/failure.ts'
import type { Pool } from '../database/pool.ts'
import { UNASSIGNED } from '../environment.ts'
import { Refusal } from '../errors.ts'
import type { Logger } from '../log.ts'
import { isUsedUp } from '../store/accounts.ts'
import { type TrialCharge, writeBatch } from '../store/batch.ts'
import type { CopyRows } from '../store/copy-batch.ts'
import { TraceNumbers } from '../store/trace-numbers.ts'
import { type Look, readTraceStates } from '../store/trace-state.ts'
import { type ByKey, type Decision, decide, type TraceState } from '../trace/decide.ts'
import type { PreparedAppend, PreparedEnd } from '../trace/prepared.ts'
import { changedState } from '../trace/state-after.ts'
import { Copier, type OpenCopy } from './copier.ts'
import type { Queued } from './queue.ts'
import { type ReadyRecord, type ReadySpans, renderAsText, renderSpansAsText } from './ready.ts'
import type { Remembered } from './remembered.ts'
import { BatchRows } from './rows.ts'

/** An operation under way. */
export interface Pending extends Queued {
  readonly projectId: number
  readonly traceId: string
  /** Stamped on recorded traces. */
  readonly keyId: string | null
  readonly environment: string | null
  readonly operation: ReadyRecord | (PreparedAppend & ByKey) | (PreparedEnd & ByKey) | (ReadySpans & ByKey)
  /** What it was made of. */
  readonly body: Uint8Array
  /** Set where a new trace is charged to a trial account; such an operation is a batch by itself. */
  readonly charge: TrialCharge | undefined
  /** The state must be read before deciding. */
  look: boolean
  /** Numbers of attempts that may have taken, and what was decided for the last of them. */
  attempts: number[]
  decision: Decision | undefined
  /** How often it was sent back in line. */
  tries: number
  /** When the connection went away during it, in ms of performance.now(). */
  lostSince: number | undefined
  /** Answered, by resolve or reject. */
  settled: boolean
  resolve(decision: Decision): void
  reject(error: unknown): void
}

/** What becomes of an operation that was neither answered nor failed: tried again, at once or after a pause. */
export type Again = (pending: Pending, pauseMs: number) => void

/**
 * New traces in a batch that others keep from being copied go by the statement with these, which saves a commit. But to
 * make their text is to prepare them again, on this thread, which took 0.35 s where 2 MiB had many keys: of more bytes than
 * this, those that are new are found out first, and copied.
 */
const MAX_TEXT_BYTES = 64 * 1024
/** How long the outcome of a lost attempt is looked for before the client is told to send again. */
const LOST_LIMIT_MS = 5000
const PAUSE_MS = 50
/** An operation whose trace changed under it this often is given up. */
const MAX_TRIES = 1000

export class Writer {
  readonly #pool: Pool
  readonly #copier: Copier
  readonly #slot: number
  readonly #remembered: Remembered
  readonly #again: Again
  readonly #log: Logger
  readonly #numbers = new TraceNumbers()

  /** `slot`: the slot of project_totals that this writer alone should use. */
  constructor(pool: Pool, openCopy: OpenCopy, slot: number, remembered: Remembered, again: Again, log: Logger) {
    this.#pool = pool
    this.#copier = new Copier(openCopy, slot, log)
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

  close(): void {
    this.#copier.close()
  }

  async #decideAndWrite(batch: readonly Pending[]): Promise<void> {
    if (batch.every(isNew)) {
      if (this.#copier.isNext() && (await this.#copyAll(batch))) return
      if (isLarge(batch)) for (const pending of batch) pending.look = true
    }
    const known: Decided[] = []
    const unknown: Pending[] = []
    for (const pending of batch) {
      const each = pending.look ? this.#recall(pending) : { pending, state: undefined, decision: INSERT }
      if (each === undefined) unknown.push(pending)
      else known.push(each)
    }
    const decided = await this.#copyLarge([...known, ...(await this.#look(unknown))])
    if (decided.length === 0) return
    const taken = await this.#pool.run(async sql => {
      await this.#numbers.refill(sql, decided.length)
      const rows = new BatchRows()
      const ingestedAt = new Date().toISOString()
      for (const each of decided) this.#addRows(rows, each, ingestedAt)
      const [first] = decided
      const charge = first?.decision.kind === 'insert' ? first.pending.charge : undefined
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
    return decision?.kind === 'change' ? { pending, state, decision } : undefined
  }

  /** Remembers what this process knows all of: a trace that it recorded, and has changed by what it remembered of it. */
  #remember({ pending, state, decision }: Decided): void {
    const { place, attempts, environment, body } = pending
    const version = attempts.at(-1) as number
    if (decision.kind === 'insert') {
      const started = recordOf(pending)?.started
      if (started === undefined) return
      const stamp = { seq: version, version, environment: environment ?? UNASSIGNED }
      this.#remembered.start(place, { ...started, ...stamp }, body.byteLength)
    } else if (decision.kind === 'change') {
      const isKnown = state !== undefined && state === this.#remembered.get(place)
      if (isKnown && decision.change.ending === undefined)
        this.#remembered.change(place, changedState(state, decision.change, version))
      else this.#remembered.forget(place)
    }
  }

  /** Copies new traces; false: nothing was written, and the statement must sort out why. */
  async #copyAll(batch: readonly Pending[]): Promise<boolean> {
    if (!(await this.#copier.isReady())) return false
    if (!this.#numbers.has(batch.length)) await this.#pool.run(sql => this.#numbers.refill(sql, batch.length))
    const ingestedAt = new Date().toISOString()
    const traces = batch.map(pending => {
      const { projectId, environment, keyId } = pending
      const { estimatedBytes, copy } = recordOf(pending) as Copied
      pending.decision = INSERT
      return { projectId, environment, keyId, seq: this.#numberOf(pending), ingestedAt, estimatedBytes, rows: copy }
    })
    if (!(await this.#copier.write(traces))) return false
    for (const pending of batch) {
      this.#remember({ pending, state: undefined, decision: INSERT })
      pending.resolve(INSERT)
    }
    return true
  }

  /** Copies the new ones of these traces where they are large, and gives what is left to write. */
  async #copyLarge(decided: readonly Decided[]): Promise<readonly Decided[]> {
    const fresh = decided.filter(isCopyable)
    if (!this.#copier.isPossible || !isLarge(fresh.map(({ pending }) => pending))) return decided
    const isCopied = await this.#copyAll(fresh.map(({ pending }) => pending))
    return isCopied ? decided.filter(each => !isCopyable(each)) : decided
  }

  /** The same number at every attempt: whichever of them takes, it leaves one row. */
  #numberOf(pending: Pending): number {
    const seq = pending.attempts[0] ?? this.#numbers.take()
    pending.attempts = [seq]
    return seq
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
      if (WRITTEN.includes(decision.kind)) toWrite.push({ pending, state, decision })
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
    const { projectId, operation } = pending
    if (state !== undefined && (decision.kind === 'change' || decision.kind === 'grow')) {
      const version = this.#numbers.take()
      pending.attempts.push(version)
      const target = { projectId, seq: state.seq, oldVersion: state.version, version }
      if (decision.kind === 'change') rows.change(target, decision.change)
      else rows.grow(target, decision.growth, decision.added)
    } else if (operation.operation === 'record' || operation.operation === 'export') {
      const { environment, keyId, body } = pending
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

const INSERT: Decision = { kind: 'insert' }

type Copied = ReadyRecord & { readonly copy: CopyRows }

/** The trace that an operation makes where there is none yet. */
function recordOf({ operation }: Pending): ReadyRecord | undefined {
  if (operation.operation === 'export') return operation.first
  return operation.operation === 'record' ? operation : undefined
}

/** A new trace whose rows are ready for COPY, which nobody has tried to write yet. */
const isNew = (pending: Pending): boolean => !pending.look && recordOf(pending)?.copy !== undefined

const isCopyable = ({ pending, decision }: Decided): boolean =>
  decision.kind === 'insert' && pending.charge === undefined && recordOf(pending)?.copy !== undefined

const isLarge = (batch: readonly Pending[]): boolean =>
  batch.reduce((sum, { bytes }) => sum + bytes, 0) > MAX_TEXT_BYTES

const WRITTEN: readonly Decision['kind'][] = ['insert', 'change', 'grow']

interface Decided {
  readonly pending: Pending
  readonly state: TraceState | undefined
  readonly decision: Decision
}

function lookOf({ projectId, traceId, operation }: Pending): Look {
  const spanIds = operation.operation === 'record' ? [] : operation.spans.map(span => span.id)
  const { operation: kind } = operation
  return { projectId, traceId, spanIds, detail: kind === 'end' || kind === 'export' ? kind : 'none' }
}

/** Whether an earlier attempt left its number on the row: an insert as the row's own, a change as its version. */
const isOurs = ({ attempts }: Pending, { seq, version }: TraceState): boolean =>
  attempts.includes(seq) || attempts.includes(version)

function trialLimitReached({ limit }: TrialCharge): Decision {
  const message = `the trial account has recorded its ${limit} traces; nothing more can be recorded with it`
  return { kind: 'refused', code: 'trial_limit_reached', message }
}

function refusalMessage(pending: Pending): string {
  const unknown = pending.lostSince !== undefined && pending.attempts.length > 0
  return unknown
    ? 'the database went away during the write; send the same request again to learn its outcome'
    : 'the database refused the write; nothing was stored; retry later'
}
