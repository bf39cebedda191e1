/**
 * Packs span texts: compresses, as one block, the free-form JSON of all spans that are recorded together. The steps of
 * a run repeat earlier messages, and a block stores repeated text once. A single span is often too short for PostgreSQL
 * to compress.
 *
 * A block is compressed with Brotli (RFC 7932). For each span, the block contains five fields in COPY format
 * (lib/rows/copy-format.ts): id, input, output, attributes and events. The compressed bytes are split into slices of
 * equal length, one for the `packed` column of each span row. A slice begins with its number (2 bytes) and the first
 * span's id (8 bytes), which identifies the group. A block holds at most MAX_BLOCK_BYTES; the spans that follow begin
 * another group.
 *
 * Splitting the block avoids long values, which PostgreSQL would store outside the row at the cost of CPU time
 * (test/bench/RESULTS.md, "Packed texts"). If even slices would be too long for a row, the first slice contains the
 * whole block, and the others are empty. Versions up to 1.0.0-rc.1 stored null in place of an empty slice.
 */
import { promisify } from 'node:util'
import { type BrotliOptions, brotliCompressSync, brotliDecompress, brotliDecompressSync, constants } from 'node:zlib'
import type { PreparedSpan } from '../trace/prepared.ts'
import { SPAN_ID_COLUMN, SPAN_TEXT_COLUMNS, type STORED_TEXT_COLUMNS, type Value } from './columns.ts'
import { CopyWriter, fieldWriter, readField, skipFields } from './copy-format.ts'

/** A span's free-form JSON, each value as JSON text. Null represents the empty value: null, {} or []. */
export type SpanTexts = Pick<PreparedSpan, 'input' | 'output' | 'attributes' | 'events'>
type Span = SpanTexts & Pick<PreparedSpan, 'id' | 'callDetails'>

/** The texts of a packed row with a slice. */
type PackedTexts = StoredTexts & { readonly packed: Uint8Array }

/** The texts as stored in a row. If the texts are packed, all four are null. */
export interface StoredTexts extends SpanTexts {
  readonly packed?: Uint8Array | null
}

/**
 * Limits, in characters, that decide which texts are packed (test/bench/RESULTS.md, "Packed texts").
 *
 * - Texts with fewer than `least` characters in total are not packed, because packing would save little disk space.
 * - Texts with at least `compressed` characters per span are packed even if `hurries` is set, because PostgreSQL would
 *   otherwise compress them, which takes longer than packing.
 */
export const LENGTH = { least: 2048, compressed: 4096 }
/**
 * Maximum number of unpacked bytes per block, which is one window of the compressor. A reader needs little memory for
 * such a block. The texts of a single span with more bytes are left to PostgreSQL.
 */
export const MAX_BLOCK_BYTES = 4 * 1024 * 1024
/**
 * Blocks with more bytes are long. Each step of an agent repeats the conversation so far, which a window of 4 MiB still
 * contains: quality 2 compresses long blocks of real runs to 0.034 of their texts, and quality 1 to 0.040 in half the
 * time. Quality 0 with a window of 256 kB reaches 0.056. In a short block, quality 0 takes two thirds of the time and
 * compresses as well (test/bench/RESULTS.md, "Packed texts"). Node has zstd only since 22.15.
 */
const LONG_BYTES = 65_536
/** Returns Brotli's settings. The window has 2^`window` bytes. */
const settings = (quality: number, window: number) => ({
  params: { [constants.BROTLI_PARAM_QUALITY]: quality, [constants.BROTLI_PARAM_LGWIN]: window }
})
const COMPRESSION = { short: settings(0, 18), long: settings(2, 22) }
/** Settings for texts that are packed in the background, where quality 5 costs no request its time. */
export const RESTING = settings(5, 22)
/**
 * Maximum bytes per slice, unless the block has a single slice. Four rows of this size fit on a page, so PostgreSQL
 * keeps their values in the row.
 */
const MAX_SLICE = 1800

/**
 * Maximum numbers of compressed and of unpacked bytes that the main thread unpacks. Unpacking more would block the main
 * thread for too long, so another thread unpacks larger blocks.
 */
const LARGE = { packed: 65_536, unpacked: 1024 * 1024 }
/**
 * Returns the size of the output buffer, in bytes. Brotli's decoder takes up to a third longer if the output exceeds
 * the buffer.
 */
const bufferFor = (packed: Buffer): number => Math.max(32_768, Math.min(8 * packed.length, LARGE.unpacked))
const decompress = promisify<Buffer, BrotliOptions, Buffer>(brotliDecompress)

/** Offsets in a slice: its number, the first span's id, then the compressed bytes. */
const GROUP_AT = 2
const SLICE_AT = GROUP_AT + 8
/** Maximum length, in bytes, of a `packed` value that is not its group's only slice. */
export const MAX_SLICED_BYTES = SLICE_AT + MAX_SLICE

