/**
 * Adds the words of traces to their project's index (lib/search/segment.ts). Only one process indexes at a time.
 *
 * Each write also adds a row to search_news, in the same transaction. The trace's words are then added to search_terms
 * as terms, and to a segment once there are enough rows. If enough writes for a whole segment are waiting, the segment
 * is built directly from these writes, at half the cost. Segments for traces from before search was turned on are built
 * the same way, newest traces first. A changed trace is indexed again, so a trace may be in several segments. A search
 * reads each trace before showing the trace, so outdated entries are harmless.
 *
 * Rows and segments of servers that searched fewer texts (lib/search/texts.ts) are rebuilt from the traces, newest
 * first. Until then, they find a trace by its other texts.
 */
import type { Sql } from 'postgres'
import {
  keepMembers,
  makeBuckets,
  packMembers,
  readMembers,
  SEGMENT_TRACES,
  type SegmentMember
} from '../../search/segment.ts'
import { TEXTS } from '../../search/texts.ts'
import { termsOf } from '../../search/words.ts'
import { inTransaction } from '../transactions.ts'
import { inMs, readSources, type TextSource } from './sources.ts'
import { isTooEarly, isUnswept } from './state.ts'

/** Awaited between small pieces of work to let requests run. */
export type Rest = () => Promise<unknown>

/** Number of writes whose terms are added to search_terms at a time. */
const AT_ONCE = 256
/** Number of traces read at a time. Indexing this number takes a few milliseconds. */
const READ_AT_ONCE = 32
/**
 * Maximum number of terms in memory, each of which takes 12 bytes. If the traces have more terms, a segment contains
 * fewer traces.
 */
const MOST_TERMS = 2 ** 21

interface Indexed extends SegmentMember {
  readonly terms: Int32Array
}

const PROJECT_IS_OFF = new Error('search was turned off in the meantime')

/** Runs work that writes to a project's index. Throws PROJECT_IS_OFF if search has been turned off. */
async function writing(sql: Sql, projectId: number, work: () => Promise<void>): Promise<void> {
  await inTransaction(sql, async () => {
    const rows = await sql`select from projects where id = ${projectId} and search for share`
    if (rows.length === 0) throw PROJECT_IS_OFF
    await work()
  })
}

/** Whether the error was thrown because search was turned off during indexing. */
export const isOff = (error: unknown): boolean => error === PROJECT_IS_OFF

/** Indexes at most `most` waiting writes. Returns the number of indexed writes. */
export async function indexNews(sql: Sql, projectId: number, rest: Rest, most = SEGMENT_TRACES): Promise<number> {
  const waiting = await sql<{ seq: number; version: number }[]>`
    select seq, version from search_news where project_id = ${projectId} order by seq, version limit ${most}`
  if (waiting.length === 0) return 0
  // If the waiting writes are to only a few traces, their segment would be small.
  const isEnough = waiting.length === most && seqsOf(waiting).length >= most / 2
  const some = isEnough ? waiting : waiting.slice(0, AT_ONCE)
  const { indexed, looked } = await read(sql, projectId, seqsOf(some), rest)
  const done = new Set(looked)
  const news = some.filter(({ seq }) => done.has(seq))
  const segment = isEnough ? await segmentOf(indexed, rest) : undefined
  await writing(sql, projectId, async () => {
    if (segment === undefined) await writeTerms(sql, projectId, indexed)
    else {
      await writeSegment(sql, projectId, segment)
      await deleteTerms(sql, projectId, looked)
    }
    // Deletes only the rows that were read, not rows added since then.
    await sql`
      delete from search_news n
      using unnest(${news.map(each => each.seq)}::bigint[], ${news.map(each => each.version)}::bigint[]) as d (seq, version)
      where n.project_id = ${projectId} and n.seq = d.seq and n.version = d.version`
  })
  return news.length
}

const seqsOf = (rows: readonly { readonly seq: number }[]): number[] => [...new Set(rows.map(({ seq }) => seq))]

