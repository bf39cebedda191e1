/**
 * Implements one lane of the write path. A lane takes a batch of operations, reads the stored states that the decisions
 * need, decides each operation (lib/trace/states/decide.ts), writes all decisions in one transaction
 * (lib/store/write/copy-batch.ts), and answers the operations.
 *
 * PostgreSQL rolls back the transaction if a stored trace is not in the assumed state. The lane then reads the whole
 * batch's states and decides again. Resends come in bursts, so the lane also reads the stored states for the next few
 * batches before writing.
 *
 * If the connection breaks during a write, the lane cannot know whether PostgreSQL committed it. Every write therefore
 * puts a unique number into the trace's row, and the lane reads the row to find out.
 */

import {
  classifyFailure,
  hasMoved,
  isLockTimeout,
  isReadOnlyRefusal,
  isUniqueViolation,
  isUnreachable
} from '../database/failure.ts'
import type { Pool } from '../database/pool.ts'
import { type Host, nameOf } from '../database/sockets/address.ts'
import { Refusal } from '../errors.ts'
import type { FailureLog } from '../failure-log.ts'
import type { Logger } from '../log.ts'
import type { SpanRows } from '../rows/copy-rows.ts'
import { isUsedUp } from '../store/projects/accounts.ts'
import type { KnownFloors } from '../store/rankings/known-floors.ts'
import type { SearchedProjects } from '../store/search/searched-projects.ts'
import { type ChangedTrace, changedTrace } from '../store/write/changes.ts'
import { type Batch, CopyBatches, type RecordedTrace } from '../store/write/copy-batch.ts'
import type { Homes } from '../store/write/homes.ts'
import { BY_ADDRESS, type RouteNews, type WriteRoute } from '../store/write/route.ts'
import { TraceNumbers } from '../store/write/trace-numbers.ts'
import { readStatesByProject, readTraceStates } from '../store/write/trace-state.ts'
import { UNASSIGNED } from '../trace/environment.ts'
import { type Decision, decide, type TraceState } from '../trace/states/decide.ts'
import type { Growth } from '../trace/states/gathered.ts'
import { changedState, grownState, type KeptState } from '../trace/states/state-after.ts'
import { addedScores, countedSpans, rowsOf } from './added-rows.ts'
import { Copier, type CopyServer } from './copier.ts'
import {
  type Decided,
  isOurs,
  isWrite,
  lookOf,
  type Pending,
  recordOf,
  refusalMessage,
  trialLimitReached
} from './pending.ts'
import type { StateCache } from './state-cache.ts'

/** Returns an unanswered operation to the queue, immediately or after a pause. */
export type Again = (pending: Pending, pauseMs: number) => void

/**
 * Maximum time spent finding out the outcome of a write whose connection broke. After that, the client is asked to
 * resend the request.
 */
const LOST_LIMIT_MS = 5000
/** Pause before each check of the outcome of a lost write. */
const PAUSE_MS = 50
/** Maximum number of tries for an operation whose trace keeps changing. After that, the operation is rejected. */
const MAX_TRIES = 1000
/**
 * Pause and maximum number of tries while an operation's tables are being moved. Together with lock timeouts, the tries
 * span half a minute.
 */
const HELD_PAUSE_MS = 300
const MAX_HELD_TRIES = 60
/** Number of batches whose states are read before writing, after a stored trace was not in the assumed state. */
const LOOKS_AFTER_CONFLICT = 8

export interface WriterOptions {
  /** The project_totals row that this writer updates. Each writer has its own row. */
  readonly slot: number
  readonly routes: RouteNews
  readonly running: StateCache
  readonly floors: KnownFloors
  readonly searched: SearchedProjects
  readonly again: Again
  /** The log of rejected batches, shared by all lanes. */
  readonly failures: Pick<FailureLog, 'fail'>
  /** Logs faults in spoor itself, one line per fault. */
  readonly log: Logger
}

export class Writer {
  readonly #pool: Pool
  readonly #serverOf: (host: Host | undefined) => CopyServer
  readonly #slot: number
  readonly #batches: CopyBatches
  /** Copiers by server address. The key `undefined` stands for the database's own address. */
  readonly #copiers = new Map<string | undefined, Copier>()
  readonly #routes: WriterOptions['routes']
  readonly #running: StateCache
  readonly #searched: SearchedProjects
  readonly #again: Again
  readonly #failures: WriterOptions['failures']
  readonly #log: Logger
  readonly #numbers = new TraceNumbers()
  /** Number of upcoming batches for which all states are read before the write. */
  #looks = 0

