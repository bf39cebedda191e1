/** Counts the writes waiting to be indexed, by project. */
import type { Sql } from 'postgres'
import { readSearched } from './searched-projects.ts'
import { MOST_COUNTED } from './state.ts'

/** A waiting write: a row of search_news. */
export interface WaitingWords {
  readonly seq: string
  readonly version: string
}

export interface ProjectBacklog {
  readonly projectId: number
  /** Number of waiting writes, counted up to MOST_COUNTED. */
  readonly waiting: number
  /** The last waiting write in indexing order; undefined if none is waiting. */
  readonly last: WaitingWords | undefined
  /** Whether the marked write is still waiting. */
  readonly hasMark: boolean
}

/** Reads each searched project's backlog, and whether its write in `marks` is still waiting. */
export async function readBacklog(sql: Sql, marks: ReadonlyMap<number, WaitingWords>): Promise<ProjectBacklog[]> {
  const backlog: ProjectBacklog[] = []
  for (const projectId of await readSearched(sql)) {
    const { seq = null, version = null } = marks.get(projectId) ?? {}
    const [row] = await sql<[{ waiting: number; seq: string | null; version: string | null; hasMark: boolean }]>`
      select (select count(*)::int from (select from search_news where project_id = ${projectId} limit ${MOST_COUNTED}) n) as waiting,
        l.seq::text, l.version::text,
        exists (
          select from search_news
          where project_id = ${projectId} and seq = ${seq}::bigint and version = ${version}::bigint
        ) as "hasMark"
      from (select) one left join (
        select seq, version from search_news where project_id = ${projectId} order by seq desc, version desc limit 1
      ) l on true`
    const last = row.seq === null || row.version === null ? undefined : { seq: row.seq, version: row.version }
    backlog.push({ projectId, waiting: row.waiting, last, hasMark: row.hasMark })
  }
  return backlog
}