async function writeTerms(sql: Sql, projectId: number, indexed: readonly Indexed[]): Promise<void> {
  // The arrays are passed as strings, because a PostgreSQL array cannot contain arrays of different lengths.
  await sql`
    insert into search_terms (project_id, seq, started_at, terms, covered)
    select ${projectId}, seq, to_timestamp(ms / 1000.0), terms::int[], greatest(cardinality(terms::int[]), 1)
    from unnest(
      ${indexed.map(each => each.seq)}::bigint[], ${indexed.map(each => each.startedMs)}::bigint[],
      ${indexed.map(each => `{${each.terms.join(',')}}`)}::text[]
    ) as i (seq, ms, terms)
    on conflict (project_id, seq) do update
      set started_at = excluded.started_at, terms = excluded.terms, covered = excluded.covered`
}

async function deleteTerms(sql: Sql, projectId: number, seqs: readonly number[]): Promise<void> {
  await sql`delete from search_terms where project_id = ${projectId} and seq = any (${seqs as number[]}::bigint[])`
}

/**
 * Reads traces until the number of their terms reaches the limit. `looked` lists the traces that were read or that no
 * longer exist.
 */
async function read(sql: Sql, projectId: number, seqs: readonly number[], rest: Rest, most = MOST_TERMS) {
  const indexed: Indexed[] = []
  let looked = 0
  for (let terms = 0; looked < seqs.length && terms < most; looked += READ_AT_ONCE) {
    for (const source of await readSources(sql, projectId, seqs.slice(looked, looked + READ_AT_ONCE))) {
      const each = indexedOf(source)
      terms += each.terms.length
      indexed.push(each)
    }
    await rest()
  }
  return { indexed, looked: seqs.slice(0, looked) }
}

const indexedOf = ({ seq, startedMs, texts }: TextSource): Indexed => ({
  seq,
  startedMs,
  terms: termsOf(texts.map(({ text }) => text))
})

/** Builds a segment from search_terms if there are enough rows. Returns the number of rows taken. */
export async function foldTerms(sql: Sql, projectId: number, rest: Rest, least = SEGMENT_TRACES): Promise<number> {
  const [{ count }] = await sql<[{ count: number }]>`
    select count(*)::int as count from (
      select from search_terms where project_id = ${projectId} limit ${SEGMENT_TRACES}
    ) few`
  if (count < least) return 0
  const rows = await sql<{ seq: number; startedMs: number; terms: string; isCovered: boolean; isThere: boolean }[]>`
    select seq, ${sql.unsafe(inMs('started_at'))} as "startedMs", array_send(terms) as terms,
      covered = greatest(cardinality(terms), 1) as "isCovered",
      exists (select from traces t where t.project_id = ${projectId} and t.seq = s.seq) as "isThere"
    from search_terms s where project_id = ${projectId} order by seq limit ${SEGMENT_TRACES}`
  const indexed = rows
    .filter(({ isThere }) => isThere)
    .map(({ seq, startedMs, terms }) => ({ seq, startedMs, terms: readInts(terms) }))
  const segment = await segmentOf(indexed, rest)
  const isCovered = rows.every(row => row.isCovered)
  await writing(sql, projectId, async () => {
    await writeSegment(sql, projectId, segment, isCovered ? TEXTS : TEXTS - 1)
    await deleteTerms(sql, projectId, seqsOf(rows))
  })
  return rows.length
}

/**
 * Rebuilds some rows of search_terms that lack texts or, if there are none, the newest segment that lacks texts.
 * Returns the number of traces.
 */
export async function rebuildOld(sql: Sql, projectId: number, rest: Rest): Promise<number> {
  return (await rebuildTerms(sql, projectId, rest)) || (await rebuildSegment(sql, projectId, rest))
}

async function rebuildTerms(sql: Sql, projectId: number, rest: Rest): Promise<number> {
  const rows = await sql<{ seq: number }[]>`
    select seq from search_terms where project_id = ${projectId} and covered = 0 order by seq desc limit ${AT_ONCE}`
  if (rows.length === 0) return 0
  const { indexed, looked } = await read(sql, projectId, seqsOf(rows), rest)
  const isThere = new Set(seqsOf(indexed))
  await writing(sql, projectId, async () => {
    await writeTerms(sql, projectId, indexed)
    await deleteTerms(
      sql,
      projectId,
      looked.filter(seq => !isThere.has(seq))
    )
  })
  return looked.length
}

