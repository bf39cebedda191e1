/**
 * Implements the write path. A body is admitted, prepared (lib/threads/body-threads.ts), and written in a batch by a
 * lane (lib/ingest/lanes.ts). A 2xx response means that the write is committed and readable.
 */

import type { Database } from '../database/database.ts'
import { createSqlAccess, type SqlAccess } from '../database/sql-access.ts'
import { Refusal } from '../errors.ts'
import { Admission, type Room } from '../limits/admission.ts'
import { FairGate } from '../limits/fair-gate.ts'
import { parallelismOf } from '../limits/parallelism.ts'
import type { Logger } from '../log.ts'
import { Metrics } from '../metrics.ts'
import { joinPortion } from '../otlp/wire/portion.ts'
import type { OtlpEncoding } from '../otlp/wire/request.ts'
import { LARGE_BODY_BYTES } from '../schema/input.ts'
import { DEFAULT_MAX_SPANS, DEFAULT_MAX_TRACE_BYTES } from '../schema/otlp-limits.ts'
import type { Principal } from '../schema/principal.ts'
import type { CopiedTrace } from '../store/instance/stored-page.ts'
import { type CutOptions, RankingCuts } from '../store/rankings/ranking-cuts.ts'
import { addMessages } from '../store/trace/messages.ts'
import { Statistics } from '../store/write/statistics.ts'
import { FairThreads } from '../threads/fair-threads.ts'
import type {
  Ready,
  ReadyAppend,
  ReadyEnd,
  ReadyExport,
  ReadyRecord,
  ReadySpans,
  TaskName,
  Unpriced
} from '../threads/ready.ts'
import type { OwnPrice } from '../trace/prices/own.ts'
import type { Decision } from '../trace/states/decide.ts'
import type { SpanRefusal } from '../trace/states/span-refusals.ts'
import { ExportOutcome } from './exports/export-outcome.ts'
import { ExportWrite } from './exports/export-write.ts'
import type { Appended, Ended, Exported, IdleTrace, Ingest, Recorded } from './ingest.ts'
import { Lanes } from './lanes.ts'
import { Packing } from './packing.ts'
import { needsLook, type Operation, type Pending } from './pending.ts'
import { recordedBy } from './recorded.ts'
import { Resends } from './resends.ts'

export interface IngestOptions {
  /** Number of worker threads that prepare bodies. */
  readonly workers: number
  /** Maximum number of traces per trial account; undefined if trial mode is off. */
  readonly trialTraces: number | undefined
  /** Number of concurrent batches. If undefined, lib/limits/parallelism.ts decides. */
  readonly lanes?: number
  /**
   * Whether writes are answered before their commit is on disk. Only for a restore, which ends with a transaction whose
   * commit waits for the disk, so that all earlier commits are durable too. Writes that a crash undoes before then are
   * repeated when the restore continues.
   */
  readonly asyncCommit?: boolean
  /** Each worker thread's heap in MiB (lib/threads/body-threads.ts). */
  readonly heapMiB?: number
  /** Maximum number of spans in an OpenTelemetry trace; DEFAULT_MAX_SPANS by default. */
  readonly maxSpans?: number
  /** Names of OpenTelemetry attributes whose values become tags. */
  readonly tagNames?: readonly string[]
  /** Prices for calls that report no cost. If undefined, no costs are computed for such calls. */
  readonly prices?: PriceSource
  /** Size, in bytes, beyond which texts of an OpenTelemetry trace are cut; DEFAULT_MAX_TRACE_BYTES by default. */
  readonly maxTraceBytes?: number
  /** Intervals and sizes for cutting rankings (lib/store/rankings/ranking-cuts.ts). */
  readonly cuts?: CutOptions
}

/** Prices by project, and a count of the calls without a price. */
export interface PriceSource {
  /** Returns the prices that operators set for a project and for all projects. */
  ownOf(projectId: number): readonly OwnPrice[]
  countUnpriced(projectId: number, calls: Unpriced): void
}

/**
 * Bounds for all requests that are admitted but not yet answered. A request that exceeds the bounds or its project's
 * share gets a 429 response before its body is read.
 */
const PENDING = { requests: 4096, bytes: 192 * 1024 * 1024 }
/**
 * Maximum total size, in bytes, of the bodies that are being prepared or waiting to be written. Rows take several times
 * as much memory as the body they come from, so further bodies wait unprepared. The bound is twice the size of two full
 * batches.
 */
const MAX_PREPARED_BYTES = 8 * 1024 * 1024
/**
 * Maximum number of requests in flight while medium-sized bodies are prepared without a thread
 * (test/bench/RESULTS.md, "Worker threads"). Preparing an export takes longer, so more exports need a thread.
 */
const QUIET = { exports: 8, bodies: parallelismOf().quietRequests }
/** Outcome for one line of an export file. */
type Restored = 'insert' | 'advance' | 'duplicate'
type Done = Exclude<Decision, { type: 'refused' }>
/** The fields of a write's author that the write path uses. `keyId` is null if a command restores traces. */
type Author = Pick<Principal, 'projectId' | 'environment' | 'trialAccountId'> & { readonly keyId: string | null }

