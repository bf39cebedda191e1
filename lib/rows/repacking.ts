/**
 * Packs the texts of a stored trace again. Spans that arrived in pieces are packed piece by piece, or not at all if the
 * server was busy (lib/rows/packed-texts.ts). Each step of an agent repeats the conversation so far, so blocks of the
 * whole trace are several times smaller.
 */
import { promisify } from 'node:util'
import { type BrotliOptions, brotliCompress, brotliCompressSync, type InputType } from 'node:zlib'
import {
  blockFieldsOf,
  joinSlices,
  LENGTH,
  lengthOfTexts,
  MAX_BLOCK_BYTES,
  RESTING,
  type SpanTexts,
  sliceBlock,
  spansIn,
  unpackBlock
} from './packed-texts.ts'

const compressElsewhere = promisify<InputType, BrotliOptions, Buffer>(brotliCompress)
/** Maximum number of bytes that are compressed on the main thread. Larger blocks would hold it up for too long. */
const SHORT_BYTES = 65_536

const compress = async (block: Buffer): Promise<Buffer> =>
  block.length <= SHORT_BYTES ? brotliCompressSync(block, RESTING) : compressElsewhere(block, RESTING)

/** How the spans of a trace are stored. Sizes are in bytes, as on disk. */
export interface StoredSizes {
  readonly spans: number
  /** Number of groups of packed texts. */
  readonly groups: number
  readonly packedBytes: number
  readonly plainBytes: number
  /** Whether a span is a coding agent's step. */
  readonly hasSteps: boolean
  /** Bytes of the trace's documents. */
  readonly estimatedBytes: number
}

/**
 * Traces above either limit stay as they are. A group's slices are numbered with 16 bits, and the compressed texts of
 * the whole trace are in memory until they are written.
 */
const MOST = { spans: 50_000, estimatedBytes: 256 * 1024 * 1024 }
/** Bytes that are written again with each row besides its texts. */
const ROW_BYTES = 200
/** Fraction of the written bytes that repacking must save. A byte is written once, and stays on the disk for good. */
const LEAST_GAIN = 0.5

/** Whether a trace's texts may become smaller. Only packing them shows by how much. */
export function mayShrink(stored: StoredSizes): boolean {
  const { spans, groups, packedBytes, plainBytes, hasSteps, estimatedBytes } = stored
  // A step's row may be removed later, and the other rows of its group could then no longer be unpacked.
  if (hasSteps || spans > MOST.spans || estimatedBytes > MOST.estimatedBytes) return false
  if (packedBytes + plainBytes < LENGTH.least / 2) return false
  if (plainBytes >= LENGTH.least) return true
  // A long trace that was recorded as a whole has several groups, whose blocks are full.
  return groups > Math.max(1, 2 * Math.ceil(estimatedBytes / MAX_BLOCK_BYTES) - 1)
}

/**
 * For a trace that cannot shrink in any other way: the minimum length of a text that is looked for in its spans, and
 * the maximum number of stored bytes that are read to do so.
 */
const LOOKED_FOR = { leastBytes: 1024, mostStoredBytes: 65_536 }

/**
 * Whether a trace's own texts may equal those of its spans (lib/rows/trace-texts.ts). For a trace that was recorded by
 * a single request, this has already been decided. For a short trace, it is cheap to find out.
 */
export function mayShare(
  { spans, packedBytes, plainBytes }: StoredSizes,
  { ownBytes, isGrown }: { readonly ownBytes: number; readonly isGrown: boolean }
): boolean {
  const isShort = spans <= MOST.spans && packedBytes + plainBytes <= LOOKED_FOR.mostStoredBytes
  return isGrown && isShort && ownBytes >= LOOKED_FOR.leastBytes
}

/** Whether to replace `before` bytes in these rows by `after` bytes. */
export const isWorthwhile = (rows: number, before: number, after: number): boolean =>
  before - after >= LEAST_GAIN * (after + ROW_BYTES * rows)

/** A row to write, which has a slice and no plain texts. */
export interface RepackedRow {
  readonly id: string
  readonly packed: Uint8Array
}

type PlainSpan = SpanTexts & { readonly id: string }
/** A span with its fields in a block, the first of which is its id. */
interface PackedSpan {
  readonly id: string
  readonly bytes: Buffer
}

/** Yields the spans of a group that `isStored` accepts. `slices` must be all of the group's slices. */
export async function* spansOfGroup(
  slices: readonly Buffer[],
  isStored: (id: string) => boolean
): AsyncGenerator<PackedSpan, void> {
  for (const packed of joinSlices(slices)) {
    for (const span of spansIn(await unpackBlock(packed))) if (isStored(span.id)) yield span
  }
}

/** Fills blocks with spans in the order in which they are added. */
export class Repacker {
  readonly rows: RepackedRow[] = []
  #spans: PackedSpan[] = []
  #bytes = 0

  /** Adds a span whose texts are not packed. A span that is longer than a block stays as it is. */
  async addPlain(span: PlainSpan): Promise<void> {
    if (lengthOfTexts([span]) > MAX_BLOCK_BYTES) return
    const bytes = blockFieldsOf(span)
    if (bytes.length <= MAX_BLOCK_BYTES) await this.addPacked({ id: span.id, bytes })
  }

  async addPacked(span: PackedSpan): Promise<void> {
    if (this.#bytes + span.bytes.length > MAX_BLOCK_BYTES) await this.end()
    this.#spans.push(span)
    this.#bytes += span.bytes.length
  }

  /** Packs what is left. `rows` is complete afterwards. */
  async end(): Promise<void> {
    const spans = this.#spans
    if (spans.length === 0) return
    this.#spans = []
    this.#bytes = 0
    const block = Buffer.concat(spans.map(({ bytes }) => bytes))
    const packed = await compress(block)
    // The rows that are overwritten hold the only copy of the texts.
    if (!(await unpackBlock(packed)).equals(block))
      throw new Error('unpacking a block of texts does not restore the packed texts')
    const stored = sliceBlock(spans, packed)
    this.rows.push(...spans.map(({ id }, i) => ({ id, packed: (stored[i] as { packed: Uint8Array }).packed })))
  }
}
