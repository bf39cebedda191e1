/**
 * Encodes a segment of the search index, which maps terms to the traces that contain them. Traces are numbered from
 * newest to oldest. A term's highest bits determine the term's bucket, so that a search reads one small row per segment
 * and term.
 *
 * A bucket is a list of entries sorted by term. An entry contains the term (4 bytes), a header (a varint: twice the
 * number of remaining bytes, plus 1 for a bitmap) and the traces, as a bitmap or as varint distances between
 * consecutive traces, whichever is shorter.
 */

export const SEGMENT_BUCKETS = 512
const TERM_BYTES = 4
const MOST_VARINT_BYTES = 2
const BUCKET_SHIFT = 32 - Math.log2(SEGMENT_BUCKETS)
/** Maximum number of traces in a segment. */
export const SEGMENT_TRACES = 2048

export const segmentBucketOf = (term: number): number => term >>> BUCKET_SHIFT

/**
 * Number of buckets processed before yielding to other tasks. Processing this many buckets takes a few milliseconds.
 */
const BUCKETS_AT_ONCE = 64

/** Builds a segment's buckets from each trace's distinct terms. A bucket without terms is empty. */
export async function makeBuckets(traces: readonly Int32Array[], rest: () => Promise<unknown>): Promise<Buffer[]> {
  const { terms, members } = await sortPairs(pairsOf(traces), rest)
  const entries = new Entries(traces.length, terms.length)
  const buckets: Buffer[] = []
  for (let bucket = 0, at = 0; bucket < SEGMENT_BUCKETS; bucket++) {
    if (bucket % BUCKETS_AT_ONCE === 0) await rest()
    while (at < terms.length && segmentBucketOf(terms[at]!) === bucket) {
      const term = terms[at]!
      const from = at
      while (at < terms.length && terms[at] === term) at++
      entries.push(term, members, from, at)
    }
    buckets.push(entries.take())
  }
  return buckets
}

/** Parallel arrays of terms and the traces that contain them. */
interface Pairs {
  readonly terms: Uint32Array
  readonly members: Uint16Array
}

const emptyPairs = (count: number): Pairs => ({ terms: new Uint32Array(count), members: new Uint16Array(count) })

/** Returns the pairs in trace order. */
function pairsOf(traces: readonly Int32Array[]): Pairs {
  const pairs = emptyPairs(traces.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const [trace, terms] of traces.entries()) {
    pairs.terms.set(terms, at)
    pairs.members.fill(trace, at, at + terms.length)
    at += terms.length
  }
  return pairs
}

/** Number of term bits that one pass sorts by. Three passes cover 32 bits. */
const DIGIT = { bits: 11, values: 2 ** 11 }

/** Sorts by term, from the lowest digit to the highest. Each pass is stable, so that a term's traces stay in order. */
async function sortPairs(pairs: Pairs, rest: () => Promise<unknown>): Promise<Pairs> {
  let [from, to] = [pairs, emptyPairs(pairs.terms.length)]
  for (let shift = 0; shift < 32; shift += DIGIT.bits) {
    await rest()
    sortByDigit(from, to, shift)
    ;[from, to] = [to, from]
  }
  return from
}

function sortByDigit(from: Pairs, to: Pairs, shift: number): void {
  const { terms, members } = from
  const places = new Uint32Array(DIGIT.values + 1)
  for (let i = 0; i < terms.length; i++) places[((terms[i]! >>> shift) & (DIGIT.values - 1)) + 1]!++
  for (let digit = 0; digit < DIGIT.values; digit++) places[digit + 1]! += places[digit]!
  for (let i = 0; i < terms.length; i++) {
    const term = terms[i]!
    const place = places[(term >>> shift) & (DIGIT.values - 1)]!++
    to.terms[place] = term
    to.members[place] = members[i]!
  }
}

/** Writes the entries of one bucket at a time. */
class Entries {
  readonly #bitmapBytes: number
  #bytes: Buffer
  #length = 0

  /**
   * Writes entries for a segment of `traces` traces. `pairs`, the expected number of term-trace pairs, sets the initial
   * capacity.
   */
  constructor(traces: number, pairs: number) {
    this.#bitmapBytes = Math.ceil(traces / 8)
    this.#bytes = Buffer.allocUnsafe(1024 + Math.ceil((pairs * 4) / SEGMENT_BUCKETS))
  }

  /** Adds a term with the traces `members[from]` to `members[to - 1]`, in ascending order. */
  push(term: number, members: Uint16Array, from: number, to: number): void {
    let distanceBytes = 0
    for (let i = from, last = -1; i < to; last = members[i]!, i++) distanceBytes += members[i]! - last < 0x80 ? 1 : 2
    const isBitmap = distanceBytes > this.#bitmapBytes
    const length = isBitmap ? this.#bitmapBytes : distanceBytes
    this.#makeRoom(TERM_BYTES + MOST_VARINT_BYTES + length)
    this.#length = this.#bytes.writeUInt32LE(term >>> 0, this.#length)
    this.#pushVarint(length * 2 + (isBitmap ? 1 : 0))
    if (isBitmap) this.#pushBitmap(members, from, to)
    else for (let i = from, last = -1; i < to; last = members[i]!, i++) this.#pushVarint(members[i]! - last)
  }

