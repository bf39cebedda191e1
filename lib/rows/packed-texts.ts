/**
 * Packs the texts of spans: compresses the free JSON of all spans that were recorded together as one. The steps of a
 * run repeat what was said before, and packed together the repeated text is stored once. A span alone is often too
 * short for PostgreSQL to compress.
 *
 * The compressed data (Brotli, RFC 7932) are fields in the format of COPY (lib/rows/copy-format.ts), five for each
 * span: id, input, output, attributes and events. They are cut into slices of equal length, one for each span's row,
 * in the column `packed`. A slice begins with its number (2 bytes) and the id of the first span (8 bytes), which names
 * the group.
 *
 * The reason for slices is that PostgreSQL moves a long value out of its row, which costs CPU (test/bench/RESULTS.md,
 * "Packed texts"). If even the slices would be too long for a row, there is only one.
 */
import { promisify } from 'node:util'
import { brotliCompressSync, brotliDecompress, brotliDecompressSync, constants } from 'node:zlib'
import type { PreparedSpan } from '../trace/prepared.ts'
import { SPAN_ID_COLUMN, SPAN_TEXT_COLUMNS, type STORED_TEXT_COLUMNS, type Value } from './columns.ts'
import { CopyWriter, fieldWriter, readField } from './copy-format.ts'

/** The free JSON of a span, each value as JSON text. Null is the value that the answer shows without it. */
export type SpanTexts = Pick<PreparedSpan, 'input' | 'output' | 'attributes' | 'events'>
type Span = SpanTexts & Pick<PreparedSpan, 'id'>

/** The texts as a row stores them. All of them are null if they are packed. */
export interface StoredTexts extends SpanTexts {
  readonly packed?: Uint8Array | null
}

/**
 * Which texts are packed, by their length in characters (test/bench/RESULTS.md, "Packed texts").
 *
 * - Fewer than `least` in all are not packed: they would save little disk.
 * - With `compressed` or more for each span, PostgreSQL would compress the texts, and would take longer than packing
 *   does. So they are packed even in a hurry.
 * - More than `most` in all are left to PostgreSQL, although packed they would be recorded faster: a read of them
 *   would be slower, because PostgreSQL undoes its own compression in its own processes, not in node.
 */
const LENGTH = { least: 2048, compressed: 4096, most: 262_144 }
/**
 * Brotli at its fastest. Higher qualities and deflate take much longer and leave only a little less
 * (test/bench/RESULTS.md, "Packed texts"). Node has zstd only from 22.15 on.
 */
const COMPRESSION = { params: { [constants.BROTLI_PARAM_QUALITY]: 0, [constants.BROTLI_PARAM_LGWIN]: 18 } }
/**
 * The most bytes of a slice, unless it is the only one: four such rows fit on a page, and PostgreSQL leaves their
 * values in the row.
 */
const MAX_SLICE = 1800

/**
 * More compressed bytes than this are unpacked on another thread, since they would hold up the main thread for too
 * long.
 */
const LARGE = 65_536
/** Room for what is mostly unpacked: Brotli's decoder takes a third longer where it has to ask for more. */
const UNPACKING = { chunkSize: 32_768 }
const decompress = promisify(brotliDecompress)

/** Offsets in a slice: its number, then the id of the first span, then the compressed bytes. */
const GROUP_AT = 2
const SLICE_AT = GROUP_AT + 8

/** For each column that stores texts, the function that gives its value. */
export const textValues: Readonly<Record<(typeof STORED_TEXT_COLUMNS)[number]['name'], (texts: StoredTexts) => Value>> =
  {
    input: texts => texts.input,
    output: texts => texts.output,
    attributes: texts => texts.attributes,
    events: texts => texts.events,
    packed: texts => texts.packed ?? null
  }

const fields = new CopyWriter()
const writeId = fieldWriter<Span, 'id'>([SPAN_ID_COLUMN], { id: span => span.id })
const writeTexts = fieldWriter(SPAN_TEXT_COLUMNS, textValues)

/**
 * Returns what the row of each span stores: packed if that is worth it, the texts themselves otherwise. With
 * `hurries`, texts are packed only if PostgreSQL would compress them otherwise.
 */
