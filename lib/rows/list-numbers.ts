/**
 * Computes the numbers of a trace's lists (lib/store/lists/trace-merge.ts). A trace has one number for its family
 * (status, environment and model) and one for its named family (family and name). Further numbers combine the trace's
 * user, and each of the trace's tags, with each of the two families. A number is a string's hash, seeded with another
 * number, as computed by PostgreSQL's hashtextextended.
 *
 * The write path computes the numbers here. Maintenance that changes many rows lets PostgreSQL compute them. Generated
 * columns would serve both cases, but PostgreSQL plans the columns' expressions again for every COPY and update, even
 * if no underlying column changes (test/bench/RESULTS.md, "Generated columns").
 *
 * If two of a project's families shared a number, a filter for either family would find both families' traces. Among
 * 1,000 families, the probability of a shared number is 1 in 10^13.
 */

/** A signed 64-bit number as two signed 32-bit halves. */
export interface ListNumber {
  readonly high: number
  readonly low: number
}

const NO_SEED: ListNumber = { high: 0, low: 0 }

export const digitsOf = ({ high, low }: ListNumber): string => String((BigInt(high) << 32n) | BigInt(low >>> 0))

/** The fields that, together with the environment, determine a trace's lists. */
interface Listed {
  readonly status: string
  readonly model: string | null
  readonly name: string
  readonly userId: string | null
}

export interface TraceLists {
  readonly family: ListNumber
  readonly namedFamily: ListNumber
  readonly userFamily: ListNumber | null
  readonly userNamedFamily: ListNumber | null
}

export interface TagLists {
  readonly tagFamily: ListNumber
  readonly tagNamedFamily: ListNumber
  readonly tagUser: ListNumber | null
}

export function listsOf({ status, model, name, userId }: Listed, environment: string): TraceLists {
  const family = hashText(model ?? '', hashText(environment, hashText(status, NO_SEED)))
  const namedFamily = hashText(name, family)
  return {
    family,
    namedFamily,
    userFamily: userId === null ? null : hashText(userId, family),
    userNamedFamily: userId === null ? null : hashText(userId, namedFamily)
  }
}

export function tagListsOf(tag: string, { family, namedFamily, userFamily }: TraceLists): TagLists {
  return {
    tagFamily: hashText(tag, family),
    tagNamedFamily: hashText(tag, namedFamily),
    tagUser: userFamily === null ? null : hashText(tag, userFamily)
  }
}

/**
 * Returns SQL for the numbers of `listsOf`, for statements that change stored traces. Arguments are SQL expressions.
 * The environment may be null, because some restored traces have none.
 */
export function listsInSql({
  status,
  environment,
  model,
  name,
  userId
}: Readonly<Record<keyof Listed | 'environment', string>>) {
  const family = hashInSql(`coalesce(${model}, '')`, hashInSql(`coalesce(${environment}, '')`, hashInSql(status, '0')))
  const namedFamily = hashInSql(name, family)
  return {
    family,
    named_family: namedFamily,
    user_family: hashInSql(userId, family),
    user_named_family: hashInSql(userId, namedFamily)
  }
}

/** Returns SQL for the numbers of `tagListsOf`. */
export function tagListsInSql(
  tag: string,
  { family, namedFamily, userFamily }: Readonly<Record<keyof Omit<TraceLists, 'userNamedFamily'>, string>>
) {
  return {
    tag_family: hashInSql(tag, family),
    tag_named_family: hashInSql(tag, namedFamily),
    tag_user: hashInSql(tag, userFamily)
  }
}

/** Returns SQL for the hash, which is null if the text is null. */
export const hashInSql = (text: string, seed: string): string => `hashtextextended(${text}, ${seed})`

/** The string being hashed, as UTF-8 padded with zeros. */
let bytes = Buffer.alloc(1024)
/** Maximum number of UTF-8 bytes per UTF-16 code unit. */
const UNIT_BYTES = 3
/** Number of bytes hashed per step, as three 32-bit words. */
const BLOCK = 12

/**
 * Implements PostgreSQL's hashtextextended: Bob Jenkins's lookup3 (https://burtleburtle.net/bob/c/lookup3.c), as
 * hash_bytes_extended in src/common/hashfn.c computes it on little-endian machines.
 */
export function hashText(text: string, seed: ListNumber): ListNumber {
  const length = encode(text)
  const start = (0x9e3779b9 + length + 3_923_095) | 0
  let [a, b, c] = [start, start, start]
  const isSeeded = seed.high !== 0 || seed.low !== 0
  let at = isSeeded ? -BLOCK : 0
  for (; at + BLOCK <= length; at += BLOCK) {
    const isSeed = at < 0
    a = (a + (isSeed ? seed.high : word(at))) | 0
    b = (b + (isSeed ? seed.low : word(at + 4))) | 0
    c = (c + (isSeed ? 0 : word(at + 8))) | 0
    a = ((a - c) | 0) ^ rotated(c, 4)
    c = (c + b) | 0
    b = ((b - a) | 0) ^ rotated(a, 6)
    a = (a + c) | 0
    c = ((c - b) | 0) ^ rotated(b, 8)
    b = (b + a) | 0
    a = ((a - c) | 0) ^ rotated(c, 16)
    c = (c + b) | 0
    b = ((b - a) | 0) ^ rotated(a, 19)
    a = (a + c) | 0
    c = ((c - b) | 0) ^ rotated(b, 4)
    b = (b + a) | 0
  }
  a = (a + word(at)) | 0
  b = (b + word(at + 4)) | 0
  // As in PostgreSQL, the lowest byte of the last word stays unused.
  c = (c + (word(at + 8) << 8)) | 0
  c = ((c ^ b) - rotated(b, 14)) | 0
  a = ((a ^ c) - rotated(c, 11)) | 0
  b = ((b ^ a) - rotated(a, 25)) | 0
  c = ((c ^ b) - rotated(b, 16)) | 0
  a = ((a ^ c) - rotated(c, 4)) | 0
  b = ((b ^ a) - rotated(a, 14)) | 0
  c = ((c ^ b) - rotated(b, 24)) | 0
  return { high: b, low: c }
}

/** Encodes the string into `bytes` and returns its length in bytes. */
function encode(text: string): number {
  const units = text.length
  const most = units * UNIT_BYTES + BLOCK
  if (bytes.length < most) bytes = Buffer.alloc(2 * most)
  let length = 0
  for (; length < units; length++) {
    const code = text.charCodeAt(length)
    if (code > 127) {
      length = bytes.write(text)
      break
    }
    bytes[length] = code
  }
  for (let i = length; i < length + BLOCK; i++) bytes[i] = 0
  return length
}

const word = (at: number): number =>
  (bytes[at] as number) |
  ((bytes[at + 1] as number) << 8) |
  ((bytes[at + 2] as number) << 16) |
  ((bytes[at + 3] as number) << 24)

const rotated = (word: number, by: number): number => (word << by) | (word >>> (32 - by))
