/**
 * Ranks record which span each field of a gathered trace comes from, so that the trace does not depend on arrival
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

export const isBetter = ([grade, order, id]: Rank, other: Rank | undefined): boolean => beats(grade, order, id, other)

/** Whether a rank with these elements would be better than `other`. Avoids allocating losing ranks. */
export const beats = (grade: number, order: number, id: string, other: Rank | undefined): boolean =>
  other === undefined ||
  grade < other[0] ||
  (grade === other[0] && (order < other[1] || (order === other[1] && id < other[2])))

/**
 * The latest end of the trace's spans, as minus microseconds since 1970, and the latest of those whose clock was ahead
 * of the server's (lib/otlp/trace-hints.ts).
 */
export const END = 'end'
export const FUTURE_END = 'futureEnd'
const STATUS = 'status.'
/** The name of the rank that is there if a root of this level has the status, which is `ok` or `error`. */
export const nameOfStatus = (level: number, status: string): string => `${STATUS}${level}.${status}`
/** Whether the name is one whose rank has no text. */
export const isPlain = (name: string): boolean => name === END || name === FUTURE_END || name.startsWith(STATUS)

/**
 * The prefix of model calls, in front of the span's id, under which versions up to 1.0.0-rc.1 kept response ids. Today
 * they are in a column of the span.
 */
const RESPONSE = 'response.'
export const nameOfResponse = (spanId: string): string => RESPONSE + spanId
export const isResponse = (name: string): boolean => name.startsWith(RESPONSE)
