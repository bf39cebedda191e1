/** Selects score rows from the COPY rows that lib/rows/copy-rows.ts renders for a restored trace. */

/** Consecutive score rows, with each row's offset and the offset at which the last row ends. */
export interface ScoreRows {
  readonly bytes: Uint8Array
  readonly scores: readonly number[]
  readonly scoresEnd: number
}

/** Returns the rows with these indexes, in the given order. */
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
