/**
 * Reads pages of stored traces for a backup, as rows in COPY's binary format (lib/store/instance/stored-page.ts). Rows
 * are neither decoded nor unpacked, which takes a third of the CPU time that lines of an export take.
 */
import type { Sql } from 'postgres'
import type { Column } from '../../rows/columns.ts'
import { hasMessages, textBytes } from '../answers/traces.ts'
import type { ProjectCounts } from './backup-head.ts'
import { PAGE_COLUMNS, type StoredPage } from './stored-page.ts'

/** The trace after which the next page begins. */
interface PagePlace {
  readonly startedAt: string
  readonly id: string
}

/** Rows of several traces, or the id of a trace that belongs on a line by itself. */
export type NextPage = { readonly last: PagePlace } & (
  | { readonly page: StoredPage; readonly counts: ProjectCounts }
  | { readonly apart: string }
)

/** Maximum number of traces per page, and number of document bytes after which no further trace is added. */
const MOST = { traces: 250, bytes: 4 * 1024 * 1024 }
/** Number of bytes above which a trace is written in pieces, so that it is never in memory as a whole. */
const LONG_BYTES = 2 * MOST.bytes

/**
 * Whether the project's traces can be read as rows. Not while the server still decides which of the project's older
 * traces are runs, because the rows would be copied with a value that is not decided yet.
 */
export async function hasStoredPages(sql: Sql, projectId: number): Promise<boolean> {
  const [row] = await sql<{ ready: boolean }[]>`
    select runs_below is null as ready from projects where id = ${projectId}`
  return row?.ready === true
}

/** Reads the page that begins after a trace; undefined at the end. The caller's transaction sees one snapshot. */
export async function readNextPage(
  sql: Sql,
  projectId: number,
  after: PagePlace | undefined,
  most = MOST.traces
): Promise<NextPage | undefined> {
  const { startedAt = '-infinity', id = '0'.repeat(32) } = after ?? {}
  const from = after === undefined ? sql`>=` : sql`>`
  const rows = await sql<(PagePlace & Row)[]>`
    with next as materialized (
      select seq, id, started_at, span_count, score_count, estimated_bytes, ${textBytes(sql, projectId)} as bytes,
        ${hasMessages(sql, projectId)}
      from traces t where project_id = ${projectId} and (started_at, id) ${from} (${startedAt}, ${id})
      order by started_at, id limit ${most}
    )
    select seq, id, started_at as "startedAt", span_count as spans, score_count as scores,
      "hasMessages" or bytes > ${LONG_BYTES} as "isApart"
    from (
      select *, sum(estimated_bytes) over (order by started_at, id) - estimated_bytes as before from next
    ) t where before < ${MOST.bytes} order by started_at, id`
  const [first] = rows
  if (first === undefined) return undefined
  if (first.isApart) return { apart: first.id, last: first }
  const end = rows.findIndex(({ isApart }) => isApart)
  const together = end === -1 ? rows : rows.slice(0, end)
  const sum = (of: 'spans' | 'scores') => together.reduce((total, each) => total + each[of], 0)
  const counts = { traces: together.length, spans: sum('spans'), scores: sum('scores') }
  const numbers = together.map(({ seq }) => seq)
  return { page: await readRows(sql, projectId, numbers), counts, last: together.at(-1) as PagePlace }
}

interface Row {
  readonly seq: number
  readonly spans: number
  readonly scores: number
  readonly isApart: boolean
}

/** Reads the rows of these stored traces, in this order. */
export async function readPageOf(sql: Sql, projectId: number, traceIds: readonly string[]): Promise<StoredPage> {
  const rows = await sql<{ seq: number }[]>`
    select t.seq from unnest(${traceIds as string[]}::uuid[]) with ordinality as w (id, place)
    join traces t on t.project_id = ${projectId} and t.id = w.id order by w.place`
  return readRows(
    sql,
    projectId,
    rows.map(({ seq }) => seq)
  )
}

/** COPY takes no parameters. Everything that is inserted into its statements is a number or a name of ours. */
async function readRows(sql: Sql, projectId: number, numbers: readonly number[]): Promise<StoredPage> {
  const list = `'{${numbers.join(',')}}'::bigint[]`
  const read = (table: string, seq: string, columns: readonly Column[], order: string) => {
    const shown = columns.map(({ name }) => SHOWN[name]?.(list) ?? name).join(', ')
    const condition = `project_id = ${Number(projectId)} and ${seq} = any (${list})`
    return copyOut(
      sql,
      `select ${shown} from ${table} where ${condition} order by array_position(${list}, ${seq})${order}`
    )
  }
  return {
    traces: await read('traces', 'seq', PAGE_COLUMNS.traces, ''),
    spans: await read('spans', 'trace_seq', PAGE_COLUMNS.spans, ', id'),
    scores: await read('scores', 'trace_seq', PAGE_COLUMNS.scores, ', created_at, seq')
  }
}

/** Columns that differ between a project and its restored copy. */
const SHOWN: Readonly<Record<string, (list: string) => string>> = {
  project_id: () => '0::int',
  trace_seq: list => `array_position(${list}, trace_seq)::bigint`
}

/** Bytes of COPY's binary format in front of the rows, and behind them. */
const HEAD_BYTES = 19
const TAIL_BYTES = 2

async function copyOut(sql: Sql, query: string): Promise<Buffer> {
  const stream = await sql.unsafe(`copy (${query}) to stdout (format binary)`).readable()
  const parts: Buffer[] = []
  for await (const part of stream) parts.push(part)
  // The driver (postgres 3.4.9) pauses its socket while the stream is full, and does not resume it for what follows the
  // last row.
  stream._read(0)
  const bytes = Buffer.concat(parts)
  return bytes.subarray(HEAD_BYTES, bytes.length - TAIL_BYTES)
}