  /** `serverOf` returns the server at an address; without an address, the database's own server. */
  constructor(pool: Pool, serverOf: (host?: Host) => CopyServer, options: WriterOptions) {
    this.#pool = pool
    this.#serverOf = serverOf
    this.#slot = options.slot
    this.#batches = new CopyBatches(options.floors)
    this.#routes = options.routes
    this.#running = options.running
    this.#searched = options.searched
    this.#again = options.again
    this.#failures = options.failures
    this.#log = options.log
  }

  /**
   * Answers every operation in the batch or returns it to the queue. Never rejects. Resolves to the error if the
   * database was unreachable, and to undefined otherwise. All operations share `route`.
   */
  async process(batch: readonly Pending[], route = BY_ADDRESS): Promise<unknown> {
    try {
      const undone = await this.#decideAndWrite(batch, route)
      if (undone.length === 0) return undefined
      this.#looks = LOOKS_AFTER_CONFLICT
      for (const pending of undone) this.#doubt(pending)
      const again = await this.#decideAndWrite(undone, route)
      // Other writes are changing some of these traces right now. Halving isolates the contended trace, so that the
      // rest of the batch need not wait.
      if (again.length === 1) this.#tryAgain(again[0] as Pending, 0)
      else await this.#inHalves(again, route)
      return undefined
    } catch (error) {
      const open = batch.filter(pending => !pending.settled)
      if (this.#leavesRoute(route, error)) {
        for (const pending of open) this.#again(pending, 0)
        return undefined
      }
      if (route.homes !== undefined && isLockTimeout(error)) {
        await this.#homeByHome(open, route.homes, route, error)
        return undefined
      }
      await this.fail(open, error, route)
      return isUnreachable(error) ? error : undefined
    }
  }

