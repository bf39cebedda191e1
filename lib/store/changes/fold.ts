/**
 * Gives written traces their places in the project's log, which is the order of changes.
 *
 * A fold moves rows from change_news to change_log. It sees only what is committed, and only one fold of a project runs
 * at a time, so a write gets its place after its commit, and places become visible in their order. A reader that has
 * read the log up to a place has therefore missed nothing, however long other transactions stay open.
 */
import { randomBytes } from 'node:crypto'
import type { Sql } from 'postgres'
import { inTransaction } from '../transactions.ts'

/** Maximum number of traces in a row of the log. A page reads whole rows. */
export const BLOCK = 1000
/** Maximum number of notes per fold. A fold of fewer has folded all notes that were committed before it. */
export const MOST_NEWS = 1000
/** How long the log keeps a write. */
export const KEPT_DAYS = 30
/** Maximum number of rows of the log that are dropped at a time. */
const MOST_DROPPED = 1000

/** Folds at most `most` of a project's notes. Returns the number of folded notes. */
export async function foldChanges(sql: Sql, projectId: number, most = MOST_NEWS): Promise<number> {
  return inTransaction(sql, async () => {
    const place = await lockFeed(sql, projectId)
    const news = await sql<{ seqs: number[] }[]>`
      delete from change_news where project_id = ${projectId} and ctid = any (
        array(select ctid from change_news where project_id = ${projectId} limit ${most})
      ) returning seqs`
    const blocks = blocksOf(news.map(({ seqs }) => seqs))
    if (blocks.length === 0) return news.length
    await sql`
      insert into change_log (project_id, place, seqs)
      select ${projectId}, ${place}::bigint + n, seqs::bigint[]
      from unnest(${blocks}::text[]) with ordinality as b (seqs, n)`
    await sql`update change_feeds set place = ${place + blocks.length} where project_id = ${projectId}`
    return news.length
  })
}

/** Returns rows of the log, as PostgreSQL's notation of arrays. Each trace is in one row only. */
function blocksOf(news: readonly (readonly number[])[]): string[] {
  const sorted = Float64Array.from(new Set(news.flat())).sort()
  return Array.from(
    { length: Math.ceil(sorted.length / BLOCK) },
    (_, i) => `{${sorted.subarray(i * BLOCK, (i + 1) * BLOCK).join(',')}}`
  )
}

/** Locks the project's log until the transaction ends, and returns the log's last place. Creates the log if needed. */
async function lockFeed(sql: Sql, projectId: number): Promise<number> {
  const lock = () => sql<{ place: number }[]>`select place from change_feeds where project_id = ${projectId} for update`
  const [feed] = await lock()
  if (feed !== undefined) return feed.place
  await sql`
    insert into change_feeds (project_id, id) values (${projectId}, ${randomBytes(6).readUIntBE(0, 6)})
    on conflict do nothing`
  const [made] = await lock()
  // A deletion of the project may have removed the row in between. Its notes are gone as well.
  return made?.place ?? 0
}

/** Counts each project's rows of change_news. */
export function readUnfolded(sql: Sql): Promise<{ projectId: number; rows: number }[]> {
  return sql`
    select project_id as "projectId", count(*) as rows from change_news group by project_id order by project_id`
}

/** Returns the projects that have a log. */
export async function readLogged(sql: Sql): Promise<number[]> {
  const rows = await sql<
    { projectId: number }[]
  >`select project_id as "projectId" from change_feeds order by project_id`
  return rows.map(({ projectId }) => projectId)
}

/** Drops the oldest rows of a project's log if they are too old. Returns the number of rows dropped. */
export async function dropOldChanges(sql: Sql, projectId: number, keptDays = KEPT_DAYS): Promise<number> {
  const readOld = () => sql<{ place: number | null }[]>`
    select max(place) as place from (
      select place, noted_at from change_log where project_id = ${projectId} order by place limit ${MOST_DROPPED}
    ) oldest where noted_at < now() - ${keptDays} * interval '1 day'`
  const [old] = await readOld()
  if (old?.place == null) return 0
  const { place } = old
  return inTransaction(sql, async () => {
    await lockFeed(sql, projectId)
    await sql`
      update change_feeds set dropped_to = greatest(dropped_to, ${place}::bigint) where project_id = ${projectId}`
    const { count } = await sql`delete from change_log where project_id = ${projectId} and place <= ${place}::bigint`
    return count
  })
}
