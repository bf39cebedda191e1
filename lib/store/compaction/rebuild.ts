/**
 * Rewrites tables and indexes, which frees the disk space of deleted rows. PostgreSQL keeps the old
 * files until the new ones are complete, so an interruption leaves everything usable. An interrupted `reindex
 * concurrently` also leaves an invalid index behind, which dropLeftovers removes.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from 'postgres'
import { isLockTimeout } from '../../database/failure.ts'
import { COMPACTED_TABLES } from './measure.ts'

/**
 * A statement that waits for an exclusive lock makes all later readers and writers wait. It therefore times out, and
 * lets them proceed before it tries again.
 */
export interface LockPatience {
  readonly timeoutMs: number
  readonly pauseMs: number
  readonly attempts: number
}
export const LOCK_PATIENCE: LockPatience = { timeoutMs: 1000, pauseMs: 3000, attempts: 10 }

const POLL_MS = 500
/** Names that PostgreSQL gives to the indexes of an interrupted `reindex concurrently`. */
const LEFTOVER = '_cc(new|old)[0-9]*$'

/** A connection that rebuilds, and one that watches it and can cancel its statement. */
export interface Worker {
  readonly sql: Sql
  readonly watcher: Sql
  readonly pid: number
  readonly signal: AbortSignal
  /** Called while a statement runs. */
  readonly onStep: (state: StepState) => void
}

export interface StepState {
  /** PostgreSQL's name for what it does; undefined while it waits for `waitsFor`, or if it is unknown. */
  readonly phase: string | undefined
  readonly done: number
  readonly total: number
  /** The connection whose transaction must end first. */
  readonly waitsFor: string | undefined
}

/**
 * Lets PostgreSQL notice that the client was killed. Otherwise the statement and the lock would outlive the client, and
 * a second compaction would have to wait.
 */
export async function endWithClient(sql: Sql): Promise<void> {
  // Some systems do not support the setting.
  await sql`set client_connection_check_interval = 1000`.catch(() => {})
}

export const readPid = async (sql: Sql): Promise<number> =>
  (await sql<[{ pid: number }]>`select pg_backend_pid() as pid`)[0].pid

/** Drops the indexes that an interrupted `reindex concurrently` left behind on spoor's tables. Returns their names. */
export async function dropLeftovers(worker: Worker): Promise<string[]> {
  const { sql } = worker
  const names: string[] = []
  for (const { name } of await readLeftovers(sql)) {
    await whileNobodyBuilds(worker, name)
    await run(worker, `drop index concurrently if exists ${quoted(name)}`)
    names.push(name)
  }
  return names
}

/** Returns invalid indexes whose names show that they come from an index of the same table. */
export const readLeftovers = (sql: Sql): Promise<{ name: string }[]> =>
  sql<{ name: string }[]>`
    select c.relname as name
    from unnest(${COMPACTED_TABLES as string[]}::text[]) as ours (name)
    join pg_index i on i.indrelid = to_regclass(ours.name) and not i.indisvalid
    join pg_class c on c.oid = i.indexrelid and c.relname ~ ${LEFTOVER}
    where exists (
      select from pg_index other join pg_class o on o.oid = other.indexrelid
      where other.indrelid = i.indrelid and o.relname = regexp_replace(c.relname, ${LEFTOVER}, '')
    )
    order by 1`

/** The backend of a killed client may still build the index, and dropping it meanwhile would end in a deadlock. */
async function whileNobodyBuilds({ sql, signal }: Worker, name: string): Promise<void> {
  for (;;) {
    const [row] = await sql`select from pg_stat_progress_create_index where index_relid = to_regclass(${name})`
    if (row === undefined) return
    await delay(POLL_MS, undefined, { signal })
  }
}

/** Makes the space of dead rows reusable, and frees the space at the end of the files. */
export async function vacuumTables(worker: Worker, tables: readonly string[]): Promise<void> {
  await run(worker, `vacuum ${tables.map(quoted).join(', ')}`)
}

/** Rebuilds an index. Reads and writes continue. */
export async function rebuildIndex(worker: Worker, index: string): Promise<void> {
  await run(worker, `reindex index concurrently ${quoted(index)}`)
}

/**
 * Rebuilds a table with its indexes. Reads and writes of the table wait meanwhile. Returns undefined, or the connection
 * that did not release its lock in time.
 */