/** For each text column, the function that returns its value. */
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
 * Returns the texts to store in each span's row, packed if worthwhile. If `hurries` is set, texts are packed only if
 * PostgreSQL would otherwise compress them. The texts may be byte texts.
 */
export function packTexts(spans: readonly Span[], hurries: boolean, areByteTexts = false): readonly StoredTexts[] {
  const length = lengthOfTexts(spans)
  const least = hurries ? LENGTH.compressed * spans.length : LENGTH.least
  if (spans.length === 0 || length < least) return spans
  // Steps are not packed. If a step's row were removed later, the other rows of its group could no longer be unpacked.
  if (spans.some(isStep)) return spans
  return packBlocks(spans, areByteTexts)
}

/** Whether a span is a coding agent's step, whose row may be removed later (lib/trace/states/steps.ts). */
export const isStep = ({ callDetails }: Pick<Span, 'callDetails'>): boolean => callDetails?.includes('"step"') === true

/** Fills blocks with spans, in order. */
function packBlocks(spans: readonly Span[], areByteTexts: boolean): StoredTexts[] {
  const stored: StoredTexts[] = []
  fields.reset(areByteTexts)
  let first = 0
  for (const [i, span] of spans.entries()) {
    const start = fields.length
    const isTooLong = lengthOfTexts([span]) > MAX_BLOCK_BYTES
    if (!isTooLong) writeSpan(span)
    if (!isTooLong && fields.length <= MAX_BLOCK_BYTES) continue
    // The block ends before this span, which begins the next one if it fits.
    stored.push(...packBlock(spans.slice(first, i), fields.bytes.subarray(0, start)))
    fields.bytes.copyWithin(0, start, fields.length)
    fields.length -= start
    first = i
    if (!isTooLong && fields.length <= MAX_BLOCK_BYTES) continue
    stored.push(span)
    fields.reset(areByteTexts)
    first = i + 1
  }
  return stored.concat(packBlock(spans.slice(first), fields.bytes.subarray(0, fields.length)))
}

function writeSpan(span: Pick<Span, 'id' | keyof SpanTexts>): void {
  writeId(fields, span as Span)
  writeTexts(fields, span)
}

/** Returns a span's five fields in a block. */
export function blockFieldsOf(span: Pick<Span, 'id' | keyof SpanTexts>): Buffer {
  fields.reset()
  writeSpan(span)
  return Buffer.from(fields.bytes.subarray(0, fields.length))
}

/** Yields the spans of a block with their fields. */
export function* spansIn(block: Buffer): Generator<{ readonly id: string; readonly bytes: Buffer }> {
  for (let at = 0; at < block.length; ) {
    const id = readField(block, at)
    const end = skipFields(block, id.end, SPAN_TEXT_COLUMNS.length)
    yield { id: (id.bytes as Buffer).toString('hex'), bytes: block.subarray(at, end) }
    at = end
  }
}

/** Compresses the bytes of these spans, which may be none, and divides the result among their rows. */
function packBlock(spans: readonly Span[], bytes: Buffer): StoredTexts[] {
  if (spans.length === 0) return []
  return sliceBlock(spans, brotliCompressSync(bytes, bytes.length > LONG_BYTES ? COMPRESSION.long : COMPRESSION.short))
}

/** Divides a compressed block among the rows of its spans. */
export function sliceBlock(spans: readonly { readonly id: string }[], packed: Buffer): PackedTexts[] {
  const each = packed.length > MAX_SLICE * spans.length ? packed.length : Math.ceil(packed.length / spans.length)
  const group = (spans[0] as { readonly id: string }).id
  return spans.map((_, i) => packedAs(sliceOf(group, i, packed.subarray(i * each, (i + 1) * each))))
}

/** Returns the text columns of a packed row. `packed` is the row's slice, or null if the row has no slice. */
export const packedAs = <P extends Uint8Array | null>(packed: P) => ({
  input: null,
  output: null,
  attributes: null,
  events: null,
  packed
})