export class WritePath implements Ingest {
  /** Worker threads. Closing the write path closes the threads. */
  readonly threads: FairThreads
  readonly #admission = new Admission(PENDING)
  readonly #packing = new Packing(this.#admission)
  readonly #gate = new FairGate(MAX_PREPARED_BYTES)
  readonly #lanes: Lanes
  readonly #resends: Resends
  readonly #sql: SqlAccess
  readonly #trialTraces: number | undefined
  readonly #maxSpans: number
  readonly #tagNames: readonly string[] | undefined
  readonly #prices: PriceSource | undefined
  readonly #maxTraceBytes: number
  readonly #log: Logger
  readonly #metrics: Metrics
  readonly #statistics: Statistics
  readonly #cuts: RankingCuts
  constructor(database: Database, options: IngestOptions, log: Logger, metrics = new Metrics()) {
    this.threads = new FairThreads(options.workers, log, options.heapMiB)
    this.#trialTraces = options.trialTraces
    this.#maxSpans = options.maxSpans ?? DEFAULT_MAX_SPANS
    this.#tagNames = options.tagNames
    this.#prices = options.prices
    this.#maxTraceBytes = options.maxTraceBytes ?? DEFAULT_MAX_TRACE_BYTES
    this.#statistics = new Statistics(database, log)
    this.#cuts = new RankingCuts(database, log, options.cuts)
    this.#log = log
    this.#metrics = metrics
    metrics.watchPending(() => this.#admission)
    this.#lanes = new Lanes(database, {
      count: options.lanes ?? parallelismOf().lanes,
      floors: this.#cuts.floors,
      asyncCommit: options.asyncCommit,
      log,
      onBatch: (batch, ms, isTried) => {
        metrics.countBatch(batch.length, ms)
        if (!isTried) return
        this.#statistics.count(batch.length)
        for (const { projectId } of batch) this.#cuts.count(projectId, 1)
      }
    })
    this.#resends = new Resends(this.#lanes.pool, () => this.#lanes.isApart)
    this.#sql = createSqlAccess(this.#lanes.pool)
  }

  get routes() {
    return this.#lanes.routes
  }

  async record(key: Principal, body: Uint8Array): Promise<Recorded> {
    const name = this.#resends.keyOf(key.projectId, body)
    const known = name && (await this.#resends.find(key.projectId, name))
    if (known) return known
    return this.#whenReady('record', body, key, async ready => {
      const record = ready as ReadyRecord
      const answer = recorded(record, await this.#submit(key, record.traceId, record, body.byteLength))
      if (answer.duplicate) this.#resends.noteResend()
      if (name !== undefined) this.#resends.remember(name, record)
      return answer
    })
  }

  append(key: Principal, traceId: string, body: Uint8Array): Promise<Appended> {
    return this.#whenReady('append', body, key, async ready => {
      const operation = { environment: key.environment, ...(ready as ReadyAppend) }
      const decision = ofChange(await this.#submit(key, traceId, operation, body.byteLength))
      const added = decision.type === 'change' ? decision.added : 0
      return { traceId, added, duplicate: decision.duplicate, spanCount: spanCountAfter(decision) }
    })
  }

  end(key: Principal, traceId: string, body: Uint8Array): Promise<Ended> {
    return this.#whenReady('end', body, key, async ready => {
      const operation = { environment: key.environment, ...(ready as ReadyEnd) }
      const decision = ofChange(await this.#submit(key, traceId, operation, body.byteLength))
      return { traceId, duplicate: decision.type === 'duplicate', spanCount: spanCountAfter(decision) }
    })
  }

  export(key: Principal, body: Uint8Array, encoding: OtlpEncoding): Promise<Exported> {
    return this.#export(key, body, `export-${encoding}`)
  }

  exportSteps(key: Principal, body: Uint8Array): Promise<Exported> {
    return this.#export(key, body, 'export-steps')
  }

  async #export(key: Principal, body: Uint8Array, task: TaskName): Promise<Exported> {
    const outcome = new ExportOutcome()
    const write = async (operation: TaskName, part: Uint8Array) =>
      this.#whenReady(operation, part, key, async ready => {
        const { traces, portions, refusals, unpriced } = ready as ReadyExport
        const bytes = part.byteLength / traces.length
        await outcome.write(traces, refusals, trace => this.#exportTrace(key, trace, bytes))
        if (unpriced.size > 0) this.#prices?.countUnpriced(key.projectId, unpriced)
        return portions
      })
    for (const portion of await write(task, body)) {
      await write('export-portion', joinPortion(portion, body))
    }
    const { exported, refusals } = outcome
    if (refusals.length > 0) this.#reportRefused(key, exported.message, refusals)
    return exported
  }

  #reportRefused({ projectId, keyId }: Principal, message: string, refusals: readonly SpanRefusal[]): void {
    for (const { reason, count } of refusals) this.#metrics.countRefusedSpans(reason, count)
    this.#log.warn({ project: projectId, keyId }, `OTLP export: ${message}`)
  }

  /** Writes one trace's spans and returns the reasons for spans that are not stored. */
  async #exportTrace(key: Principal, trace: ReadySpans, bytes: number): Promise<readonly SpanRefusal[]> {
    if (trace.first === undefined) return trace.refusals
    const decision = await this.#submit(
      key,
      trace.traceId,
      new ExportWrite(trace, key.environment, { maxSpans: this.#maxSpans, maxBytes: this.#maxTraceBytes }),
      bytes
    )
    if (decision.type === 'insert') return trace.refusals
    return ('refusals' in decision && decision.refusals) || []
  }

  async complete({ projectId, traceId, version, end }: IdleTrace): Promise<boolean> {
    const nobody = { projectId, keyId: null, environment: null, trialAccountId: null }
    const { type } = await this.#submit(nobody, traceId, { operation: 'idle', traceId, version, end }, 0)
    return type === 'grow'
  }

  /**
   * Stores a trace from an export file's line, including its scores and when and by whom it was recorded. No trial
   * account is charged. If the line is a later state of a stored trace, that trace advances to the line's state.
   * `duplicate` means that the trace is already stored in the line's state or a later state.
   */
  restore(projectId: number, line: Uint8Array): Promise<Restored> {
    const nobody = { projectId, keyId: null, environment: null, trialAccountId: null }
    // A long line is moved to a thread, and is then empty here.
    const { byteLength } = line
    return this.#whenReady('restore', line, nobody, async ready => {
      const record = ready as ReadyRecord
      const { type } = await this.#submit(nobody, record.traceId, record, byteLength)
      const messages = record.restored?.past.messages ?? []
      // A line that contradicts the stored trace was rejected above. A repeated import also adds the line's messages,
      // because the first import may have been interrupted before this write.
      if (messages.length > 0) await this.#sql.write(sql => addMessages(sql, projectId, messages))
      return type === 'insert' || type === 'advance' ? type : 'duplicate'
    })
  }

  /**
   * Stores a trace whose rows come from a backup. A trace that is already stored stays unchanged; if its hash differs,
   * a Refusal is thrown. The caller limits the number of traces in flight.
   */
  async copy(projectId: number, trace: CopiedTrace): Promise<void> {
    const nobody = { projectId, keyId: null, environment: null, trialAccountId: null }
    const record: ReadyRecord = {
      operation: 'record',
      oversize: undefined,
      started: undefined,
      restored: undefined,
      ...trace
    }
    await this.#submit(nobody, trace.traceId, record, trace.rows.bytes.byteLength)
  }

  admit(bytes: number, requests?: number, projectId?: number): Room {
    return this.#admission.admit(bytes, requests, projectId)
  }

  /** Whether few requests are in flight. */
  get isCalm(): boolean {
    return this.#packing.isCalm
  }

  check(statement: string): Promise<void> {
    return this.#lanes.check(statement)
  }

  async close(): Promise<void> {
    await this.#lanes.finish()
    this.#statistics.close()
    this.#cuts.close()
    await this.threads.close()
    await this.#lanes.close()
  }

  /**
   * Waits for memory for a body's rows, prepares the body, and frees the memory when `write` is done. A large body
   * reserves no memory, because it is either divided into portions that wait separately, or is one huge span, most of
   * which is cut off.
   */
  async #whenReady<T>(
    operation: TaskName,
    body: Uint8Array,
    { environment, projectId }: Author,
    write: (ready: Ready) => Promise<T>
  ): Promise<T> {
    const weight = body.byteLength > LARGE_BODY_BYTES ? 0 : body.byteLength
    await this.#gate.enter(projectId, weight)
    try {
      const hurries = this.#packing.hurries(body.byteLength)
      const isExport = operation.startsWith('export-')
      // Costs are computed only for exports.
      const prices = isExport ? this.#prices?.ownOf(projectId) : undefined
      const task = { operation, body, environment, hurries, maxSpans: this.#maxSpans, tagNames: this.#tagNames, prices }
      // A restore is not admitted as a request and always keeps many lines in flight, so threads prepare its lines.
      const quiet = isExport ? QUIET.exports : QUIET.bodies
      const isQuiet = operation !== 'restore' && this.#admission.requests <= quiet
      return await write(await this.threads.makeReady(task, projectId, isQuiet))
    } finally {
      this.#gate.leave(weight)
    }
  }

  #isCharged({ trialAccountId }: Author): boolean {
    return trialAccountId !== null && this.#trialTraces !== undefined
  }

  /**
   * Queues an operation with a body of `bytes` bytes. Resolves to its decision once committed, or rejects with a
   * Refusal.
   */
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
          this.#lanes.release(pending)
          if (decision.type === 'refused') reject(new Refusal(decision.code, decision.message))
          else {
            const recorded = recordedBy(pending, decision)
            if (recorded !== undefined) this.#metrics.countRecorded(recorded.way, recorded.traces, recorded.spans)
            resolve(decision)
          }
        },
        reject: error => {
          this.#lanes.release(pending)
          reject(error)
        }
      }
      this.#lanes.add(pending)
    })
  }
}

/** Narrows the decision of an append or an end, neither of which creates a trace. */
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
