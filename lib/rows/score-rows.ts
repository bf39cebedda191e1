/** Rows of scores as COPY takes them, among those that lib/rows/copy-rows.ts renders of a restored trace. */

/** Rows of scores, one after another, with the offset at which each begins, and at which the last one ends. */
export interface ScoreRows {
  readonly bytes: Uint8Array
  readonly scores: readonly number[]
  readonly scoresEnd: number
}

/** The rows with these indexes, in this order. */
export function pickScores({ bytes, scores, scoresEnd }: ScoreRows, places: readonly number[]): ScoreRows {
  const parts = places.map(place => bytes.subarray(scores[place], scores[place + 1] ?? scoresEnd))
  const starts: number[] = []
  let length = 0
  for (const part of parts) {
    starts.push(length)
    length += part.byteLength
  }
  return { bytes: Buffer.concat(parts, length), scores: starts, scoresEnd: length }
}
