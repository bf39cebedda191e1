/**
 * Ranks record the span that supplied each field of a gathered trace, so that the trace does not depend on arrival
 * order. Ranks are named after fields of the trace, provider responses (`response.<span id>`), left-out spans
 * (lib/trace/states/left-out.ts), or the end of an idle trace (lib/trace/states/idle.ts).
 */

/**
 * A claim's rank: grade, time and span id. The lowest rank is best. For provider responses, left-out spans and idle
 * ends, the last element is another string.
 */
export type Rank = readonly [grade: number, order: number, id: string]
/** Ranks by name. `times` also ranks the status. Each metadata key has its own rank, with a prefixed name. */
export type Ranks = Readonly<Record<string, Rank>>

/**
 * Returns ranks as JSON. A rank that equals an earlier one is written as the earlier one's name, because a trace takes
 * most of its fields from one span.
 */
export function ranksText(ranks: Ranks): string {
  const names = new Map<string, string>()
  const written: Record<string, Rank | string> = Object.create(null)
  for (const name in ranks) {
    const rank = ranks[name] as Rank
    const key = `${rank[0]} ${rank[1]} ${rank[2]}`
    const earlier = names.get(key)
    if (earlier === undefined) names.set(key, name)
    written[name] = earlier ?? rank
  }
  return JSON.stringify(written)
}

/** Reads the JSON that ranksText returns. Versions before 1.0.0 wrote every rank out. */
export const readRanks = (text: string): Ranks => spellOut(JSON.parse(text))

/** Returns ranks with every name replaced by the rank that it stands for. Anything else stays as it is. */
export function spellOut(written: Readonly<Record<string, unknown>>): Ranks {
  const ranks: Record<string, unknown> = Object.create(null)
  for (const name in written) {
    const rank = written[name]
    ranks[name] = typeof rank === 'string' && Object.hasOwn(written, rank) ? written[rank] : rank
  }
  return ranks as Ranks
}

export const isBetter = ([grade, order, id]: Rank, other: Rank | undefined): boolean => beats(grade, order, id, other)

/**
 * Whether a rank with these elements would be better than `other`. Avoids allocating a rank that would not be better.
 */
export const beats = (grade: number, order: number, id: string, other: Rank | undefined): boolean =>
  other === undefined ||
  grade < other[0] ||
  (grade === other[0] && (order < other[1] || (order === other[1] && id < other[2])))

/**
 * Whether a rank's last element, which may come from an untrusted file, is a JSON array whose cells pass the checks.
 * Cells without a check are allowed.
 */
export function isCells(text: string, checks: readonly ((cell: unknown) => boolean)[]): boolean {
  try {
    const cells: unknown = JSON.parse(text)
    return Array.isArray(cells) && checks.every((isValid, i) => isValid(cells[i]))
  } catch {
    return false
  }
}
export const isString = (cell: unknown): boolean => typeof cell === 'string'
export const orNull = (isValid: (cell: unknown) => boolean) => (cell: unknown) => cell === null || isValid(cell)
const isCount = orNull(Number.isSafeInteger)
/** Checks for input, output and total tokens, and for the cost. */
export const SPENDING = [isCount, isCount, isCount, orNull(Number.isFinite)]

/**
 * Names of two ranks that hold the latest end of the trace's spans, as negative microseconds since 1970. FUTURE_END
 * covers spans from senders whose clock was ahead of the server's (lib/otlp/trace-hints.ts).
 */
export const END = 'end'
export const FUTURE_END = 'futureEnd'
/** Name of the rank that records that tags were left out (lib/trace/states/left-out-tags.ts). */
export const TAGS_LEFT_OUT = 'tagsLeftOut'
const STATUS = 'status.'
/** Returns the name of the rank that records that a root of this level has the status `ok` or `error`. */
export const nameOfStatus = (level: number, status: string): string => `${STATUS}${level}.${status}`
/** Whether the last element of the rank with this name is an empty string. */
export const isPlain = (name: string): boolean =>
  [END, FUTURE_END, TAGS_LEFT_OUT].includes(name) || name.startsWith(STATUS)

/**
 * Prefix of the ranks in which versions up to 1.0.0-rc.1 kept response ids. The span id follows the prefix. Response
 * ids are now in the spans' call details.
 */
const RESPONSE = 'response.'
export const nameOfResponse = (spanId: string): string => RESPONSE + spanId
export const isResponse = (name: string): boolean => name.startsWith(RESPONSE)
