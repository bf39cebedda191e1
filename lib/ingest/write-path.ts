/**
 * The write path. A body is admitted, made ready (lib/threads/body-threads.ts), queued behind others of its trace, and
 * written in a batch by whichever lane is free. Requests that arrive while a lane is writing form its next batch, unless
 * there are many or it takes long, when another lane takes them: group commit in which nobody waits for others to come. 2xx
 * means committed and readable.
 */

import type { Principal } from '../access/principal.ts'
import { CopyConnection } from '../database/copy-connection.ts'
import type { Database } from '../database/database.ts'
import { Pool } from '../database/pool.ts'
import { Refusal } from '../errors.ts'
import { Admission } from '../limits/admission.ts'
import { Gate } from '../limits/gate.ts'
import { parallelismOf } from '../limits/parallelism.ts'
import type { Logger } from '../log.ts'
import { Metrics } from '../metrics.ts'
import type { OtlpEncoding } from '../otlp/wire/request.ts'
import { type CutOptions, RankingCuts } from '../store/rankings/ranking-cuts.ts'
import { Statistics } from '../store/write/statistics.ts'
import { BodyThreads } from '../threads/body-threads.ts'
import type { Parsed, ParsedName } from '../threads/parsing.ts'
import type {
  Ready,
  ReadyAppend,
  ReadyEnd,
  ReadyExport,
  ReadyRecord,
  ReadySpans,
  ReadyValue,
  TaskName
} from '../threads/ready.ts'
import type { Decision } from '../trace/states/decide.ts'
import type { SpanRefusal } from '../trace/states/decide-export.ts'
import { ExportOutcome } from './export-outcome.ts'
import type { Appended, Ended, Exported, Ingest, Recorded } from './ingest.ts'
import { Packing } from './packing.ts'
import { needsLook, type Operation, type Pending } from './pending.ts'
import { Queue } from './queue.ts'
import { Resends } from './resends.ts'
import { RunningTraces } from './running-traces.ts'
import { Writer } from './writer.ts'

export interface IngestOptions {
  /** Worker threads that prepare large bodies. */
  readonly workers: number
  /** Traces that a trial account may record; undefined: trial mode is off. */
  readonly trialTraces: number | undefined
  /** When rankings are cut, and to what. */
  readonly cuts?: CutOptions
}

/** Bounds of one batch; bytes are those of the bodies. More gains nothing (test/bench/RESULTS.md, "Size of batches"). */
const BATCH = { operations: 64, bytes: 2 * 1024 * 1024 }
/**
 * What arrives while one lane writes waits for it, and is its next batch: fewer commits. Another lane is started when so many
 * operations wait, or when the first lane takes longer (test/bench/RESULTS.md, "Size of batches").
 */
const GATHER = { operations: 16, ms: 4 }
const UNBOUNDED = { operations: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY }
/** Bounds of everything admitted and not yet answered; beyond them, 429 before the body is read. */
const PENDING = { requests: 4096, bytes: 192 * 1024 * 1024 }
/**
 * Bodies, in bytes, that are being prepared or are prepared and not yet written: their rows take two to three times the
 * room of the bodies, which wait as they came. Many times what two lanes write at once.
 */
const MAX_PREPARED_BYTES = 8 * 1024 * 1024
/** A write that takes longer is undone by the server, and refused. */
const STATEMENT_TIMEOUT_MS = 30_000
/**
 * The few statements of the write path are planned once a connection, not at every execution: the rows come from arrays,
 * and there is nothing that a plan made for their values would do better. A plan made for a few rows is kept when there are
 * many, so no table is scanned, however small it is (lib/store/write/statistics.ts). work_mem holds the rows of a batch.
 */
const SETTINGS = { plan_cache_mode: 'force_generic_plan', enable_seqscan: 'off', work_mem: '32MB' }
/** Slots of project_totals, but for slot 0: each lane counts in one of its own, so that lanes do not wait for a row. */
const SLOTS = 62

type Done = Exclude<Decision, { type: 'refused' }>
/** Who writes, as far as it is written down; nobody's key restores. */
type Author = Pick<Principal, 'projectId' | 'environment' | 'trialAccountId'> & { readonly keyId: string | null }

export class WritePath implements Ingest {
  readonly #threads: BodyThreads
  readonly #queue = new Queue<Pending>()
  readonly #admission = new Admission(PENDING)
  readonly #packing = new Packing(this.#admission)
  readonly #gate = new Gate(MAX_PREPARED_BYTES)
  readonly #parseGate = new Gate(MAX_PREPARED_BYTES)
  readonly #pool: Pool
  readonly #resends: Resends
  readonly #writers: readonly Writer[]
  readonly #idle: Writer[]
  readonly #trialTraces: number | undefined
  readonly #metrics: Metrics
  readonly #statistics: Statistics
  readonly #cuts: RankingCuts
  #scheduled = false
  /** When the lanes that are at work began their batches. */
  readonly #began = new Map<Writer, number>()
  #gathering: NodeJS.Timeout | undefined
  #onEmpty: (() => void) | undefined

