/**
 * A segment of the index: which of its traces have a term. Its traces are numbered from the newest on. Their terms are spread
 * over buckets by their highest bits, so that a search reads one small row of each segment and term.
 *
 * A bucket is a list of entries in the order of their terms: the term (4 bytes), the length of what follows (a varint of the
 * length times two, plus one for a bitmap), and the traces: a bitmap, or the distances from one to the next as varints,
 * whichever is shorter.
 */

export const BUCKETS = 512
const TERM_BYTES = 4
const BUCKET_SHIFT = 32 - Math.log2(BUCKETS)
/** The most traces of a segment. */
export const SEGMENT_TRACES = 2048

export const bucketOf = (term: number): number => term >>> BUCKET_SHIFT

/** How many buckets are made before others get their turn: some milliseconds of work. */
const BUCKETS_AT_ONCE = 16

/** Makes the buckets of a segment of traces with these terms, each once. A bucket without terms is empty. */
export async function makeBuckets(traces: readonly Int32Array[], rest: () => Promise<unknown>): Promise<Buffer[]> {
  const starts = new Uint32Array(BUCKETS + 1)
  for (const terms of traces) for (const term of terms) starts[bucketOf(term) + 1]!++
  for (let bucket = 0; bucket < BUCKETS; bucket++) starts[bucket + 1]! += starts[bucket]!
  // A pair of term and trace as one number, so that they can be sorted fast.
  const pairs = new Float64Array(starts[BUCKETS]!)
  const next = starts.slice()
  for (const [trace, terms] of traces.entries()) {
    for (const term of terms) pairs[next[bucketOf(term)]!++] = (term >>> 0) * SEGMENT_TRACES + trace
  }
  const buckets: Buffer[] = []
  for (let bucket = 0; bucket < BUCKETS; bucket++) {
    if (bucket % BUCKETS_AT_ONCE === 0) await rest()
    buckets.push(encode(pairs.subarray(starts[bucket], starts[bucket + 1]).sort(), traces.length))
  }
  return buckets
}

function encode(pairs: Float64Array, traces: number): Buffer {
  const bytes: number[] = []
  for (let at = 0; at < pairs.length; ) {
    const term = Math.floor(pairs[at]! / SEGMENT_TRACES)
    const members: number[] = []
    for (; at < pairs.length && Math.floor(pairs[at]! / SEGMENT_TRACES) === term; at++) {
      members.push(pairs[at]! % SEGMENT_TRACES)
    }
    pushEntry(bytes, term, members, traces)
  }
  return Buffer.from(bytes)
}

function pushEntry(bytes: number[], term: number, members: readonly number[], traces: number): void {
  bytes.push(term & 0xff, (term >>> 8) & 0xff, (term >>> 16) & 0xff, term >>> 24)
  const bitmapBytes = Math.ceil(traces / 8)
  const distances = distancesOf(members)
  if (distances.length <= bitmapBytes) {
    pushVarint(bytes, distances.length * 2)
    bytes.push(...distances)
  } else {
    pushVarint(bytes, bitmapBytes * 2 + 1)
    bytes.push(...bitmapOf(members, bitmapBytes))
  }
}

function distancesOf(members: readonly number[]): number[] {
  const bytes: number[] = []
  let last = -1
  for (const member of members) {
    pushVarint(bytes, member - last)
    last = member
  }
  return bytes
}

function bitmapOf(members: readonly number[], length: number): Uint8Array {
  const bitmap = new Uint8Array(length)
  for (const member of members) bitmap[member >> 3]! |= 1 << (member & 7)
  return bitmap
}

function pushVarint(bytes: number[], value: number): void {
  let rest = value
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80)
  bytes.push(rest)
}

/** The traces of a bucket that have a term, in their order. */
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

/** The buckets without the traces that are not kept, all of them: one that was not given is empty. */
export async function keepMembers(
  buckets: readonly { readonly bucket: number; readonly bytes: Buffer }[],
  isKept: readonly boolean[],
  rest: () => Promise<unknown>
): Promise<Buffer[]> {
  let count = 0
  const places = isKept.map(kept => (kept ? count++ : undefined))
  const all: Buffer[] = Array.from({ length: BUCKETS }, () => Buffer.alloc(0))
  for (const [i, { bucket, bytes }] of buckets.entries()) {
    if (i % BUCKETS_AT_ONCE === 0) await rest()
    const left: number[] = []
    for (const entry of entriesOf(bytes)) {
      const members = readTraces(entry.bytes, entry.isBitmap).flatMap(trace => places[trace] ?? [])
      if (members.length > 0) pushEntry(left, entry.term, members, count)
    }
    all[bucket] = Buffer.from(left)
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

/** A trace of a segment: its inner number, and when it started, in whole milliseconds since 1970. */
export interface Member {
  readonly seq: number
  readonly startedMs: number
}

/** Two doubles. */
const MEMBER_BYTES = 16

/** The traces of a segment as bytes. */
export function packMembers(members: readonly Member[]): Buffer {
  const bytes = Buffer.alloc(members.length * MEMBER_BYTES)
  for (const [i, { seq, startedMs }] of members.entries()) {
    bytes.writeDoubleLE(seq, i * MEMBER_BYTES)
    bytes.writeDoubleLE(startedMs, i * MEMBER_BYTES + MEMBER_BYTES / 2)
  }
  return bytes
}

export const readMembers = (packed: Buffer): Member[] =>
  Array.from({ length: packed.length / MEMBER_BYTES }, (_, i) => ({
    seq: packed.readDoubleLE(i * MEMBER_BYTES),
    startedMs: packed.readDoubleLE(i * MEMBER_BYTES + MEMBER_BYTES / 2)
  }))