  #pushBitmap(members: Uint16Array, from: number, to: number): void {
    const start = this.#length
    this.#length += this.#bitmapBytes
    this.#bytes.fill(0, start, this.#length)
    for (let i = from; i < to; i++) this.#bytes[start + (members[i]! >> 3)]! |= 1 << (members[i]! & 7)
  }

  #pushVarint(value: number): void {
    let left = value
    for (; left > 0x7f; left >>>= 7) this.#bytes[this.#length++] = (left & 0x7f) | 0x80
    this.#bytes[this.#length++] = left
  }

  #makeRoom(bytes: number): void {
    if (this.#length + bytes <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(2 * this.#bytes.length + bytes)
    this.#bytes.copy(larger, 0, 0, this.#length)
    this.#bytes = larger
  }

  /** Returns the bytes added since the last call. */
  take(): Buffer {
    const taken = Buffer.from(this.#bytes.subarray(0, this.#length))
    this.#length = 0
    return taken
  }
}

/** Returns the traces in a bucket that contain a term, in ascending order. */
export function findTraces(bucket: Buffer, term: number): number[] {
  const wanted = term >>> 0
  for (let at = 0; at < bucket.length; ) {
    const found = bucket.readUInt32LE(at)
    const { value, end } = readVarint(bucket, at + TERM_BYTES)
    const next = end + (value >>> 1)
    if (found === wanted) return readTraces(bucket.subarray(end, next), (value & 1) === 1)
    if (found > wanted) break
    at = next
  }
  return []
}

interface Entry {
  readonly term: number
  readonly bytes: Buffer
  readonly isBitmap: boolean
}

function* entriesOf(bucket: Buffer): Generator<Entry> {
  for (let at = 0; at < bucket.length; ) {
    const { value, end } = readVarint(bucket, at + TERM_BYTES)
    const next = end + (value >>> 1)
    yield { term: bucket.readUInt32LE(at), bytes: bucket.subarray(end, next), isBitmap: (value & 1) === 1 }
    at = next
  }
}

/** Removes all traces except the traces in `isKept`. Returns all buckets; a bucket that was not passed in is empty. */
export async function keepMembers(
  buckets: readonly { readonly bucket: number; readonly bytes: Buffer }[],
  isKept: readonly boolean[],
  rest: () => Promise<unknown>
): Promise<Buffer[]> {
  let count = 0
  const places = isKept.map(kept => (kept ? count++ : undefined))
  const all: Buffer[] = Array.from({ length: SEGMENT_BUCKETS }, () => Buffer.alloc(0))
  const left = new Entries(count, 0)
  for (const [i, { bucket, bytes }] of buckets.entries()) {
    if (i % BUCKETS_AT_ONCE === 0) await rest()
    for (const entry of entriesOf(bytes)) {
      const members = readTraces(entry.bytes, entry.isBitmap).flatMap(trace => places[trace] ?? [])
      if (members.length > 0) left.push(entry.term, Uint16Array.from(members), 0, members.length)
    }
    all[bucket] = left.take()
  }
  return all
}

function readTraces(bytes: Buffer, isBitmap: boolean): number[] {
  const members: number[] = []
  if (isBitmap) {
    for (let i = 0; i < bytes.length * 8; i++) if ((bytes[i >> 3]! & (1 << (i & 7))) !== 0) members.push(i)
    return members
  }
  let last = -1
  for (let at = 0; at < bytes.length; ) {
    const { value, end } = readVarint(bytes, at)
    last += value
    members.push(last)
    at = end
  }
  return members
}

function readVarint(bytes: Buffer, from: number): { value: number; end: number } {
  let value = 0
  for (let at = from, shift = 0; ; at++, shift += 7) {
    const byte = bytes[at]!
    value |= (byte & 0x7f) << shift
    if (byte < 0x80) return { value, end: at + 1 }
  }
}

/** A trace in a segment: its internal number and its start time in whole milliseconds since 1970. */
export interface SegmentMember {
  readonly seq: number
  readonly startedMs: number
}

/** Size of a member in bytes: two doubles. */
export const MEMBER_BYTES = 16

export function packMembers(members: readonly SegmentMember[]): Buffer {
  const bytes = Buffer.alloc(members.length * MEMBER_BYTES)
  for (const [i, { seq, startedMs }] of members.entries()) {
    bytes.writeDoubleLE(seq, i * MEMBER_BYTES)
    bytes.writeDoubleLE(startedMs, i * MEMBER_BYTES + MEMBER_BYTES / 2)
  }
  return bytes
}

export const readMembers = (packed: Buffer): SegmentMember[] =>
  Array.from({ length: packed.length / MEMBER_BYTES }, (_, i) => ({
    seq: packed.readDoubleLE(i * MEMBER_BYTES),
    startedMs: packed.readDoubleLE(i * MEMBER_BYTES + MEMBER_BYTES / 2)
  }))
