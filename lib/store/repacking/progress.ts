/**
 * Tracks the progress of repacking. Each project's traces are walked in the order of their internal numbers. Traces
 * that are not complete and calm when the walk passes them wait in repack_waits.
 *
 * Writes do not record their time. Instead, marks show the age of a version: at the time of a mark, every number drawn
 * so far was below the mark's number. A number is used within KEPT_MS of being drawn
 * (lib/store/write/trace-numbers.ts).
 */
import type { Sql } from 'postgres'
import { KEPT_MS } from '../write/trace-numbers.ts'

/** Marks are at least this far apart, or a tenth of the waiting time if that is shorter. */
const MARK_MS = 60_000
/**
 * Age from which all numbers below a mark have been used: a batch ends less than a minute after it has taken its
 * numbers.
 */
const SETTLED_MS = KEPT_MS + 60_000
/** Limits of a waiting trace's next pause, which is as long as the trace has waited so far. */
const PAUSE = { leastMs: 1000, most: '1 day' }
export const MOST_WAITING = 10_000

export interface Marks {
  /** A trace whose version is below this number is calm. */
  readonly calm: number
  /** No further trace gets a seq below this number. */
  readonly settled: number
}

/** Stores a mark if the last one is old enough, and drops marks that are no longer needed. */
export async function noteMark(sql: Sql, afterMs: number): Promise<void> {
  const apartMs = Math.min(MARK_MS, afterMs / 10)
  await sql`
    insert into repack_marks (below) select nextval('trace_numbers')
    where not exists (select from repack_marks where noted_at > now() - ${apartMs} * interval '1 ms')
    on conflict do nothing`
  const keptMs = Math.max(afterMs, SETTLED_MS)
  await sql`
    delete from repack_marks where noted_at < (
      select max(noted_at) from repack_marks where noted_at <= now() - ${keptMs} * interval '1 ms'
    )`
}

/** Returns the marks of traces that were last written at least `afterMs` ago; 0 if there is no such mark yet. */
export async function readMarks(sql: Sql, afterMs: number): Promise<Marks> {
  const below = (ms: number) =>
    sql`coalesce((select max(below) from repack_marks where noted_at <= now() - ${ms} * interval '1 ms'), 0)`
  const [row] = await sql<[Marks]>`
    select ${below(afterMs)} as calm, ${below(Math.max(afterMs, SETTLED_MS))} as settled`
  return row
}

export interface WalkedProject {
  readonly projectId: number
  /** The walk has passed traces with a seq up to this number. */
  readonly to: number
}

export const readWalks = (sql: Sql): Promise<WalkedProject[]> => sql<WalkedProject[]>`
  select id as "projectId", repacked_to as "to" from projects order by id`

export async function moveOn(sql: Sql, projectId: number, to: number): Promise<void> {
  await sql`update projects set repacked_to = ${to} where id = ${projectId} and repacked_to < ${to}`
}

export interface WalkedTrace {
  readonly seq: number
  readonly version: number
  readonly isEnded: boolean
  readonly spanCount: number
  readonly estimatedBytes: number
  /** Bytes of the input or output, whichever is longer, that the trace's row has. */
  readonly ownBytes: number
  /** Whether the trace was recorded by more than one request, or by OpenTelemetry. */
  readonly isGrown: boolean
}
const WALKED = `t.seq, t.version, t.ended_at is not null as "isEnded", t.span_count as "spanCount",
  t.estimated_bytes as "estimatedBytes",
  coalesce(greatest(octet_length(t.input::text), octet_length(t.output::text)), 0) as "ownBytes",
  t.end_hash is not null or t.ranks is not null as "isGrown"`

/** Returns the project's next traces with a seq above `after` and below `below`. */
export const readNext = (sql: Sql, projectId: number, after: number, below: number, limit: number) =>
  sql<WalkedTrace[]>`
    select ${sql.unsafe(WALKED)} from traces t
    where project_id = ${projectId} and seq > ${after} and seq < ${below} order by seq limit ${limit}`

/** Returns the project's next waiting traces with a seq above `after`, due or not, up to `to`. */
export const readWaits = (sql: Sql, projectId: number, after: number, to: number, limit: number) =>
  sql<WalkedTrace[]>`
    select ${sql.unsafe(WALKED)} from repack_waits w join traces t on t.project_id = ${projectId} and t.seq = w.seq
    where w.project_id = ${projectId} and w.seq > ${after} and w.seq <= ${to} order by w.seq limit ${limit}`

/** Returns the waiting traces that are due. A trace that was deleted has no `version`. */
export const readDue = (sql: Sql, projectId: number, limit: number) =>
  sql<(WalkedTrace | { readonly seq: number; readonly version: null })[]>`
    select ${sql.unsafe(WALKED)}, w.seq from (
      select seq from repack_waits where project_id = ${projectId} and due_at <= now() order by due_at limit ${limit}
    ) w left join traces t on t.project_id = ${projectId} and t.seq = w.seq`

/** Makes traces that the walk passes wait. They are due immediately, and then after increasing pauses. */
export async function addWaits(sql: Sql, projectId: number, seqs: readonly number[]): Promise<void> {
  if (seqs.length === 0) return
  await sql`
    insert into repack_waits (project_id, seq)
    select ${projectId}::int, seq from unnest(${seqs as number[]}::bigint[]) as w (seq)
    on conflict (project_id, seq) do nothing`
}

/** Postpones waiting traces: each waits again for as long as it has waited. */
export async function postpone(sql: Sql, projectId: number, seqs: readonly number[], afterMs: number): Promise<void> {
  if (seqs.length === 0) return
  const leastMs = Math.max(PAUSE.leastMs, afterMs)
  // Computed in UTC, because adding an interval to a timestamptz depends on the session, and some servers reject such
  // updates.
  await sql`
    update repack_waits
    set due_at = timezone('UTC', timezone('UTC', now()) + least(
      greatest(timezone('UTC', now()) - timezone('UTC', since), ${leastMs} * interval '1 ms'), ${PAUSE.most}::interval))
    where project_id = ${projectId} and seq = any (${seqs as number[]}::bigint[])`
}

export async function forgetWaits(sql: Sql, projectId: number, seqs: readonly number[]): Promise<void> {
  if (seqs.length === 0) return
  await sql`delete from repack_waits where project_id = ${projectId} and seq = any (${seqs as number[]}::bigint[])`
}

export interface RepackBacklog {
  readonly projectId: number
  /** Number of calm traces that the walk has not passed, counted up to MOST_WAITING. */
  readonly waiting: number
  /** The last of these traces that was counted; null if there is none. */
  readonly last: number | null
  readonly to: number
}

/** Reads each project's calm traces that the walk has not passed. */
export async function readRepackBacklog(sql: Sql, afterMs: number): Promise<RepackBacklog[]> {
  const { settled } = await readMarks(sql, afterMs)
  const backlog: RepackBacklog[] = []
  for (const { projectId, to } of await readWalks(sql)) {
    backlog.push({ projectId, to, ...(await countUnpassed(sql, projectId, to, settled)) })
  }
  return backlog
}

async function countUnpassed(sql: Sql, projectId: number, to: number, below: number) {
  const [row] = await sql<[{ waiting: number; last: number | null }]>`
    select count(*)::int as waiting, max(seq) as last from (
      select seq from traces
      where project_id = ${projectId} and seq > ${to} and seq < ${below} order by seq limit ${MOST_WAITING}
    ) t`
  return row
}