/**
 * Replaces a segment under its number, so that a search that has read the list of segments finds the segment's traces
 * (lib/store/search/trace-search.ts). The segment keeps all its traces, even if they have more than MOST_TERMS terms.
 */
async function rebuildSegment(sql: Sql, projectId: number, rest: Rest): Promise<number> {
  const [row] = await sql<{ segment: number; members: string }[]>`
    select segment, members from search_segments
    where project_id = ${projectId} and texts < ${TEXTS} order by newest desc, segment desc limit 1`
  if (row === undefined) return 0
  const seqs = seqsOf(readMembers(Buffer.from(row.members, 'hex')))
  const { indexed } = await read(sql, projectId, seqs, rest, Number.POSITIVE_INFINITY)
  const { members, buckets } = await segmentOf(indexed, rest)
  await replaceSegment(sql, projectId, { segment: row.segment, members, buckets, texts: TEXTS })
  return seqs.length
}

/** Layout of a binary int[] without nulls: a 20-byte header, then a 4-byte length and a 4-byte value per element. */
const INTS = { at: 20, each: 8, value: 4 }

/** Reads a binary int[], because the driver takes much longer to parse the text form. */
function readInts(hex: string): Int32Array {
  const bytes = Buffer.from(hex, 'hex')
  const count = Math.max(0, (bytes.length - INTS.at) / INTS.each)
  const ints = new Int32Array(count)
  for (let i = 0; i < count; i++) ints[i] = bytes.readInt32BE(INTS.at + i * INTS.each + INTS.value)
  return ints
}

/** Indexing progress for traces from before search was turned on. */
interface Fill {
  readonly backTo: string | null
  readonly backId: string | null
  readonly isSettled: boolean
  readonly isDone: boolean
}

/**
 * Builds a segment of the next traces from before search was turned on. Returns the number of traces in the segment;
 * undefined if all traces are indexed, or if indexing may not start yet.
 */
export async function fillBack(
  sql: Sql,
  projectId: number,
  rest: Rest,
  { settleMs, most = SEGMENT_TRACES }: { readonly settleMs?: number; readonly most?: number } = {}
): Promise<number | undefined> {
  const [fill] = await sql<Fill[]>`
    select back_to as "backTo", back_id as "backId", is_done as "isDone",
      not (${isTooEarly(sql, settleMs)}) as "isSettled"
    from search_fills where project_id = ${projectId}`
  if (fill === undefined) {
    await writing(sql, projectId, async () => {
      await sql`insert into search_fills (project_id) values (${projectId}) on conflict do nothing`
    })
    return undefined
  }
  if (fill.isDone || !fill.isSettled) return undefined
  const behind =
    fill.backTo === null ? sql`true` : sql`(started_at, id) < (${fill.backTo}::timestamptz, ${fill.backId}::uuid)`
  const next = await sql<{ seq: number; startedAt: string; id: string }[]>`
    select seq, started_at as "startedAt", id from traces
    where project_id = ${projectId} and ${behind} order by started_at desc, id desc limit ${most}`
  const { indexed, looked } = await read(sql, projectId, seqsOf(next), rest)
  const segment = await segmentOf(indexed, rest)
  const last = next[looked.length - 1]
  await writing(sql, projectId, async () => {
    await writeSegment(sql, projectId, segment)
    await sql`
      update search_fills set is_done = ${looked.length < most && looked.length === next.length}, back_to = coalesce(${last?.startedAt ?? null}, back_to),
        back_id = coalesce(${last?.id ?? null}::uuid, back_id)
      where project_id = ${projectId}`
  })
  return looked.length
}

type Segment = Awaited<ReturnType<typeof segmentOf>>

