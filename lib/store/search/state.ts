/**
 * Reads and changes a project's search state: whether search by words is on, and how many of its traces are indexed.
 */
import type { Fragment, Sql } from 'postgres'
import { INDEX_TABLES, SCHEMA_NAMES, type TableNames } from '../../database/tables.ts'
import { MEMBER_BYTES } from '../../search/segment.ts'
import { TEXTS } from '../../search/texts.ts'
import { type AuditEntry, auditStep } from '../audit.ts'
import { emptying } from '../emptying.ts'
import { inTransaction } from '../transactions.ts'
import { readSearched } from './searched-projects.ts'

/**
 * Delay between turning search on and reading earlier traces. After this delay, every server adds rows to search_news
 * (lib/store/search/searched-projects.ts).
 */
const SETTLE_MS = 10_000
/** Maximum time for which the terms of deleted traces stay in the index. */
const SWEEP_MS = 24 * 3_600_000

/** Returns an SQL condition on a row of search_fills: whether it is too early to read earlier traces. */
export const isTooEarly = (sql: Sql, settleMs = SETTLE_MS) => sql`begun_at > now() - ${settleMs} * interval '1 ms'`

/** Returns an SQL condition on a row of search_segments: whether the segment is due for a sweep. */
export const isUnswept = (sql: Sql, sweepMs = SWEEP_MS) => sql`swept_at < now() - ${sweepMs} * interval '1 ms'`

export interface SearchState {
  /**
   * Traces that started at or after this time are indexed. Null if all traces are indexed, or if none are indexed yet.
   */
  readonly backTo: string | null
  /** Whether the index contains all traces from before search was turned on. True if no such traces exist. */
  readonly isFilled: boolean
  /** Number of writes whose words are not indexed yet, counted up to MOST_COUNTED. */
  readonly waiting: number
  /**
   * Number of indexed traces that are not found by their errors, tool calls and metadata yet, because an earlier
   * version indexed them.
   */
  readonly partlyIndexed: number
}

export const MOST_COUNTED = 10_000

export async function isSearched(sql: Sql, projectId: number): Promise<boolean> {
  const rows = await sql`select from projects where id = ${projectId} and search`
  return rows.length > 0
}

/** Reads a project's search state. Search must be on for the project. */
export async function readSearchState(sql: Sql, projectId: number, names: TableNames = SCHEMA_NAMES) {
  const fills = sql.unsafe(names.search_fills)
  const [segments, terms] = [sql.unsafe(names.search_segments), sql.unsafe(names.search_terms)]
  const [row] = await sql<[SearchState]>`
    select (select back_to from ${fills} where project_id = ${projectId}) as "backTo",
      not exists (select from ${sql.unsafe(names.traces)} where project_id = ${projectId})
        or exists (select from ${fills} where project_id = ${projectId} and is_done) as "isFilled",
      (select count(*)::int from (
        select from ${sql.unsafe(names.search_news)} where project_id = ${projectId} limit ${MOST_COUNTED}
      ) news) as waiting,
      ${countPartly(sql, sql`${projectId}`, segments, terms)} as "partlyIndexed"`
  return row.isFilled ? { ...row, backTo: null } : row
}

/** Returns an SQL expression for the number of a project's indexed traces whose words are not all indexed. */
const countPartly = (sql: Sql, projectId: Fragment, segments: Fragment, terms: Fragment) => sql`(
  (select coalesce(sum(octet_length(members) / ${MEMBER_BYTES}), 0)
    from ${segments} where project_id = ${projectId} and texts < ${TEXTS})
  + (select count(*) from ${terms} where project_id = ${projectId} and covered = 0)
)::int`

/**
 * Returns the projects with search on that have waiting writes, earlier traces to index, rows or a segment that lack
 * texts, or a segment due for a sweep.
 */
export async function findDue(sql: Sql): Promise<number[]> {
  const due: number[] = []
  for (const projectId of await readSearched(sql)) {
    const [row] = await sql<[{ isDue: boolean }]>`
      select exists (select from search_news where project_id = ${projectId})
        or exists (
          select from search_segments where project_id = ${projectId} and (texts < ${TEXTS} or ${isUnswept(sql)})
        )
        or exists (select from search_terms where project_id = ${projectId} and covered = 0)
        or not exists (select from search_fills where project_id = ${projectId} and (is_done or ${isTooEarly(sql)})) as "isDue"`
    if (row.isDue) due.push(projectId)
  }
  return due
}

/**
 * Turns search on or off, and writes the audit entry. Turning search off deletes the index. After search is turned on,
 * a server fills the index (lib/background/search-index.ts). Returns false if the project does not exist.
 */
export function setSearch(sql: Sql, projectId: number, on: boolean, audit: AuditEntry): Promise<boolean> {
  return inTransaction(sql, async () => {
    const [row] = await sql<[{ known: boolean; changed: boolean }]>`
      with changed as (
        update projects set search = ${on} where id = ${projectId} and search <> ${on} returning id
      )
      ${auditStep(sql, audit, sql`changed`)}
      select exists (select from changed) as changed, exists (select from projects where id = ${projectId}) as known`
    // The index is deleted even if search was already off, because a server with a stale list may have added rows to
    // search_news.
    if (!on) await dropIndex(sql, projectId)
    return row.known
  })
}

const EMPTYING = emptying(INDEX_TABLES)

export async function dropIndex(sql: Sql, projectId: number): Promise<void> {
  await sql.unsafe(EMPTYING, [projectId])
}

/** A waiting write: a row of search_news. */
export interface WaitingWords {
  readonly seq: string
  readonly version: string
}

export interface ProjectBacklog {
  readonly projectId: number
  /** Number of waiting writes, counted up to MOST_COUNTED. */
  readonly waiting: number
  /** The last waiting write in indexing order; undefined if no write is waiting. */
  readonly last: WaitingWords | undefined
  readonly partlyIndexed: number
  /** Whether the marked write is still waiting. */
  readonly hasMark: boolean
}

interface BacklogRow extends Pick<ProjectBacklog, 'waiting' | 'partlyIndexed' | 'hasMark'> {
  readonly seq: string | null
  readonly version: string | null
}

/** Reads the backlog of each project with search on, and whether the project's write in `marks` is still waiting. */
export async function readBacklog(sql: Sql, marks: ReadonlyMap<number, WaitingWords>): Promise<ProjectBacklog[]> {
  const backlog: ProjectBacklog[] = []
  for (const projectId of await readSearched(sql)) {
    const { seq = null, version = null } = marks.get(projectId) ?? {}
    const [row] = await sql<[BacklogRow]>`
      select (select count(*)::int from (select from search_news where project_id = ${projectId} limit ${MOST_COUNTED}) n) as waiting,
        l.seq::text, l.version::text,
        exists (
          select from search_news
          where project_id = ${projectId} and seq = ${seq}::bigint and version = ${version}::bigint
        ) as "hasMark",
        ${countPartly(sql, sql`${projectId}`, sql`search_segments`, sql`search_terms`)} as "partlyIndexed"
      from (select) one left join (
        select seq, version from search_news where project_id = ${projectId} order by seq desc, version desc limit 1
      ) l on true`
    const last = row.seq === null || row.version === null ? undefined : { seq: row.seq, version: row.version }
    const { waiting, partlyIndexed, hasMark } = row
    backlog.push({ projectId, waiting, partlyIndexed, last, hasMark })
  }
  return backlog
}
