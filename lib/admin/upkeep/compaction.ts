/**
 * Implements `spoor compact`, which frees the disk space of deleted and repacked traces. Each step is complete by
 * itself, and the plan depends only on what is stored, so running an interrupted compaction again continues it.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from 'postgres'
import { AdminError } from '../../admin-error.ts'
import { ADVISORY_LOCK } from '../../database/advisory-locks.ts'
import { classifyFailure } from '../../database/failure.ts'
import { readElsewhere } from '../../database/spread.ts'
import { type MeasuredTable, measureOne, measureTables } from '../../store/compaction/measure.ts'
import {
  dropLeftovers,
  endWithClient,
  type LockPatience,
  readLeftovers,
  readLogSize,
  readPid,
  readServers,
  rebuildIndex,
  rebuildTable,
  type StepState,
  vacuumTables,
  type Worker
} from '../../store/compaction/rebuild.ts'
import {
  estimateRepacking,
  type RepackEstimate,
  type RepackedAtOnce,
  repackAtOnce
} from '../../store/repacking/at-once.ts'
import { noteMark, readMarks } from '../../store/repacking/progress.ts'
import { retried } from '../retried.ts'

/**
 * Minimum gain that justifies a rebuild. Both limits exceed the error of an estimate, so that a second compaction does
 * not rebuild the same tables and indexes again. Random inserts leave a B-tree 23 % larger than a rebuild does.
 */
const LEAST_GAIN = { share: 0.25, bytes: 1024 ** 2 }
/** Factor by which a new copy may exceed its estimate. */
const COPY_MARGIN = 1.2
/** Bytes per second that a rebuild is assumed to write. Not measured; disks differ. */
const REBUILT_PER_SECOND = 20e6
/** Time to wait for another process's lock. */
const PATIENCE_MS = { compaction: 5000, repacking: 10_000 }
const POLL_MS = 200

export interface CompactionStep {
  readonly kind: 'table' | 'index'
  readonly name: string
  /** Current size in bytes, and the estimated size after the step. A table's size includes its indexes. */
  readonly bytes: number
  readonly afterBytes: number
}

export interface CompactionPlan {
  readonly tables: readonly MeasuredTable[]
  readonly repacking: RepackEstimate
  /** Invalid indexes that an interrupted compaction left behind. */
  readonly leftovers: readonly string[]
  /** Connections of servers, which would wait for the rebuild of a table. */
  readonly servers: readonly string[]
  /** Tables whose rows are on other servers, which are repacked and vacuumed but not rebuilt. */
  readonly elsewhere: readonly string[]
  /** Whether tables are rebuilt too, not only indexes. */
  readonly rebuildsTables: boolean
  readonly steps: readonly CompactionStep[]
  /** Bytes of free disk space that the largest step needs. */
  readonly neededBytes: number
  /** Estimate of the longest time in which a table can be neither read nor written, in seconds. */
  readonly longestSeconds: number
}

export interface PlanOptions {
  /** Whether tables are rebuilt. By default, they are if no server is connected. */
  readonly rebuildsTables?: boolean
  readonly signal?: AbortSignal
  readonly onTable?: (name: string) => void
}

/** Measures and estimates everything. Changes nothing. */
export async function planCompaction(sql: Sql, options: PlanOptions = {}): Promise<CompactionPlan> {
  const servers = await readServers(sql, [await readPid(sql)])
  const rebuildsTables = options.rebuildsTables ?? servers.length === 0
  const elsewhere = await readElsewhere(sql)
  const onTable = (name: string) => {
    options.signal?.throwIfAborted()
    options.onTable?.(name)
  }
  const measured = await measureTables(sql, elsewhere, onTable)
  const repacking = await estimateRepacking(sql, options.signal)
  const tables = measured.map(table => (table.name === 'spans' ? withoutRepacked(table, repacking) : table))
  const steps = chooseSteps(tables, rebuildsTables)
  return {
    tables,
    repacking,
    leftovers: (await readLeftovers(sql)).map(({ name }) => name),
    servers,
    elsewhere,
    rebuildsTables,
    steps,
    neededBytes: Math.max(0, ...steps.map(each => needOf(each, 0))) + (steps.length > 0 ? await readLogSize(sql) : 0),
    longestSeconds: Math.ceil(
      Math.max(0, ...steps.map(({ kind, afterBytes }) => (kind === 'table' ? afterBytes / REBUILT_PER_SECOND : 0)))
    )
  }
}