async function segmentOf(indexed: readonly Indexed[], rest: Rest) {
  const members = [...indexed].sort((a, b) => b.startedMs - a.startedMs || b.seq - a.seq)
  const terms = members.map(member => member.terms)
  return { members, buckets: await makeBuckets(terms, rest) }
}

async function writeSegment(sql: Sql, projectId: number, { members, buckets }: Segment, texts = TEXTS): Promise<void> {
  if (members.length === 0) return
  const [{ segment }] = await sql<[{ segment: number }]>`
    select coalesce(max(segment), 0) + 1 as segment from search_segments where project_id = ${projectId}`
  await sql`
    insert into search_segments (project_id, segment, newest, oldest, members, texts)
    values (
      ${projectId}, ${segment}, to_timestamp(${members[0]!.startedMs} / 1000.0),
      to_timestamp(${members.at(-1)!.startedMs} / 1000.0), ${packMembers(members)}, ${texts}
    )`
  await writePostings(sql, projectId, segment, buckets)
}

async function writePostings(sql: Sql, projectId: number, segment: number, buckets: readonly Buffer[]): Promise<void> {
  const full = [...buckets.keys()].filter(bucket => buckets[bucket]!.length > 0)
  await sql`
    insert into search_postings (project_id, segment, bucket, postings)
    select ${projectId}, ${segment}::bigint, bucket, postings
    from unnest(${full}::smallint[], ${full.map(bucket => buckets[bucket]!.toString('hex'))}::bytea[]) as b (bucket, postings)`
}

/** Removes deleted traces from one segment that is due for a sweep. Returns whether a segment was due. */
export async function sweepSegment(sql: Sql, projectId: number, rest: Rest, sweepMs?: number): Promise<boolean> {
  const [row] = await sql<{ segment: number; texts: number; members: string }[]>`
    select segment, texts, members from search_segments
    where project_id = ${projectId} and ${isUnswept(sql, sweepMs)} order by swept_at limit 1`
  if (row === undefined) return false
  const { segment, texts } = row
  const members = readMembers(Buffer.from(row.members, 'hex'))
  const there = await sql<{ seq: number }[]>`
    select seq from traces where project_id = ${projectId} and seq = any (${members.map(({ seq }) => seq)}::bigint[])`
  const kept = new Set(there.map(({ seq }) => seq))
  if (kept.size === members.length) {
    await writing(sql, projectId, async () => {
      await sql`update search_segments set swept_at = now() where project_id = ${projectId} and segment = ${segment}`
    })
    return true
  }
  const postings = await sql<{ bucket: number; postings: string }[]>`
    select bucket, postings from search_postings where project_id = ${projectId} and segment = ${segment}`
  const left = members.filter(({ seq }) => kept.has(seq))
  const buckets = await keepMembers(
    postings.map(({ bucket, postings }) => ({ bucket, bytes: Buffer.from(postings, 'hex') })),
    members.map(({ seq }) => kept.has(seq)),
    rest
  )
  await replaceSegment(sql, projectId, { segment, members: left, buckets, texts })
  return true
}

interface Replacement {
  readonly segment: number
  readonly members: readonly SegmentMember[]
  readonly buckets: readonly Buffer[]
  readonly texts: number
}

/** Replaces a segment, or deletes it if no traces are left. */
async function replaceSegment(
  sql: Sql,
  projectId: number,
  { segment, members, buckets, texts }: Replacement
): Promise<void> {
  await writing(sql, projectId, async () => {
    await sql`delete from search_postings where project_id = ${projectId} and segment = ${segment}`
    if (members.length === 0) {
      await sql`delete from search_segments where project_id = ${projectId} and segment = ${segment}`
      return
    }
    await sql`
      update search_segments
      set newest = to_timestamp(${members[0]!.startedMs} / 1000.0),
        oldest = to_timestamp(${members.at(-1)!.startedMs} / 1000.0),
        swept_at = now(), members = ${packMembers(members)}, texts = ${texts}
      where project_id = ${projectId} and segment = ${segment}`
    await writePostings(sql, projectId, segment, buckets)
  })
}
