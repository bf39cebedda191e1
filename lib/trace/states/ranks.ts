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
 * The prefix of calls of models in the names of ranks, in front of the id of the span. Such a rank ends in the id of
 * the provider's answer, by which the same call is known when another library reports it.
 */
const RESPONSE = 'response.'
export const nameOfResponse = (spanId: string): string => RESPONSE + spanId
export const isResponse = (name: string): boolean => name.startsWith(RESPONSE)
