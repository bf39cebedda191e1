/**
 * Rows for COPY that equal the service's own rows: each body is recorded through the service's API, and the stored row
 * is read back in COPY's format. The placeholders of template.ts replace the values that must be unique.
 */
import type { Sql } from 'postgres'
import { TURN } from '../../../lib/ingest/packing.ts'
import { type Column, SPAN_COLUMNS, TAG_COLUMNS, TRACE_COLUMNS } from '../../../lib/rows/columns.ts'
import { type SpanTexts, unpackTexts } from '../../../lib/rows/packed-texts.ts'
import { type BodyKind, ingestBody, SHAPES } from '../bodies/bodies.ts'
import { DURATION_PLACE, MINUTE_PLACE, NUMBER_PLACE, TRACE_ID_PLACE } from '../bodies/template.ts'

/** The lines of one trace, its spans and its tags. */
export interface CopyRows {
  readonly trace: Buffer
  readonly spans: Buffer
  readonly tags: Buffer
  readonly spanCount: number
  readonly estimatedBytes: number
}

/** The rows of all variants of a kind. */
export interface KindRows {
  /** Rows with each text in its own column. */
  readonly plain: readonly CopyRows[]
  /** Rows of the variants whose texts the service compresses, compressed in the same way. */
  readonly packed: readonly CopyRows[]
}

/** Returns the rows in the proportion in which the service stores them under full load. */
export function rowsUnderLoad({ plain, packed }: KindRows): readonly CopyRows[] {
  if (packed.length === 0) return plain
  return Array.from({ length: TURN.requests }, (_, i) => {
    const rows = i < TURN.packed ? packed : plain
    return rows[i % rows.length]!
  })
}

export const namesOf = (columns: readonly Column[]): string => columns.map(({ name }) => name).join(', ')

/** Maps each column to the placeholder that replaces its value. */
const PLACES: Readonly<Record<string, string>> = {
  id: `'${TRACE_ID_PLACE}'`,
  seq: NUMBER_PLACE,
  version: NUMBER_PLACE,
  duration_ms: DURATION_PLACE,
  // A server writes the current time, which advances as `started_at` does.
  ingested_at: 'started_at'
}

/** Records the traces and reads their rows. The tables must be empty, and contain these traces afterwards. */
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

/** A row's values in PostgreSQL's text format, in the order of its columns. */
type Values = readonly (string | null)[]

/** The driver's own COPY TO can hang if a row is larger than 16 kB, so this function does not use it. */
async function readValues(sql: Sql, values: readonly string[], from: string): Promise<Values[]> {
  return sql.unsafe(`select ${values.map(each => `(${each})::text`).join(', ')} from ${from}`).values()
}

const bytesOf = (value: string | null | undefined) =>
  value ? Buffer.from(value.slice('\\x'.length), 'hex') : undefined
const [ID, PACKED] = ['id', 'packed'].map(each => SPAN_COLUMNS.findIndex(({ name }) => name === each)) as [
  number,
  number
]

/** Unpacks the spans' texts. Returns the spans with each text in its own column. */
function withTexts(rows: readonly Values[]): Values[] {
  const texts = unpackTexts(rows.flatMap(row => bytesOf(row[PACKED]) ?? []))
  return rows.map(row => {
    const own = texts.get(bytesOf(row[ID])!.toString('hex'))
    return row.map((value, i) => {
      const { name } = SPAN_COLUMNS[i]!
      if (name === 'packed') return null
      return own !== undefined && name in own ? own[name as keyof SpanTexts] : value
    })
  })
}

/** Formats rows in the text format of COPY. */
function toLines(rows: readonly Values[]): Buffer {
  const lines = rows.map(row => `${row.map(value => (value === null ? '\\N' : escaped(value))).join('\t')}\n`)
  // Times in the clients' format have the same width, and PostgreSQL reads them as well.
  return Buffer.from(lines.join('').replaceAll(MINUTE_PLACE.replace('T', ' '), MINUTE_PLACE))
}

/** Escapes only backslashes, because JSON and the bodies' other texts contain no control characters. */
const escaped = (value: string) => value.replaceAll('\\', '\\\\')
