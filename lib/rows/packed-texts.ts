/**
 * The free JSON of spans that were recorded together, compressed as one: steps of a run repeat what was said before, which is
 * then stored once, and a span of 2 kB alone is too short for PostgreSQL to compress.
 *
 * What is compressed (Brotli, RFC 7932) are fields as COPY has them (lib/rows/copy-format.ts), five for each span: id, input,
 * output, attributes and events. The result is cut into equal slices, one for the row of each span (`packed`), behind the
 * number of the slice (2 bytes) and the id of the first span (8 bytes): in one value it would be moved out of the row, which
 * takes a fifth more of PostgreSQL's CPU for a typical trace. Where slices are too large for that, there is one only.
 */
import { promisify } from 'node:util'
import { brotliCompressSync, brotliDecompress, brotliDecompressSync, constants } from 'node:zlib'
import type { PreparedSpan } from '../trace/prepared.ts'
import { SPAN_ID_COLUMN, SPAN_TEXT_COLUMNS, type STORED_TEXT_COLUMNS, type Value } from './columns.ts'
import { CopyWriter, fieldWriter, readField } from './copy-format.ts'

/** JSON text, or null for what stands for it. */
export type SpanTexts = Pick<PreparedSpan, 'input' | 'output' | 'attributes' | 'events'>
type Span = SpanTexts & Pick<PreparedSpan, 'id'>

/** As they are stored: all of them null where they are packed. */
export interface StoredTexts extends SpanTexts {
  readonly packed?: Uint8Array | null
}

/**
 * Characters of all texts together. Fewer than `least` are not worth it: a small trace (1 span of 1.2 kB) would take 8 % less
 * disk and 25 us more of the main thread. So many to a span as `compressed` PostgreSQL would compress, which takes longer: of
 * traces with 30 spans of 6 kB 304 are recorded a second so, and 415 packed. More than `most` are left to it nevertheless, since
 * it undoes that beside the main thread: packed, 55 large traces (200 spans of 8 kB) are recorded in place of 35 and take 0.56 of
 * their bodies on disk in place of 0.89; but of their details 53 are answered a second in place of 84.
 */
const LENGTH = { least: 2048, compressed: 4096, most: 262_144 }
/**
 * Of a typical trace (8 spans, 15 kB of prose) quality 0 leaves 0.51 in 56 us and is undone in 53; of a conversation that
 * each step repeats, 0.17 in 27 us. Quality 1 takes 81 us and leaves 0.50, 2 136 us and 0.47; deflate 150 us and 0.47, undone
 * in 38 (Node 20). zstd came to Node with 22.15.
 */
const COMPRESSION = { params: { [constants.BROTLI_PARAM_QUALITY]: 0, [constants.BROTLI_PARAM_LGWIN]: 18 } }
/** Bytes of a slice at most, unless it is the only one: four rows then fit on a page. */
const MAX_SLICE = 1800

/** More compressed bytes than this are undone beside the main thread: 200 appends of 256 kB would hold it for 0.2 s. */
const LARGE = 65_536
const decompress = promisify(brotliDecompress)

/** In front of a slice: its number, and which span's is the first. */
const GROUP_AT = 2
const SLICE_AT = GROUP_AT + 8

/** For each column that texts are stored in, how its value is had. */
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

/** For each span what is stored in its row, packed where that is worth it; `hurries`: where it takes no time. */
export function packTexts(spans: readonly Span[], hurries: boolean): readonly StoredTexts[] {
  const length = lengthOf(spans)
  const least = hurries ? LENGTH.compressed * spans.length : LENGTH.least
  if (spans.length === 0 || length < least || length > LENGTH.most) return spans
  fields.begin()
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

/** What is stored in the row that has this slice, or none: where they are packed, texts stand nowhere else. */
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

/** What was packed together, out of its slices, all of which must be there. */
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

/** The texts in slices, by the ids of their spans. */
export function unpackTexts(slices: readonly Buffer[]): ReadonlyMap<string, SpanTexts> {
  const texts = new Map<string, SpanTexts>()
  for (const packed of joinSlices(slices)) readFields(brotliDecompressSync(packed), texts)
  return texts
}

function readFields(unpacked: Buffer, texts: Map<string, SpanTexts>): void {
  let at = 0
  const next = (encoding: 'hex' | 'utf8') => {
    const { bytes, end } = readField(unpacked, at)
    at = end
    return bytes?.toString(encoding) ?? null
  }
  while (at < unpacked.length) {
    const id = next('hex') as string
    texts.set(id, { input: next('utf8'), output: next('utf8'), attributes: next('utf8'), events: next('utf8') })
  }
}

/** A row as it is read; `packed` in hexadecimal digits. */
interface StoredRow extends Span {
  readonly packed: string | null
}

/** The spans of one trace, all of them, each with its texts. */
export async function unpackSpans<T extends StoredRow>(rows: readonly T[]): Promise<readonly T[]> {
  const slices = rows.flatMap(({ packed }) => (packed === null ? [] : [Buffer.from(packed, 'hex')]))
  if (slices.length === 0) return rows
  const isLarge = slices.reduce((sum, slice) => sum + slice.length, 0) > LARGE
  const texts = new Map<string, SpanTexts>()
  for (const packed of joinSlices(slices)) {
    readFields(isLarge ? await decompress(packed) : brotliDecompressSync(packed), texts)
  }
  return rows.map(row => ({ ...row, ...texts.get(row.id) }))
}
