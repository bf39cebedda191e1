/**
 * Packs a trace's texts again (lib/rows/repacking.ts), and lets the trace share its own texts with its spans
 * (lib/rows/trace-texts.ts). The texts are read and packed without a lock. They are written
 * only if the trace still has the version that was read, because every write changes the version. The row of the trace
 * is locked meanwhile, so that writes, patches and deletions of this trace wait.
 *
 * What readers see of the trace stays the same, and so do its version and hashes. A reader sees the old rows or the new
 * ones: it reads all spans in one statement, or in a snapshot.
 */
import type { Sql } from 'postgres'
import type { SpanTexts } from '../../rows/packed-texts.ts'
import {
  isWorthwhile,
  mayShare,
  mayShrink,
  type RepackedRow,
  Repacker,
  type StoredSizes,
  spansOfGroup
} from '../../rows/repacking.ts'
import { SharedFinder, type SharedTexts } from '../../rows/trace-texts.ts'
import { inSnapshot, inTransaction } from '../transactions.ts'
import type { WalkedTrace } from './progress.ts'

/** Maximum number of stored bytes that are read at once, unless one group or span has more. */
const READ_BYTES = 4 * 1024 * 1024
/** Maximum number of rows per statement that writes. */
const WRITTEN_ROWS = 1000

const SIZE = ['input', 'output', 'attributes', 'events'].map(name => `coalesce(pg_column_size(${name}), 0)`).join(' + ')
/** A coding agent's step, as in lib/rows/packed-texts.ts. */
const IS_STEP = `coalesce(call_details::text like '%"step"%', false)`

type Sizes = Omit<StoredSizes, 'estimatedBytes'>

/** A complete trace whose texts may become smaller. If `packs` is false, only by sharing its own texts. */
export interface Shrinkable extends WalkedTrace {
  readonly packs: boolean
}

/** Returns the traces whose texts may become smaller. */
export async function findShrinkable(
  sql: Sql,
  projectId: number,
  traces: readonly WalkedTrace[]
): Promise<readonly Shrinkable[]> {
  if (traces.length === 0) return []
  const rows = await sql<(Sizes & { seq: number })[]>`
    select trace_seq as seq, count(*) as spans, count(distinct substr(packed, 3, 8)) as groups,
      coalesce(sum(pg_column_size(packed)), 0)::bigint as "packedBytes",
      sum(${sql.unsafe(SIZE)})::bigint as "plainBytes",
      bool_or(${sql.unsafe(IS_STEP)}) as "hasSteps"
    from spans where project_id = ${projectId} and trace_seq = any (${traces.map(({ seq }) => seq)}::bigint[])
    group by trace_seq`
  const sizes = new Map(rows.map(row => [row.seq, row]))
  return traces.flatMap(trace => {
    const { seq, estimatedBytes } = trace
    const stored = sizes.get(seq)
    if (stored === undefined) return []
    const packs = mayShrink({ ...stored, estimatedBytes })
    return packs || mayShare({ ...stored, estimatedBytes }, trace) ? { ...trace, packs } : []
  })
}

export interface Repacked {
  /** Bytes of the spans' texts before and after, as stored. */
  readonly before: number
  readonly after: number
  /** Whether the texts were written. They are not if that would save too little, or if the trace has changed. */
  readonly outcome: 'repacked' | 'kept' | 'changed'
}

type Written = Pick<Shrinkable, 'seq' | 'version' | 'packs'>

/** Packs the trace's texts again without writing them. Returns the bytes as stored, and as they would be stored. */
export async function tryRepacking(
  sql: Sql,
  projectId: number,
  trace: Pick<Shrinkable, 'seq' | 'packs'>
): Promise<Omit<Repacked, 'outcome'>> {
  const { rows, before } = await inSnapshot(sql, () => pack(sql, projectId, trace))
  const after = rows.reduce((sum, { packed }) => sum + packed.length, 0)
  return isWorthwhile(rows.length, before, after) ? { before, after } : { before, after: before }
}

/** Packs the texts of a complete trace again. */
export async function repackTrace(sql: Sql, projectId: number, trace: Written): Promise<Repacked> {
  const { rows, before, shared } = await inSnapshot(sql, () => pack(sql, projectId, trace))
  const after = rows.reduce((sum, { packed }) => sum + packed.length, 0)
  const packed = isWorthwhile(rows.length, before, after) ? rows : []
  const isShared = shared.inputSpanId !== null || shared.outputSpanId !== null
  if (packed.length === 0 && !isShared) return { before, after, outcome: 'kept' }
  const isWritten = await inTransaction(sql, async () => {
    if (!(await lock(sql, projectId, trace))) return false
    await writeRows(sql, projectId, trace, packed)
    if (isShared) await writeShared(sql, projectId, trace, shared)
    return true
  })
  return { before, after, outcome: isWritten ? 'repacked' : 'changed' }
}

interface ListedRow {
  readonly id: string
  /** Id of the first span of the group that the row's slice belongs to. */
  readonly groupId: string | null
  readonly isBare: boolean
  readonly isStep: boolean
  readonly bytes: number
}

/** Rows that are read together: all slices of a group, or one span with texts. */
interface Unit {
  readonly rows: ListedRow[]
  bytes: number
}

/**
 * Packs the texts. Returns the rows to write, the stored bytes of the texts in these rows, and the spans that have the
 * trace's own texts.
 */
