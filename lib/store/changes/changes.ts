/** Reads a project's changes in their order (lib/store/changes/fold.ts). */
import type { Sql } from 'postgres'
import { SCHEMA_NAMES, type TableNames } from '../../database/tables.ts'
import { Refusal } from '../../errors.ts'
import { BLOCK, KEPT_DAYS } from './fold.ts'
import type { LogPosition, Position, WalkPosition } from './position.ts'

/** Whether a fold must run, because committed writes are missing from the log or because there is no log yet. */
export async function needsFold(sql: Sql, projectId: number, names: TableNames = SCHEMA_NAMES): Promise<boolean> {
  const rows = await sql.unsafe(
    `select from ${names.change_feeds} where project_id = $1 and not exists (
      select from ${names.change_news} where project_id = $1
    )`,
    [projectId],
    { prepare: true }
  )
  return rows.length === 0
}

export interface ChangePage {
  /** The value that `text` computes over the page's traces; null if none of the page's traces exists any longer. */
  readonly text: string | null
  /** The position at which the next page begins. */
  readonly next: Position
  /** Whether more writes have places up to the last place to read. */
  readonly hasMore: boolean
  /** Whether the page ends with the last committed write. */
  readonly isLast: boolean
}

interface Feed {
  readonly feed: string
  /** The log's last place. */
  readonly end: number
  readonly droppedTo: number
  readonly waits: boolean
}

/**
 * SQL for an aggregate over traces of project $1 as t, which may use the page's order `n`. The same text must be passed
 * for all pages of a kind, because it is part of a prepared statement.
 */
export type PageTextInSql = (names: TableNames) => string

const HIGHEST = Number.MAX_SAFE_INTEGER

/** Stands for the position after all writes that have places. */
export const NOW = 'now'

export interface ChangeRead {
  readonly projectId: number
  /** Undefined means the beginning: all stored traces. NOW means the end of the log. */
  readonly after: Position | typeof NOW | undefined
  readonly limit: number
  readonly text: PageTextInSql
  /** The last place of the log to read; by default, the log is read to its end. */
  readonly to?: number
  /** Whether all writes that were committed before the request have places. */
  readonly isFolded?: boolean
}

/** Reads the page after a position. Returns a user-facing reason if the position can no longer be continued. */
export async function readChanges(
  sql: Sql,
  read: ChangeRead,
  names: TableNames = SCHEMA_NAMES
): Promise<ChangePage | { readonly expired: string }> {
  const { after } = read
  if (after === NOW) return readNow(sql, read, names)
  return after?.in === 'log' ? readLog(sql, read, after, names) : readStored(sql, read, after, names)
}

const FEED = (names: TableNames) => `
  select f.id::text as feed, f.place as "end", f.dropped_to as "droppedTo",
    exists (select from ${names.change_news} where project_id = $1) as waits
  from ${names.change_feeds} f where f.project_id = $1`

/** Returns an empty page at the end of the log. */
async function readNow(sql: Sql, { projectId, isFolded = false }: ChangeRead, names: TableNames): Promise<ChangePage> {
  const [row] = await sql.unsafe<Feed[]>(FEED(names), [projectId], { prepare: true })
  if (row === undefined) throw new Refusal('unavailable', NO_ORDER)
  const next: Position = { in: 'log', feed: row.feed, place: row.end, read: BLOCK }
  return { text: null, next, hasMore: false, isLast: isFolded || !row.waits }
}

const NO_ORDER = 'Changes can be listed once the database accepts writes; retry later.'

interface StoredRow extends Feed {
  readonly text: string | null
  readonly to: number
  readonly last: number | null
  readonly rows: number
}

