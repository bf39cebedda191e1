/** Empties the tables between measurements, and measures their size. */
import type { Sql } from 'postgres'
import { cutRanking, findFrequentLists, RANKINGS } from '../../../lib/store/rankings/rankings.ts'

/** Number of values for traces.seq that servers may have reserved but not used yet. */
const DRAWN_NUMBERS = 100_000

const DEADLOCK_DETECTED = '40P01'

/** The storage that the recorded traces occupy. */
export interface Storage {
  readonly traces: number
  readonly spans: number
  readonly walBytes: number
  /** Bytes of tables, indexes and long values. */
  readonly diskBytes: number
  readonly spanIndexBytes: number
}

/**
 * Cuts the rankings, as the server does now and then while it records. The server reads the floors within its next
 * 16,384 operations.
 */
export async function cutRankings(sql: Sql, projectId: number): Promise<void> {
  for (const list of await findFrequentLists(sql, projectId)) {
    for (const ranking of RANKINGS) await cutRanking(sql, projectId, list, ranking)
  }
}

const RECORDED = [
  ...['traces', 'trace_tags', 'spans', 'scores', 'project_totals'],
  ...['rollup_news', 'rollups', 'user_sums', 'search_terms', 'search_segments', 'search_postings', 'search_news']
]

/**
 * Empties all tables except trace_families and ranking_floors, because a server relies on the rows that it has seen
 * there. A compared working tree may lack some of the tables.
 */
export async function emptyTables(sql: Sql): Promise<void> {
  const rows = await sql<{ name: string }[]>`
    select tablename as name from pg_tables where schemaname = 'public' and tablename in ${sql(RECORDED)}`
  const names = rows.map(({ name }) => name)
  // A server that indexes at the same time may hold a lock that this statement waits for, and may wait for a lock that
  // this statement holds.
  for (let isDone = false; !isDone; ) {
    isDone = await sql`truncate ${sql(names)}`.then(
      () => true,
      error => {
        if (error.code !== DEADLOCK_DETECTED) throw error
        return false
      }
    )
  }
}

/**
 * Writes all changed pages to disk, so that the next measurement does not include work from the previous measurement.
 */
export async function settle(sql: Sql): Promise<void> {
  await sql`checkpoint`
}

export async function readStorage(sql: Sql): Promise<Storage> {
  const [row] = await sql<Storage[]>`
    select coalesce(sum(traces), 0)::float8 as traces, coalesce(sum(spans), 0)::float8 as spans,
      pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as "walBytes",
      (pg_total_relation_size('traces') + pg_total_relation_size('trace_tags')
        + pg_total_relation_size('spans'))::float8 as "diskBytes",
      pg_indexes_size('spans')::float8 as "spanIndexBytes"
    from project_totals`
  return row!
}

export function subtractStorage(later: Storage, earlier: Storage): Storage {
  return {
    traces: later.traces - earlier.traces,
    spans: later.spans - earlier.spans,
    walBytes: later.walBytes - earlier.walBytes,
    diskBytes: later.diskBytes - earlier.diskBytes,
    spanIndexBytes: later.spanIndexBytes - earlier.spanIndexBytes
  }
}

/** Throws if the totals differ from the rows, because the measurement then included incomplete traces. */
export async function checkTotals(sql: Sql): Promise<void> {
  const { traces, spans } = await readStorage(sql)
  const [row] = await sql<{ traces: number; spans: number }[]>`
    select (select count(*) from traces)::float8 as traces, (select count(*) from spans)::float8 as spans`
  if (row!.traces === traces && row!.spans === spans) return
  throw new Error(`the totals say ${traces} traces and ${spans} spans, the tables ${row!.traces} and ${row!.spans}`)
}

/** Returns the first number for traces.seq that no server will use. */
export async function readFreeNumber(sql: Sql): Promise<number> {
  const [row] = await sql<{ free: number }[]>`select last_value + ${DRAWN_NUMBERS}::int as free from trace_numbers`
  return row!.free
}

/** Makes servers continue after the numbers in the table, so that new rows still come last. */
export async function skipUsedNumbers(sql: Sql): Promise<void> {
  await sql`select setval('trace_numbers', max(seq) + 1) from traces`
}