async function pack(
  sql: Sql,
  projectId: number,
  { seq, packs }: Pick<Written, 'seq' | 'packs'>
): Promise<{ rows: readonly RepackedRow[]; before: number; shared: SharedTexts }> {
  const finder = await readFinder(sql, projectId, seq)
  const listed = await sql<ListedRow[]>`
    select id, substr(packed, 3, 8) as "groupId", num_nulls(input, output, attributes, events, packed) = 5 as "isBare",
      ${sql.unsafe(IS_STEP)} as "isStep", ${sql.unsafe(SIZE)} + coalesce(pg_column_size(packed), 0) as bytes
    from spans where project_id = ${projectId} and trace_seq = ${seq} order by started_at, id`
  const sizes = new Map(listed.map(({ id, bytes }) => [id, bytes]))
  const steps = new Set(listed.flatMap(({ id, isStep }) => (isStep ? [id] : [])))
  const repacker = new Repacker()
  for (const units of portions(unitsOf(listed))) {
    if (!packs && finder.isDone) break
    const stored = new Map((await readTexts(sql, projectId, seq, units)).map(row => [row.id, row]))
    for (const { rows } of units) {
      const [first, ...others] = rows.map(({ id }) => stored.get(id)!) as [StoredSpan, ...StoredSpan[]]
      if (first.packed === null) {
        if (!steps.has(first.id)) finder.lookAt(first)
        if (packs) await repacker.addPlain(first)
        continue
      }
      for await (const span of spansOfGroup([first, ...others].map(sliceOf), id => sizes.has(id))) {
        if (!steps.has(span.id)) finder.lookAtPacked(span)
        if (packs) await repacker.addPacked(span)
      }
    }
  }
  await repacker.end()
  const { rows } = repacker
  return { rows, before: rows.reduce((sum, { id }) => sum + sizes.get(id)!, 0), shared: finder.found }
}

/** Reads the texts in the row of a complete trace, to find them among the texts of its spans. */
async function readFinder(sql: Sql, projectId: number, seq: number): Promise<SharedFinder> {
  const [own] = await sql<{ input: string | null; output: string | null }[]>`
    select input::text as input, output::text as output from traces
    where project_id = ${projectId} and seq = ${seq} and ended_at is not null`
  return new SharedFinder(own ?? { input: null, output: null })
}

type StoredSpan = SpanTexts & { readonly id: string; readonly packed: string | null }
const sliceOf = ({ packed }: StoredSpan) => Buffer.from(packed as string, 'hex')

const readTexts = (sql: Sql, projectId: number, seq: number, units: readonly Unit[]) =>
  sql<StoredSpan[]>`
    select id, input::text as input, output::text as output, attributes::text as attributes, events::text as events,
      packed
    from spans where project_id = ${projectId} and trace_seq = ${seq}
      and id = any (${units.flatMap(({ rows }) => rows.map(({ id }) => id))}::bytea[])`

/** Returns the units in the order of their first spans. A bare row has no texts, or belongs to a group of one slice. */
function unitsOf(listed: readonly ListedRow[]): Unit[] {
  const units: Unit[] = []
  const groups = new Map<string, Unit>()
  for (const row of listed) {
    if (row.isBare) continue
    const known = row.groupId === null ? undefined : groups.get(row.groupId)
    const unit = known ?? { rows: [], bytes: 0 }
    unit.rows.push(row)
    unit.bytes += row.bytes
    if (known !== undefined) continue
    units.push(unit)
    if (row.groupId !== null) groups.set(row.groupId, unit)
  }
  return units
}

/** Divides units into portions of at most READ_BYTES. */
function portions(units: readonly Unit[]): Unit[][] {
  const all: Unit[][] = []
  let bytes = 0
  for (const unit of units) {
    if (all.length === 0 || bytes + unit.bytes > READ_BYTES) {
      all.push([])
      bytes = 0
    }
    all.at(-1)!.push(unit)
    bytes += unit.bytes
  }
  return all
}

/** Locks the trace's row. Returns whether the trace still has this version. */
async function lock(sql: Sql, projectId: number, { seq, version }: Written): Promise<boolean> {
  const [locked] = await sql`
    select version from traces where project_id = ${projectId} and seq = ${seq} and version = ${version} for update`
  return locked !== undefined
}

async function writeRows(sql: Sql, projectId: number, { seq }: Written, rows: readonly RepackedRow[]): Promise<void> {
  let written = 0
  for (let i = 0; i < rows.length; i += WRITTEN_ROWS) {
    const part = rows.slice(i, i + WRITTEN_ROWS)
    const slices = part.map(({ packed }) => Buffer.from(packed).toString('hex'))
    const { count } = await sql`
      update spans s set input = null, output = null, attributes = null, events = null, packed = r.packed
      from unnest(${part.map(({ id }) => id)}::bytea[], ${slices}::bytea[]) as r (id, packed)
      where s.project_id = ${projectId} and s.trace_seq = ${seq} and s.id = r.id`
    written += count
  }
  if (written !== rows.length) throw new Error(`only ${written} of ${rows.length} spans were found for repacking`)
}

/** Writes which spans have the trace's own texts, in place of these texts. Only one process repacks at a time. */
async function writeShared(
  sql: Sql,
  projectId: number,
  { seq }: Written,
  { inputSpanId, outputSpanId }: SharedTexts
): Promise<void> {
  const { count } = await sql`
    update traces set
      input = case when ${inputSpanId}::bytea is null then input end,
      output = case when ${outputSpanId}::bytea is null then output end,
      input_span_id = coalesce(${inputSpanId}::bytea, input_span_id),
      output_span_id = coalesce(${outputSpanId}::bytea, output_span_id),
      input_bytes = case when ${inputSpanId}::bytea is null then input_bytes else octet_length(input::text) end,
      output_bytes = case when ${outputSpanId}::bytea is null then output_bytes else octet_length(output::text) end
    where project_id = ${projectId} and seq = ${seq}`
  if (count !== 1) throw new Error(`found ${count} traces instead of one to share texts`)
}
