/**
 * Rows for COPY that are the service's own: each body is recorded through its API, and what it stored is read back as
 * COPY writes it, with the placeholders of template.ts where a row must be unique.
 */
import type { Sql } from 'postgres'
import { TURN } from '../../../lib/ingest/packing.ts'
import { type Column, SPAN_COLUMNS, TAG_COLUMNS, TRACE_COLUMNS } from '../../../lib/rows/columns.ts'
import { unpackTexts } from '../../../lib/rows/packed-texts.ts'
import { type BodyKind, ingestBody, SHAPES } from '../bodies/bodies.ts'
import { DURATION_PLACE, MINUTE_PLACE, NUMBER_PLACE, TRACE_ID_PLACE } from '../bodies/template.ts'

/** The lines of one trace, of its spans, and of its tags beside it. */
export interface CopyRows {
  readonly trace: Buffer
  readonly spans: Buffer
  readonly tags: Buffer
  readonly spanCount: number
  readonly estimatedBytes: number
}

/** The rows of every variant of a kind. */
export interface KindRows {
  /** With texts in their own columns. */
  readonly plain: readonly CopyRows[]
  /** The same for the variants whose texts the service compresses, compressed as it does. */
  readonly packed: readonly CopyRows[]
}

/** As the service mixes them under full load. */
export function rowsUnderLoad({ plain, packed }: KindRows): readonly CopyRows[] {
  if (packed.length === 0) return plain
  return Array.from({ length: TURN.requests }, (_, i) => {
    const rows = i < TURN.packed ? packed : plain
    return rows[i % rows.length]!
  })
}

export const namesOf = (columns: readonly Column[]): string => columns.map(({ name }) => name).join(', ')

/** Each placeholder replaces the value of a column. */
const PLACES: Readonly<Record<string, string>> = {
  id: `'${TRACE_ID_PLACE}'`,
  seq: NUMBER_PLACE,
  version: NUMBER_PLACE,
  duration_ms: DURATION_PLACE,
  // A time that moves on, as the present does.
  ingested_at: 'started_at'
}

/** The tables must be empty, and are left with these traces in them. */
export async function readCopyRows(
  kind: BodyKind,
  sql: Sql,
  record: (body: string) => Promise<void>
): Promise<KindRows> {
  const plain: CopyRows[] = []
  const packed: CopyRows[] = []
  for (let variant = 0; variant < SHAPES[kind].variants; variant++) {
    const id = variant.toString(16).padStart(TRACE_ID_PLACE.length, '0')
    await record(JSON.stringify(ingestBody(kind, variant)).replace(TRACE_ID_PLACE, id))
    const { spans, ...rest } = await readTrace(sql, id)
    const unpacked = withTexts(spans)
    plain.push({ ...rest, spans: toLines(unpacked) })
    if (spans.some(row => row[PACKED] !== null)) packed.push({ ...rest, spans: toLines(spans) })
  }
  return { plain, packed }
}

async function readTrace(sql: Sql, id: string) {
  const [row] = await sql<{ seq: number; spanCount: number; estimatedBytes: number }[]>`
    select seq, span_count as "spanCount", estimated_bytes as "estimatedBytes" from traces where id = ${id}`
  const { seq, ...counts } = row!
  const traceValues = TRACE_COLUMNS.map(({ name }) => PLACES[name] ?? name)
  const spanValues = SPAN_COLUMNS.map(({ name }) => (name === 'trace_seq' ? NUMBER_PLACE : name))
  const spans = await readValues(sql, spanValues, `spans where trace_seq = ${seq} order by started_at, id`)
  return {
    trace: toLines(await readValues(sql, traceValues, `traces where id = '${id}'`)),
    tags: toLines(
      await readValues(
        sql,
        TAG_COLUMNS.map(({ name }) => PLACES[name] ?? name),
        `trace_tags where id = '${id}' order by tag`
      )
    ),
    spans,
    ...counts
  }
}

/** A row's values as PostgreSQL's text, in the order of its columns. */
type Values = readonly (string | null)[]

/** (The driver's own COPY TO may never end where a row is larger than 16 kB.) */
async function readValues(sql: Sql, values: readonly string[], from: string): Promise<Values[]> {
  return sql.unsafe(`select ${values.map(each => `(${each})::text`).join(', ')} from ${from}`).values()
}

const bytesOf = (value: string | null | undefined) =>
  value ? Buffer.from(value.slice('\\x'.length), 'hex') : undefined
const [ID, PACKED] = ['id', 'packed'].map(each => SPAN_COLUMNS.findIndex(({ name }) => name === each)) as [
  number,
  number
]

/** Spans with their texts in their own columns. */
function withTexts(rows: readonly Values[]): Values[] {
  const texts = unpackTexts(rows.flatMap(row => bytesOf(row[PACKED]) ?? []))
  return rows.map(row => {
    const own = { ...texts.get(bytesOf(row[ID])!.toString('hex')), packed: null }
    return row.map((value, i) => {
      const { name } = SPAN_COLUMNS[i]!
      return name in own ? own[name as keyof typeof own]! : value
    })
  })
}

/** Rows in the text format of COPY. */
function toLines(rows: readonly Values[]): Buffer {
  const lines = rows.map(row => `${row.map(value => (value === null ? '\\N' : escaped(value))).join('\t')}\n`)
  // Times as clients write them are as wide, and read as well.
  return Buffer.from(lines.join('').replaceAll(MINUTE_PLACE.replace('T', ' '), MINUTE_PLACE))
}

/** JSON text and the bodies' other texts hold no control characters. */
const escaped = (value: string) => value.replaceAll('\\', '\\\\')