export async function rebuildTable(
  worker: Worker,
  table: string,
  patience: LockPatience = LOCK_PATIENCE
): Promise<string | undefined> {
  const { sql, watcher, pid, signal, onStep } = worker
  let holder: string | undefined
  for (let attempt = 1; attempt <= patience.attempts; attempt++) {
    if (attempt > 1) await delay(patience.pauseMs, undefined, { signal })
    await whileBackupsRun(worker)
    await sql.unsafe(`set lock_timeout = ${patience.timeoutMs}`)
    const looking = lookForHolder(watcher, pid, patience.timeoutMs)
    try {
      await run(worker, `vacuum (full) ${quoted(table)}`)
      return undefined
    } catch (error) {
      if (!isLockTimeout(error)) throw error
      holder = (await looking) ?? holder
      onStep({ phase: undefined, done: 0, total: 0, waitsFor: holder ?? 'another connection' })
    } finally {
      await looking
      await sql.unsafe('set lock_timeout = 0')
    }
  }
  return holder ?? 'another connection'
}

/** A backup reads tables for minutes in one transaction, and would wait for the rebuild of a table that it reads. */
async function whileBackupsRun({ watcher, signal, onStep }: Worker): Promise<void> {
  for (;;) {
    const [row] = await watcher<{ name: string }[]>`
      select application_name || ' (PostgreSQL process ' || pid || ')' as name from pg_stat_activity
      where datname = current_database() and application_name ~ '^spoor\\[.* backup$' and backend_xmin is not null`
    if (row === undefined) return
    onStep({ phase: undefined, done: 0, total: 0, waitsFor: row.name })
    await delay(POLL_MS, undefined, { signal })
  }
}

/** Returns the first connection that keeps this one waiting, looked up shortly before the lock times out. */
async function lookForHolder(watcher: Sql, pid: number, timeoutMs: number): Promise<string | undefined> {
  await delay(timeoutMs / 2)
  const [row] = await watcher<{ name: string }[]>`
    select coalesce(nullif(a.application_name, ''), 'a connection') || ' (PostgreSQL process ' || a.pid || ')' as name
    from unnest(pg_blocking_pids(${pid})) b (pid) join pg_stat_activity a on a.pid = b.pid limit 1`
  return row?.name
}

/** Runs a statement. Reports its progress, and cancels it when the signal aborts. */
async function run({ sql, watcher, pid, signal, onStep }: Worker, statement: string): Promise<void> {
  signal.throwIfAborted()
  const finished = new AbortController()
  const running = (async () => sql.unsafe(statement))().finally(() => finished.abort())
  // The statement's own failure is thrown below.
  running.catch(() => {})
  while (!finished.signal.aborted) {
    await delay(POLL_MS, undefined, { signal: AbortSignal.any([finished.signal, signal]) }).catch(() => {})
    if (finished.signal.aborted) break
    if (signal.aborted) await watcher`select pg_cancel_backend(${pid})`
    else onStep(await readState(watcher, pid))
  }
  await running
}

async function readState(watcher: Sql, pid: number): Promise<StepState> {
  const [row] = await watcher<{ phase: string; done: number; total: number; waitsFor: string | null }[]>`
    select p.phase, p.done, p.total, case when p.locker <> 0 then (
        select coalesce(nullif(a.application_name, ''), 'a connection') || ' (PostgreSQL process ' || a.pid || ')'
        from pg_stat_activity a where a.pid = p.locker
      ) end as "waitsFor"
    from (
      select pid, phase, blocks_done as done, blocks_total as total, current_locker_pid as locker
      from pg_stat_progress_create_index
      union all select pid, phase, heap_blks_scanned, heap_blks_total, 0 from pg_stat_progress_cluster
      union all select pid, phase, heap_blks_scanned, heap_blks_total, 0 from pg_stat_progress_vacuum
    ) p where p.pid = ${pid} limit 1`
  if (row === undefined) return { phase: undefined, done: 0, total: 0, waitsFor: undefined }
  return { ...row, waitsFor: row.waitsFor ?? undefined }
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** Returns the connections of other spoor processes that may read or write traces. */
export async function readServers(sql: Sql, own: readonly number[]): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select distinct application_name as name from pg_stat_activity
    where datname = current_database() and application_name like 'spoor[%' and pid <> all (${own as number[]}::int[])
      and application_name !~ ' (command|presence|backup|compaction)$'
    order by 1`
  return rows.map(({ name }) => name)
}

/** Returns PostgreSQL's limit, in bytes, for the log that accumulates during heavy writes. */
export async function readLogSize(sql: Sql): Promise<number> {
  const [row] = await sql<[{ bytes: number }]>`
    select pg_size_bytes(current_setting('max_wal_size')) as bytes`
  return row.bytes
}