  constructor(database: Database, options: IngestOptions, log: Logger, metrics = new Metrics()) {
    this.#threads = new BodyThreads(options.workers, log)
    this.#trialTraces = options.trialTraces
    this.#metrics = metrics
    this.#statistics = new Statistics(database, log)
    this.#cuts = new RankingCuts(database, log, options.cuts)
    metrics.watchPending(() => this.#admission)
    const connection = { applicationName: 'writer', statementTimeoutMs: STATEMENT_TIMEOUT_MS, settings: SETTINGS }
    const connect = (onClose: () => void) => database.connect({ ...connection, onClose })
    const { lanes } = parallelismOf()
    this.#pool = new Pool(connect, { size: lanes, statementTimeoutMs: STATEMENT_TIMEOUT_MS })
    this.#resends = new Resends(this.#pool)
    const openCopy = () => CopyConnection.open(database.connect, connection)
    const running = new RunningTraces()
    const { floors } = this.#cuts
    const first = Math.floor(Math.random() * SLOTS)
    const again = (pending: Pending, pauseMs: number) => this.#tryAgain(pending, pauseMs)
    this.#writers = Array.from({ length: lanes }, (_, lane) => {
      const slot = 1 + ((first + lane) % SLOTS)
      return new Writer(this.#pool, openCopy, { slot, running, floors, again }, log)
    })
    this.#idle = [...this.#writers]
  }

  async record(key: Principal, body: Uint8Array): Promise<Recorded> {
    const name = this.#resends.keyOf(key.projectId, body)
    const known = name && (await this.#resends.find(key.projectId, name))
    if (known) return known
    return this.#whenReady('record', body, key, async ready => {
      const record = ready as ReadyRecord
      const answer = recorded(record, await this.#submit(key, record.traceId, record, body.byteLength))
      if (name !== undefined) this.#resends.remember(name, record)
      return answer
    })
  }

