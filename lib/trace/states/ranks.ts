/**
 * Ranks tell which spans the fields of a gathered trace come from, so that the order in which spans arrive does not
 * matter. The map holds four kinds of entries, told apart by their names: fields of the trace, answers of providers
 * (`response.<span id>`), spans that were left out (lib/trace/states/left-out.ts), and the end of a trace that became
 * idle (lib/trace/states/idle.ts).
 */

/**
 * The rank of a claim: its grade, a time, and the id of the span. The least rank is the best. The last is a text of
 * another kind for answers and spans that were left out.
 */
export type Rank = readonly [grade: number, order: number, id: string]
/**
 * The ranks of a trace's fields. `times` counts for the status too. Each key of the metadata has a rank, with a
 * prefix.
 */
export type Ranks = Readonly<Record<string, Rank>>

export const isBetter = ([grade, order, id]: Rank, other: Rank | undefined): boolean => beats(grade, order, id, other)

/** Whether a rank of these three would be better: nothing is made for what is none. */
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