async function readStored(
  sql: Sql,
  { projectId, limit, text, to = HIGHEST, isFolded = false }: ChangeRead,
  after: WalkPosition | undefined,
  names: TableNames
): Promise<ChangePage | { readonly expired: string }> {
  const [row] = await sql.unsafe<StoredRow[]>(
    `with feed as materialized (${FEED(names)}), walk as materialized (
      select coalesce($3::bigint, (select max(seq) from ${names.traces} where project_id = $1), 0) as to
    ), next as materialized (
      select *, seq as n from ${names.traces}
      where project_id = $1 and seq > $2::bigint and seq <= (select w.to from walk w) order by seq limit $4
    )
    select feed.*, w.to, (select max(seq) from next) as last, (select count(*) from next) as rows,
      (select ${text(names)} from (select * from next order by n) t) as text
    from feed, walk w`,
    [projectId, after?.after ?? 0, after?.to ?? null, limit],
    { prepare: true }
  )
  if (row === undefined && after === undefined) {
    throw new Refusal('unavailable', NO_ORDER)
  }
  const feed = row?.feed ?? ''
  const position = after ?? { in: 'traces', feed, after: 0, to: row?.to ?? 0, place: row?.end ?? 0 }
  const expired = whyExpired(position, row)
  if (expired !== undefined || row === undefined) return { expired: expired ?? OTHER }
  const isOver = row.rows < limit || row.last === position.to
  const next: Position = isOver
    ? { in: 'log', feed, place: position.place, read: BLOCK }
    : { ...position, after: row.last as number }
  const hasMore = !isOver || position.place < Math.min(row.end, to)
  return { text: row.text, next, hasMore, isLast: !hasMore && row.end === position.place && (isFolded || !row.waits) }
}

interface LogRow extends Feed {
  readonly text: string | null
  readonly rows: number
  readonly place: number | null
  readonly read: number | null
}

async function readLog(
  sql: Sql,
  { projectId, limit, text, to = HIGHEST, isFolded = false }: ChangeRead,
  after: LogPosition,
  names: TableNames
): Promise<ChangePage | { readonly expired: string }> {
  // One more row is read, to see whether more follow. `offset 0` makes PostgreSQL look up each trace by its key.
  const [row] = await sql.unsafe<LogRow[]>(
    `with feed as materialized (${FEED(names)}), next as materialized (
      select c.place, u.i, u.seq, row_number() over (order by c.place, u.i) as n
      from ${names.change_log} c cross join lateral unnest(c.seqs) with ordinality as u (seq, i)
      where c.project_id = $1 and c.place >= $2::bigint and c.place <= $5::bigint
        and (c.place > $2::bigint or u.i > $3::bigint)
      order by c.place, u.i limit $4::int + 1
    ), found as materialized (
      select seq, min(n) as n from next where n <= $4::int group by seq
    )
    select feed.*, last.place, last.i as read, (select count(*) from next) as rows,
      (select ${text(names)} from (
        select t.*, f.n from found f cross join lateral (
          select * from ${names.traces} where project_id = $1 and seq = f.seq offset 0
        ) t order by f.n
      ) t) as text
    from feed left join (select place, i from next where n <= $4::int order by n desc limit 1) last on true`,
    [projectId, after.place, after.read, limit, to],
    { prepare: true }
  )
  const expired = whyExpired(after, row)
  if (expired !== undefined || row === undefined) return { expired: expired ?? OTHER }
  const next: Position =
    row.place === null || row.read === null ? after : { ...after, place: row.place, read: row.read }
  const hasMore = row.rows > limit
  return { text: row.text, next, hasMore, isLast: !hasMore && row.end <= to && (isFolded || !row.waits) }
}

const AGAIN = 'start again without a cursor'
const OTHER = `the cursor is from another database or project: ${AGAIN}`

function whyExpired({ feed, place }: Position, row: Feed | undefined): string | undefined {
  if (row === undefined || row.feed !== feed) return OTHER
  if (place > row.end) return `the database was restored to a state before this cursor: ${AGAIN}`
  return place < row.droppedTo
    ? `changes are kept for ${KEPT_DAYS} days, and this cursor is older: ${AGAIN}`
    : undefined
}

/** Returns the last place of the project's log; 0 if there is no log. */
export async function readLastPlace(sql: Sql, projectId: number): Promise<number> {
  const [row] = await sql<{ place: number }[]>`select place from change_feeds where project_id = ${projectId}`
  return row?.place ?? 0
}

/** Ids of a page's traces, separated by commas. */
export const IDS_IN_SQL: PageTextInSql = () => `string_agg(replace(t.id::text, '-', ''), ',' order by t.n)`