  append(key: Principal, traceId: string, body: Uint8Array): Promise<Appended> {
    return this.#whenReady('append', body, key, async ready => {
      const operation = { ...(ready as ReadyAppend), environment: key.environment }
      const decision = ofChange(await this.#submit(key, traceId, operation, body.byteLength))
      const added = decision.type === 'change' ? decision.added : 0
      return { traceId, added, duplicate: decision.duplicate, spanCount: spanCountAfter(decision) }
    })
  }

  end(key: Principal, traceId: string, body: Uint8Array): Promise<Ended> {
    return this.#whenReady('end', body, key, async ready => {
      const operation = { ...(ready as ReadyEnd), environment: key.environment }
      const decision = ofChange(await this.#submit(key, traceId, operation, body.byteLength))
      return { traceId, duplicate: decision.type === 'duplicate', spanCount: spanCountAfter(decision) }
    })
  }

  async export(key: Principal, body: Uint8Array, encoding: OtlpEncoding): Promise<Exported> {
    const outcome = new ExportOutcome()
    const write = async (operation: TaskName, part: Uint8Array) =>
      this.#whenReady(operation, part, key, async ready => {
        const { traces, portions, refusals } = ready as ReadyExport
        const bytes = part.byteLength / traces.length
        await outcome.write(traces, refusals, trace => this.#exportTrace(key, trace, bytes))
        return portions
      })
    for (const portion of await write(`export-${encoding}`, body)) await write('export-portion', portion)
    return outcome.exported
  }

  /** Gives the refusals of a trace's spans. */
  async #exportTrace(key: Principal, trace: ReadySpans, bytes: number): Promise<readonly SpanRefusal[]> {
    if (trace.first === undefined) return trace.refusals
    const operation = { ...trace, environment: key.environment }
    const decision = await this.#submit(key, trace.traceId, operation, bytes)
    if (decision.type === 'insert') return trace.refusals
    return ('refusals' in decision && decision.refusals) || []
  }

  /**
   * Stores a trace as a line of an export shows it, with the past that it has behind it, and charges nobody. Its id decides
   * as it does for `record`: what is there is never changed.
   */
  restore(projectId: number, line: Uint8Array): Promise<Recorded> {
    const nobody = { projectId, keyId: null, environment: null, trialAccountId: null }
    return this.#whenReady('restore', line, nobody, async ready => {
      const record = ready as ReadyRecord
      return recorded(record, await this.#submit(nobody, record.traceId, record, line.byteLength))
    })
  }

  async parse<K extends ParsedName>(name: K, body: Uint8Array): Promise<Parsed[K]> {
    await this.#parseGate.enter(body.byteLength)
    try {
      const ready = await this.#threads.makeReady({ operation: name, body, environment: null, hurries: false })
      return (ready as ReadyValue).value as Parsed[K]
    } finally {
      this.#parseGate.leave(body.byteLength)
    }
  }

  admit(bytes: number, requests?: number): { release(): void } {
    return this.#admission.admit(bytes, requests)
  }

  async close(): Promise<void> {
    if (!this.#queue.isEmpty) {
      await new Promise<void>(resolve => {
        this.#onEmpty = resolve
      })
    }
    this.#statistics.close()
    this.#cuts.close()
    await this.#threads.close()
    for (const writer of this.#writers) writer.close()
    await this.#pool.end()
  }

  /** Prepares a body once there is room for its rows, which is given back when `write` is done with them. */
  async #whenReady<T>(
    operation: TaskName,
    body: Uint8Array,
    { environment }: Author,
    write: (ready: Ready) => Promise<T>
  ): Promise<T> {
    await this.#gate.enter(body.byteLength)
    try {
      const hurries = this.#packing.hurries(body.byteLength)
      return await write(await this.#threads.makeReady({ operation, body, environment, hurries }))
    } finally {
      this.#gate.leave(body.byteLength)
    }
  }

  #isCharged({ trialAccountId }: Author): boolean {
    return trialAccountId !== null && this.#trialTraces !== undefined
  }

  /** Queues an operation of a body of so many bytes; resolves with its decision once that is committed, or throws a Refusal. */
  #submit(key: Author, traceId: string, operation: Operation, bytes: number): Promise<Done> {
    const makesTrace = operation.operation === 'record' || operation.operation === 'export'
    const charge =
      makesTrace && this.#isCharged(key)
        ? { accountId: key.trialAccountId as number, limit: this.#trialTraces as number }
        : undefined
    return new Promise((resolve, reject) => {
      const pending: Pending = {
        key: `${key.projectId}/${traceId}`,
        bytes,
        alone: charge !== undefined,
        projectId: key.projectId,
        traceId,
        keyId: key.keyId,
        environment: key.environment,
        operation,
        charge,
        look: charge !== undefined || needsLook(operation),
        attempts: [],
        decision: undefined,
        tries: 0,
        lostSince: undefined,
        settled: false,
        resolve: decision => {
          this.#settled(pending)
          if (decision.type === 'refused') reject(new Refusal(decision.code, decision.message))
          else resolve(decision)
        },
        reject: error => {
          this.#settled(pending)
          reject(error)
        }
      }
      this.#queue.add(pending)
      this.#schedule()
    })
  }

  /** Starts idle lanes once the requests that arrived together have all been queued. */
  #schedule(): void {
    if (this.#scheduled || this.#idle.length === 0) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      while (this.#idle.length > 0 && this.#queue.runnable > 0 && !this.#waitForLane()) {
        void this.#run(this.#idle.pop() as Writer)
      }
    })
  }

  /** Whether what is ready had better wait for the lane that is at work; if so, it is looked at again in good time. */
  #waitForLane(): boolean {
    if (this.#began.size === 0 || this.#queue.runnable >= GATHER.operations) return false
    const leftMs = Math.min(...this.#began.values()) + GATHER.ms - performance.now()
    if (leftMs <= 0) return false
    this.#gathering ??= setTimeout(() => {
      this.#gathering = undefined
      this.#schedule()
    }, leftMs)
    return true
  }

  async #run(writer: Writer): Promise<void> {
    while (this.#queue.runnable > 0) {
      const batch = this.#queue.take(BATCH)
      const start = performance.now()
      this.#began.set(writer, start)
      const unreachable = await writer.process(batch)
      this.#metrics.countBatch(batch.length, performance.now() - start)
      if (unreachable === undefined) this.#count(batch)
      else await this.#failQueued(writer, unreachable)
    }
    this.#began.delete(writer)
    this.#idle.push(writer)
  }

  #count(batch: readonly Pending[]): void {
    this.#statistics.count(batch.length)
    for (const { projectId } of batch) this.#cuts.count(projectId, 1)
  }

  /** What waits behind a batch for which there was no connection does not wait for another attempt, each of which takes seconds. */
  async #failQueued(writer: Writer, error: unknown): Promise<void> {
    while (this.#queue.runnable > 0) await writer.fail(this.#queue.take(UNBOUNDED), error)
  }

  /** Puts an operation back into the queue; its trace stays locked by it, so that nothing overtakes it there. */
  #tryAgain(pending: Pending, pauseMs: number): void {
    if (pauseMs === 0) {
      this.#queue.retry(pending)
      this.#schedule()
    } else {
      setTimeout(() => this.#tryAgain(pending, 0), pauseMs)
    }
  }

  #settled(pending: Pending): void {
    pending.settled = true
    this.#queue.release(pending)
    if (this.#queue.runnable > 0) this.#schedule()
    if (this.#queue.isEmpty) this.#onEmpty?.()
  }
}

/** Of an append or an end: neither makes a trace. */
function ofChange(decision: Done): Extract<Done, { type: 'change' | 'duplicate' }> {
  if (decision.type === 'change' || decision.type === 'duplicate') return decision
  throw new Error(`an append or end was decided as ${decision.type}`)
}

const spanCountAfter = (decision: ReturnType<typeof ofChange>): number =>
  decision.type === 'change' ? decision.change.spanCount : decision.spanCount

const recorded = (record: ReadyRecord, decision: Done): Recorded => ({
  traceId: record.traceId,
  spanCount: decision.type === 'duplicate' ? decision.spanCount : record.spanCount,
  duplicate: decision.type === 'duplicate',
  running: record.running
})