const withoutRepacked = (table: MeasuredTable, { bytes, afterBytes }: RepackEstimate): MeasuredTable => ({
  ...table,
  afterBytes: Math.max(0, table.afterBytes - (bytes - afterBytes))
})

const needOf = ({ afterBytes }: CompactionStep, log: number): number => Math.ceil(afterBytes * COPY_MARGIN) + log

const isWorthwhile = ({ bytes, afterBytes }: { readonly bytes: number; readonly afterBytes: number }): boolean =>
  bytes - afterBytes >= Math.max(LEAST_GAIN.bytes, LEAST_GAIN.share * bytes)

/**
 * Returns what is worth rebuilding: tables first, because their indexes are rebuilt with them, and small copies first,
 * because each step frees space for the next.
 */
export function chooseSteps(tables: readonly MeasuredTable[], rebuildsTables: boolean): CompactionStep[] {
  const whole = rebuildsTables ? tables.filter(isWorthwhile) : []
  const indexes = tables.filter(table => !whole.includes(table)).flatMap(table => table.indexes.filter(isWorthwhile))
  const byCopy = (a: CompactionStep, b: CompactionStep) => a.afterBytes - b.afterBytes
  return [
    ...whole.map(table => ({ kind: 'table' as const, ...withIndexes(table) })).sort(byCopy),
    ...indexes.map(({ name, bytes, afterBytes }) => ({ kind: 'index' as const, name, bytes, afterBytes })).sort(byCopy)
  ]
}

function withIndexes({ name, bytes, afterBytes, indexes }: MeasuredTable) {
  return {
    name,
    bytes: indexes.reduce((sum, index) => sum + index.bytes, bytes),
    afterBytes: indexes.reduce((sum, index) => sum + index.afterBytes, afterBytes)
  }
}

export const totalBytes = (tables: readonly MeasuredTable[]): number =>
  tables.reduce((sum, table) => sum + withIndexes(table).bytes, 0)

export interface Compacted {
  readonly beforeBytes: number
  readonly afterBytes: number
  /** Undefined if a server was already repacking. */
  readonly repacked: RepackedAtOnce | undefined
  /** Invalid indexes that were dropped. */
  readonly dropped: readonly string[]
  /** Finished steps, with the bytes that were measured before and after. */
  readonly done: readonly CompactionStep[]
  readonly skipped: readonly { readonly step: CompactionStep; readonly reason: string }[]
}

export interface CompactionOptions {
  /** The connection that does the work; `sql` watches it. */
  readonly worker: Sql
  readonly signal: AbortSignal
  /** Called with the current step, such as `repacking`, and its state. */
  readonly onProgress: (what: string, state: StepState) => void
  /** How long a trace must have been unchanged before the background round considers it. */
  readonly calmMs: number
  /** Reads the free bytes of the database's disk; undefined if the disk is not visible. */
  readonly readFree: () => Promise<number | undefined>
  readonly patience?: LockPatience
}