export function packTexts(spans: readonly Span[], hurries: boolean): readonly StoredTexts[] {
  const length = lengthOf(spans)
  const least = hurries ? LENGTH.compressed * spans.length : LENGTH.least
  if (spans.length === 0 || length < least || length > LENGTH.most) return spans
  fields.reset()
  for (const span of spans) {
    writeId(fields, span)
    writeTexts(fields, span)
  }
  const packed = brotliCompressSync(fields.bytes.subarray(0, fields.length), COMPRESSION)
  const count = packed.length > MAX_SLICE * spans.length ? 1 : spans.length
  const each = Math.ceil(packed.length / count)
  const group = (spans[0] as Span).id
  return spans.map((_, i) => packedAs(i < count ? sliceOf(group, i, packed.subarray(i * each, (i + 1) * each)) : null))
}

/** The text columns of a row whose texts are packed. `packed` is the row's slice; null if the row has none. */
export const packedAs = (packed: Uint8Array | null): StoredTexts => ({
  input: null,
  output: null,
  attributes: null,
  events: null,
  packed
})

function lengthOf(spans: readonly SpanTexts[]): number {
  let length = 0
  for (const { input, output, attributes, events } of spans) {
    length += (input?.length ?? 0) + (output?.length ?? 0) + (attributes?.length ?? 0) + (events?.length ?? 0)
  }
  return length
}

function sliceOf(group: string, number: number, part: Buffer): Uint8Array {
  const slice = Buffer.allocUnsafe(SLICE_AT + part.length)
  slice.writeUInt16BE(number)
  slice.write(group, GROUP_AT, 'hex')
  slice.set(part, SLICE_AT)
  return slice
}

/** Joins the slices of each group. All slices of a group must be there, in any order. */
function joinSlices(slices: readonly Buffer[]): Buffer[] {
  const groups = new Map<string, Buffer[]>()
  for (const slice of slices) {
    const name = slice.toString('hex', GROUP_AT, SLICE_AT)
    const group = groups.get(name) ?? []
    group[slice.readUInt16BE()] = slice.subarray(SLICE_AT)
    groups.set(name, group)
  }
  return Array.from(groups.values(), group => Buffer.concat(group))
}

/** The texts that these slices hold, by the ids of their spans. */
export function unpackTexts(slices: readonly Buffer[]): ReadonlyMap<string, SpanTexts> {
  const texts = new Map<string, SpanTexts>()
  for (const packed of joinSlices(slices)) readFields(brotliDecompressSync(packed, UNPACKING), texts)
  return texts
}

function readFields(
  unpacked: Buffer,
  texts: Map<string, SpanTexts>,
  encoding: TextEncoding = 'utf8',
  isWanted: (id: string) => boolean = () => true
): void {
  let at = 0
  const next = (encoding: 'hex' | TextEncoding) => {
    const { bytes, end } = readField(unpacked, at)
    at = end
    return bytes?.toString(encoding) ?? null
  }
  while (at < unpacked.length) {
    const id = next('hex') as string
    if (!isWanted(id)) for (const _ of SPAN_TEXT_COLUMNS) at = readField(unpacked, at).end
    else
      texts.set(id, {
        input: next(encoding),
        output: next(encoding),
        attributes: next(encoding),
        events: next(encoding)
      })
  }
}

/** A row as it is read from the database; `packed` is in hexadecimal digits. */
interface StoredRow {
  readonly id: string
  readonly packed: string | null
}

/** How texts are read. With latin1 each character is a byte of the UTF-8 (lib/store/answers/export-page.ts). */
type TextEncoding = 'utf8' | 'latin1'

/**
 * Unpacks the texts of spans, of those that are wanted. `rows` must be all spans of one trace. `pause` is called
 * between groups, which have LENGTH.most characters each at most.
 */
export async function unpackSpans<T extends StoredRow>(
  rows: readonly T[],
  encoding: TextEncoding = 'utf8',
  isWanted?: (id: string) => boolean,
  pause?: () => Promise<void>
): Promise<readonly T[]> {
  const slices = rows.flatMap(({ packed }) => (packed === null ? [] : [Buffer.from(packed, 'hex')]))
  if (slices.length === 0) return rows
  const isLarge = slices.reduce((sum, slice) => sum + slice.length, 0) > LARGE
  const texts = new Map<string, SpanTexts>()
  for (const packed of joinSlices(slices)) {
    await pause?.()
    readFields(isLarge ? await decompress(packed) : brotliDecompressSync(packed, UNPACKING), texts, encoding, isWanted)
  }
  return rows.map(row => ({ ...row, ...texts.get(row.id) }))
}
