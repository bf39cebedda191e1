/** Reads and writes an instance's tables of unbounded length, except traces, a page at a time. */
import type { Sql } from 'postgres'
import type { PlacedMessages } from '../../trace/span-messages.ts'
import type { AuditRow } from '../audit.ts'
import type { Numbers, Restoration } from './restoration.ts'

/** Number of rows read at a time. */
const PAGE_ROWS = 1000

/**
 * Reads messages that arrived as log records and whose trace does not exist. Such messages wait only a few minutes for
 * their spans, so few exist. Messages of existing traces are part of the traces' export lines.
 */
export async function* readStrayMessages(sql: Sql, projectId: number): AsyncGenerator<readonly PlacedMessages[]> {
  let last: PlacedMessages | undefined
  for (;;) {
    const after =
      last === undefined
        ? sql`true`
        : sql`(m.trace_id, m.span_id, m.digest) > (${last.traceId}::uuid, ${last.spanId}::bytea, ${last.digest}::bytea)`
    const rows: PlacedMessages[] = await sql<PlacedMessages[]>`
      select trace_id as "traceId", span_id as "spanId", micros, place, digest, input, output,
        event, facts, call
      from span_messages m
      where project_id = ${projectId} and ${after}
        and not exists (select from traces t where t.project_id = ${projectId} and t.id = m.trace_id)
      order by m.trace_id, m.span_id, m.digest limit ${PAGE_ROWS}`
    if (rows.length === 0) return
    yield rows
    last = rows.at(-1)
  }
}

/** The user who gave a score in the dashboard. */
export interface Author {
  readonly traceId: string
  readonly scoreId: string
  readonly userId: number
}

export async function* readAuthors(sql: Sql, projectId: number): AsyncGenerator<readonly Author[]> {
  let last: (Author & { readonly traceSeq: number; readonly seq: number }) | undefined
  for (;;) {
    const rows: (Author & { readonly traceSeq: number; readonly seq: number })[] = await sql`
      select t.id as "traceId", c.id as "scoreId", c.author_id as "userId", c.trace_seq as "traceSeq", c.seq
      from scores c join traces t on t.project_id = ${projectId} and t.seq = c.trace_seq
      where c.project_id = ${projectId} and c.author_id is not null
        and (c.trace_seq, c.seq) > (${last?.traceSeq ?? -1}, ${last?.seq ?? -1})
      order by c.trace_seq, c.seq limit ${PAGE_ROWS}`
    if (rows.length === 0) return
    yield rows.map(({ traceId, scoreId, userId }) => ({ traceId, scoreId, userId }))
    last = rows.at(-1)
  }
}

export interface StoredAuditEntry extends Pick<AuditRow, 'at' | 'action' | 'detail'> {
  /** Not in backups from before migration 26. */
  readonly client?: string | null
  readonly userId: number | null
  readonly accountId: number | null
  readonly projectId: number | null
}

export async function* readAuditRows(sql: Sql): AsyncGenerator<readonly StoredAuditEntry[]> {
  let after = 0
  for (;;) {
    const rows: (StoredAuditEntry & { readonly id: number })[] = await sql`
      select id, at, user_id as "userId", account_id as "accountId", project_id as "projectId", action, detail, client
      from audit where id > ${after} order by id limit ${PAGE_ROWS}`
    if (rows.length === 0) return
    yield rows.map(({ id: _, ...entry }) => entry)
    after = rows.at(-1)!.id
  }
}

/** Stores the authors of a project's scores. */
export async function setAuthors(sql: Sql, projectId: number, authors: readonly Author[], users: Numbers) {
  const known = authors.map(author => ({ ...author, userId: users.get(author.userId) ?? author.userId }))
  await sql`
    update scores c set author_id = a.author_id
    from unnest(
      ${known.map(({ traceId }) => traceId)}::uuid[], ${known.map(({ scoreId }) => scoreId)}::bytea[],
      ${known.map(({ userId }) => userId)}::int[]
    ) as a (trace_id, score_id, author_id)
    join traces t on t.project_id = ${projectId} and t.id = a.trace_id
    where c.project_id = ${projectId} and c.trace_seq = t.seq and c.id = a.score_id`
}

/**
 * Stores audit entries. If the database already had rows before the restore, maps the ids in the entries and omits ids
 * that are not in the backup. Otherwise, stores the entries unchanged.
 */
export async function insertAudit(sql: Sql, entries: readonly StoredAuditEntry[], restoration: Restoration) {
  const { into, accounts, projects, users } = restoration
  const number = (numbers: Numbers, id: number | null) => (into && id !== null ? (numbers.get(id) ?? null) : id)
  const rows = entries.map(entry => ({
    ...entry,
    userId: number(users, entry.userId),
    accountId: number(accounts, entry.accountId),
    projectId: number(projects, entry.projectId)
  }))
  await sql`
    insert into audit (at, user_id, account_id, project_id, action, detail, client)
    select at, "userId", "accountId", "projectId", action, detail::json, client
    from json_to_recordset(${JSON.stringify(rows)}::json) as r (
      at timestamptz, "userId" int, "accountId" int, "projectId" int, action text, detail text, client text
    )`
}