/** Carries out the plan. */
export async function applyCompaction(sql: Sql, plan: CompactionPlan, options: CompactionOptions): Promise<Compacted> {
  const { worker: own, signal, onProgress } = options
  await endWithClient(own)
  if (!(await tryLock(own, 'compaction', signal))) {
    throw new AdminError('another compaction of this database is running: wait until it finishes')
  }
  let what = 'removing what an interrupted run left behind'
  const worker: Worker = {
    sql: own,
    watcher: sql,
    pid: await readPid(own),
    signal,
    onStep: state => onProgress(what, state)
  }
  try {
    const beforeBytes = totalBytes(plan.tables)
    const dropped = await dropLeftovers(worker)
    what = 'repacking'
    const repacked = await repack(worker, options)
    what = 'vacuum'
    await vacuumTables(worker, [...plan.tables.map(({ name }) => name), ...plan.elsewhere])
    const done: CompactionStep[] = []
    const skipped: Compacted['skipped'][number][] = []
    // Repacking and the vacuum have changed the sizes.
    for (const step of chooseSteps(await measureTables(sql, plan.elsewhere), plan.rebuildsTables)) {
      what = `rebuilding ${step.kind} ${step.name}`
      const reason = await rebuild(worker, step, options)
      if (reason === undefined) done.push(await measureAgain(sql, step))
      else skipped.push({ step, reason })
    }
    return {
      beforeBytes,
      afterBytes: totalBytes(await measureTables(sql, plan.elsewhere)),
      repacked,
      dropped,
      done,
      skipped
    }
  } catch (error) {
    if (!signal.aborted) throw error
    await tidyUp(worker)
    throw new AdminError('interrupted: finished steps are kept; run the command again to continue')
  }
}

async function tryLock(sql: Sql, lock: keyof typeof PATIENCE_MS, signal: AbortSignal): Promise<boolean> {
  const until = performance.now() + PATIENCE_MS[lock]
  for (;;) {
    const [row] = await sql<[{ held: boolean }]>`select pg_try_advisory_lock(${ADVISORY_LOCK[lock]}) as held`
    if (row.held || performance.now() > until) return row.held
    await delay(POLL_MS, undefined, { signal })
  }
}

async function repack(worker: Worker, { calmMs, signal }: CompactionOptions): Promise<RepackedAtOnce | undefined> {
  const { sql, onStep } = worker
  if (!(await tryLock(sql, 'repacking', signal))) return undefined
  try {
    await noteMark(sql, calmMs)
    return await repackAtOnce(sql, {
      marks: await readMarks(sql, calmMs),
      isTraceFault: error => classifyFailure(error) === 'bug',
      retried,
      signal,
      onTrace: ({ traces }) => onStep({ phase: `${traces} traces`, done: 0, total: 0, waitsFor: undefined })
    })
  } finally {
    await sql`select pg_advisory_unlock(${ADVISORY_LOCK.repacking})`.catch(() => {})
  }
}

/** Rebuilds a table or an index. Returns the reason if nothing was done. */
async function rebuild(worker: Worker, step: CompactionStep, options: CompactionOptions): Promise<string | undefined> {
  const free = await options.readFree()
  const needed = needOf(step, Math.min(await readLogSize(worker.watcher), step.afterBytes))
  if (free !== undefined && free < needed) {
    return `the copy needs about ${megabytes(needed)} of disk space, but only ${megabytes(free)} is free`
  }
  if (step.kind === 'index') {
    await rebuildIndex(worker, step.name)
    return undefined
  }
  const holder = await rebuildTable(worker, step.name, options.patience)
  if (holder !== undefined) return `${holder} kept using the table: run the command again later`
  // A rebuilt table has no visibility map, which lists rely on.
  await vacuumTables(worker, [step.name])
  return undefined
}

const megabytes = (bytes: number): string => `${Math.ceil(bytes / 1e6)} MB`

async function measureAgain(sql: Sql, step: CompactionStep): Promise<CompactionStep> {
  if (step.kind === 'table') {
    const table = await measureOne(sql, step.name)
    return { ...step, afterBytes: table === undefined ? 0 : withIndexes(table).bytes }
  }
  const [row] = await sql<{ bytes: number }[]>`select pg_relation_size(to_regclass(${step.name})) as bytes`
  return { ...step, afterBytes: row?.bytes ?? 0 }
}

/** Removes the invalid index of a cancelled rebuild, unless that takes long. The next compaction removes it then. */
async function tidyUp(worker: Worker): Promise<void> {
  const signal = AbortSignal.timeout(PATIENCE_MS.compaction)
  await dropLeftovers({ ...worker, signal }).catch(() => {})
}