/** Returns the number of characters of all texts. */
export function lengthOfTexts(spans: readonly SpanTexts[]): number {
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

/** Joins each group's slices. Every group must be complete, but the slices may be in any order. */
export function joinSlices(slices: readonly Buffer[]): Buffer[] {
  const groups = new Map<string, Buffer[]>()
  for (const slice of slices) {
    const name = slice.toString('hex', GROUP_AT, SLICE_AT)
    const group = groups.get(name) ?? []
    group[slice.readUInt16BE()] = slice.subarray(SLICE_AT)
    groups.set(name, group)
  }
  return Array.from(groups.values(), group => Buffer.concat(group))
}

/**
 * Returns the texts in these slices, by span id. Each text is decoded when it is read. Unpacks on this thread: 4 MiB
 * take about 4 ms.
 */
export function unpackTexts(slices: readonly Buffer[]): ReadonlyMap<string, SpanTexts> {
  const texts = new Map<string, EncodedTexts>()
  for (const packed of joinSlices(slices)) {
    addEncoded(brotliDecompressSync(packed, { chunkSize: bufferFor(packed) }), texts)
  }
  return texts
}

function addEncoded(unpacked: Buffer, texts: Map<string, EncodedTexts>): void {
  for (let at = 0; at < unpacked.length; ) {
    const id = readField(unpacked, at)
    texts.set((id.bytes as Buffer).toString('hex'), new EncodedTexts(unpacked, id.end))
    at = skipFields(unpacked, id.end, SPAN_TEXT_COLUMNS.length)
  }
}

/** Maximum number of bytes of a UTF-16 code unit in UTF-8. */
const MOST_UNIT_BYTES = 3

/** A span's texts as four fields in COPY format. Most readers need one of the texts, so none is decoded before. */
export class EncodedTexts implements SpanTexts {
  readonly #bytes: Buffer
  readonly #at: number

  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes
    this.#at = at
  }

  get input(): string | null {
    return this.#text(0)
  }

  get output(): string | null {
    return this.#text(1)
  }

  get attributes(): string | null {
    return this.#text(2)
  }

  get events(): string | null {
    return this.#text(3)
  }

  /** Returns the first `most` code units of the input or output. Only these are decoded. */
  beginning(side: 'input' | 'output', most: number): string | null {
    const { bytes } = this.#field(side === 'input' ? 0 : 1)
    return bytes?.toString('utf8', 0, Math.min(bytes.length, MOST_UNIT_BYTES * most)).slice(0, most) ?? null
  }

  #text(number: number): string | null {
    return this.#field(number).bytes?.toString() ?? null
  }

  #field(number: number) {
    return readField(this.#bytes, skipFields(this.#bytes, this.#at, number))
  }
}

/** Unpacks a block, on another thread if the block, or the `total` of compressed bytes, is large. */
export async function unpackBlock(packed: Buffer, total = packed.length): Promise<Buffer> {
  const chunkSize = bufferFor(packed)
  if (total <= LARGE.packed) {
    try {
      return brotliDecompressSync(packed, { chunkSize, maxOutputLength: LARGE.unpacked })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_BUFFER_TOO_LARGE') throw error
    }
  }
  return decompress(packed, { chunkSize })
}

/** Returns the texts of one group, by span id. `slices` must be all of the group's slices. */
export async function unpackGroup(
  slices: readonly Buffer[],
  encoding: TextEncoding = 'utf8'
): Promise<ReadonlyMap<string, SpanTexts>> {
  const texts = new Map<string, SpanTexts>()
  for (const packed of joinSlices(slices)) readFields(await unpackBlock(packed), texts, encoding)
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
    if (!isWanted(id)) at = skipFields(unpacked, at, SPAN_TEXT_COLUMNS.length)
    else
      texts.set(id, {
        input: next(encoding),
        output: next(encoding),
        attributes: next(encoding),
        events: next(encoding)
      })
  }
}

/** A row as read from the database. The `packed` value is in hexadecimal digits. */
interface StoredRow {
  readonly id: string
  readonly packed: string | null
}

/** Encoding of texts. In latin1, each character is one byte of UTF-8 (lib/store/answers/export-page.ts). */
export type TextEncoding = 'utf8' | 'latin1'

/**
 * Unpacks the texts of the rows without decoding them, by span id. `rows` must contain all rows of each group. `pause`
 * is called before each group.
 */
export async function unpackEncoded(
  rows: readonly StoredRow[],
  pause: () => Promise<void>
): Promise<ReadonlyMap<string, EncodedTexts>> {
  const slices = rows.flatMap(({ packed }) => (packed === null ? [] : [Buffer.from(packed, 'hex')]))
  const total = slices.reduce((sum, slice) => sum + slice.length, 0)
  const texts = new Map<string, EncodedTexts>()
  for (const packed of joinSlices(slices)) {
    await pause()
    addEncoded(await unpackBlock(packed, total), texts)
  }
  return texts
}

/**
 * Unpacks the texts of the wanted spans. `rows` must contain all spans of one trace. `pause` is called before each
 * group, which has at most MAX_BLOCK_BYTES.
 */
export async function unpackSpans<T extends StoredRow>(
  rows: readonly T[],
  encoding: TextEncoding = 'utf8',
  isWanted?: (id: string) => boolean,
  pause?: () => Promise<void>
): Promise<readonly T[]> {
  const slices = rows.flatMap(({ packed }) => (packed === null ? [] : [Buffer.from(packed, 'hex')]))
  if (slices.length === 0) return rows
  const total = slices.reduce((sum, slice) => sum + slice.length, 0)
  const texts = new Map<string, SpanTexts>()
  for (const packed of joinSlices(slices)) {
    await pause?.()
    readFields(await unpackBlock(packed, total), texts, encoding, isWanted)
  }
  return rows.map(row => ({ ...row, ...texts.get(row.id) }))
}