  /**
   * Reports a server error to the routes. Returns true if nothing was written and the batch must take another route,
   * because tables have moved or the server was unreachable.
   */
  #leavesRoute({ host }: WriteRoute, error: unknown): boolean {
    if (host === undefined) return false
    if (hasMoved(error)) {
      this.#routes.forget()
      return true
    }
    if (isUnreachable(error) || classifyFailure(error) === 'lost') this.#routes.avoid(host, error)
    return isUnreachable(error)
  }

  /**
   * Delays operations on a home whose tables are being moved, and writes the other homes' operations. A move may take
   * minutes, and no lane may wait that long.
   */
  async #homeByHome(batch: readonly Pending[], homes: Homes, route: WriteRoute, error: unknown): Promise<void> {
    const byHome = new Map<number, Pending[]>()
    for (const pending of batch) {
      const { id } = homes.of(pending.projectId)
      byHome.set(id, [...(byHome.get(id) ?? []), pending])
    }
    if (byHome.size > 1) {
      for (const own of byHome.values()) await this.process(own, route)
      return
    }
    for (const id of byHome.keys()) this.#routes.hold(id)
    for (const pending of batch) {
      if (pending.tries < MAX_HELD_TRIES) this.#tryAgain(pending, HELD_PAUSE_MS)
      else await this.fail([pending], error, route)
    }
  }

  /** Uses the COPY connection to run a statement that returns no rows. No batch may be in flight. */
  check(statement: string): Promise<void> {
    return this.#copierOf(undefined).check(statement)
  }

  close(): void {
    for (const copier of this.#copiers.values()) copier.close()
  }

  #copierOf(host: Host | undefined): Copier {
    const key = host && nameOf(host)
    const copier = this.#copiers.get(key) ?? new Copier(this.#serverOf(host), this.#slot, this.#batches)
    this.#copiers.set(key, copier)
    return copier
  }

  /**
   * Decides and writes a batch. Returns the operations that were rolled back because a stored trace was not in the
   * assumed state.
   */
  async #decideAndWrite(batch: readonly Pending[], { host, homes }: WriteRoute): Promise<readonly Pending[]> {
    const decided = await this.#decide(batch, host === undefined ? readTraceStates : readStatesByProject)
    if (decided.length === 0) return []
    if (!this.#numbers.has(decided.length)) {
      await this.#pool.run(sql => this.#numbers.refill(sql, decided.length))
    }
    if (this.#searched.isStale) await this.#pool.run(sql => this.#searched.read(sql))
    const { whole, ...parts } = this.#batchOf(decided)
    if (whole.length === 0) return []
    const isWritten = await this.#copierOf(host).write({ ...parts, homes })
    if (!isWritten) return whole.map(({ pending }) => pending)
    for (const each of whole) {
      this.#remember(each)
      each.pending.resolve(each.decision)
    }
    return []
  }

  /** Decides all operations, answers the operations that need no write, and returns the rest. */
  async #decide(batch: readonly Pending[], read: typeof readTraceStates): Promise<Decided[]> {
    const looksAtAll = this.#looks > 0
    if (looksAtAll) this.#looks--
    const known: Decided[] = []
    const unknown: Pending[] = []
    for (const pending of batch) {
      const each = looksAtAll ? undefined : this.#decideAtOnce(pending)
      if (each === undefined) unknown.push(pending)
      else known.push(each)
    }
    return unknown.length === 0 ? known : [...known, ...(await this.#look(unknown, read))]
  }

  /** Decides without reading the database. Returns undefined if the stored state must be read first. */
  #decideAtOnce(pending: Pending): Decided | undefined {
    // A cached state holds only the data that appends, ends and exports need.
    const isKnown = pending.tries === 0 && pending.operation.operation !== 'record'
    const state = isKnown ? this.#running.get(pending.key) : undefined
    if (state === undefined) {
      return pending.look ? undefined : { pending, state, decision: { type: 'insert' } }
    }
    const decision = decide(state, pending.operation)
    return decision.type === 'change' || decision.type === 'grow' ? { pending, state, decision } : undefined
  }

  #doubt(pending: Pending): void {
    pending.look = true
    this.#running.forget(pending.key)
  }

  /**
   * Reads the operations' stored states, decides all operations, answers the operations that need no write, and returns
   * the rest.
   *
   * The trial account's usage is read first. If another process has just recorded this trace and thereby used up the
   * account, the later read finds the trace. A charged operation is always a separate batch.
   */
  async #look(looking: readonly Pending[], read: typeof readTraceStates): Promise<Decided[]> {
    const usedUp = await this.#refuseCharge(looking[0] as Pending)
    const states = await this.#pool.run(sql => read(sql, looking.map(lookOf)))
    const toWrite: Decided[] = []
    for (const [i, pending] of looking.entries()) {
      const state = states[i]
      // The trace's state was read only because of earlier resends, and this operation is a resend too, so keep reading
      // states.
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

  /** Rejects a new trace of a used-up trial account. This limit precedes the size limit, which decide() checks. */
  async #refuseCharge({ charge }: Pending): Promise<Decision | undefined> {
    if (charge === undefined) return undefined
    return (await this.#pool.run(sql => isUsedUp(sql, charge))) ? trialLimitReached(charge) : undefined
  }

  /** Builds the batch to write. `whole` holds the operations that the batch writes. The rest are answered. */
  #batchOf(decided: readonly Decided[]): Batch & { readonly whole: readonly Decided[] } {
    const ingestedAt = new Date().toISOString()
    const traces: RecordedTrace[] = []
    const changed: ChangedTrace[] = []
    const whole: Decided[] = []
    for (const each of decided) {
      const { pending, state, decision } = each
      const rows = rowsOf(each)
      const spans = countedSpans(pending, decision)
      if ((rows?.spans.length ?? 0) !== spans) {
        this.#refuseShort(pending, spans, rows)
        continue
      }
      whole.push(each)
      pending.decision = decision
      if (state === undefined || decision.type === 'insert') traces.push(this.#recorded(pending, ingestedAt))
      else if (decision.type === 'change') changed.push(this.#changed(pending, state, decision.change, rows))
      else if (decision.type === 'advance') {
        const { advance } = decision
        const scores = addedScores(pending, advance.scores)
        changed.push({ ...this.#changed(pending, state, advance, rows), scores })
      } else changed.push({ ...this.#changed(pending, state, decision.growth, rows), removed: decision.removed })
    }
    const indexed = [
      ...traces.map(({ projectId, seq }) => ({ projectId, seq, version: seq })),
      ...changed.map(({ projectId, seq, changed: { version } }) => ({ projectId, seq, version }))
    ].filter(({ projectId }) => this.#searched.has(projectId))
    return { whole, traces, changed, indexed, charge: traces.length === 1 ? whole[0]?.pending.charge : undefined }
  }

  /**
   * Answers an operation whose row count differs from its decision's span count. Only a bug causes a mismatch. Writing
   * the operation anyway would acknowledge spans that are then lost. Exporters retry after a 503.
   */
  #refuseShort({ projectId, traceId, operation, reject }: Pending, spans: number, rows: SpanRows | undefined): void {
    const fault = new Error(
      `expected ${spans} rows for the spans of trace ${traceId}, but got ${rows?.spans.length ?? 0}: ` +
        'nothing was written'
    )
    const isExport = operation.operation === 'export'
    this.#log.error(
      { project: projectId, operation: operation.operation, err: fault },
      'rejected a write because of a bug in spoor'
    )
    reject(isExport ? new Refusal('unavailable', 'a server error: nothing was stored; send the spans again') : fault)
  }

  #recorded(pending: Pending, now: string): RecordedTrace {
    const record = recordOf(pending)
    if (record === undefined) throw new Error(`a ${pending.operation.operation} does not create a trace`)
    const { projectId } = pending
    const own = { environment: pending.environment ?? UNASSIGNED, keyId: pending.keyId, ingestedAt: now }
    const { environment, keyId, ingestedAt } = record.copied ?? record.restored?.past ?? own
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

  /**
   * A new trace keeps the same number for all attempts, so that its row has this number regardless of which attempt
   * commits.
   */
  #numberOf(pending: Pending): number {
    const seq = pending.attempts[0] ?? this.#numbers.take()
    pending.attempts = [seq]
    return seq
  }

  /**
   * Caches a running trace's state if this process recorded the trace and decided every later change from the cached
   * state, because the cached state is then complete. Removes any other trace from the cache.
   */
  #remember({ pending, state, decision }: Decided): void {
    const { key, attempts, environment } = pending
    const version = attempts.at(-1) as number
    if (decision.type === 'insert') {
      const { operation } = pending
      const record = recordOf(pending)
      // The root span often arrives last, so a running trace nearly always gets more spans.
      const isOpen = operation.operation === 'export' && record?.running === true
      const started = isOpen ? operation.createdState : record?.started
      if (started !== undefined)
        this.#running.set(key, { seq: version, version, environment: environment ?? UNASSIGNED, ...started })
      return
    }
    // A cached state takes over the tree of the stored spans. Spans cannot be removed from that tree.
    const isLarger = decision.type === 'grow' && decision.removed.length === 0
    if (isLarger && state?.gathered !== undefined && isRemembered(decision.growth)) {
      const { growth, added } = decision
      this.#running.set(key, grownState(state as KeptState, state.gathered, growth, added, version))
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
      pending.reject(new Refusal('quota_exhausted', 'too many concurrent requests are changing the trace; retry later'))
      return
    }
    this.#again(pending, pauseMs)
  }

  /** Answers the operations affected by an error, or returns the operations to the queue. */
  async fail(batch: readonly Pending[], error: unknown, route = BY_ADDRESS): Promise<void> {
    const failure = classifyFailure(error)
    if (failure === 'retry' || isUniqueViolation(error)) {
      for (const pending of batch) this.#tryAgain(pending, 0)
      return
    }
    if (failure === 'bug') {
      if (batch.length === 1) batch[0]?.reject(error)
      else await this.#inHalves(batch, route)
      return
    }
    this.#failures.fail(error, { operations: batch.length })
    const now = performance.now()
    for (const pending of batch) {
      if (failure === 'lost') pending.lostSince ??= now
      const isOver = pending.lostSince === undefined || now - pending.lostSince >= LOST_LIMIT_MS
      if (!isOver && !isReadOnlyRefusal(error)) this.#tryAgain(pending, PAUSE_MS)
      else pending.reject(new Refusal('quota_exhausted', refusalMessage(pending)))
    }
  }

  /** Retries a batch in halves to isolate the failing operation, so that the other operations do not fail too. */
  async #inHalves(batch: readonly Pending[], route: WriteRoute): Promise<void> {
    if (batch.length === 0) return
    const middle = Math.ceil(batch.length / 2)
    for (const half of [batch.slice(0, middle), batch.slice(middle)]) await this.process(half, route)
  }
}

/**
 * Number of spans above which a complete trace's state stays cached. A complete trace rarely gets more spans, because
 * the root span often arrives last, but a long trace may.
 */
const LONG_TRACE = 200
const isRemembered = ({ status, spanCount }: Growth): boolean => status === 'running' || spanCount > LONG_TRACE
