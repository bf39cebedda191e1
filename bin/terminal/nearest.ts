/** Returns the name most similar to a mistyped one; undefined if none is similar. */
export function nearest(typed: string, names: readonly string[]): string | undefined {
  let best: string | undefined
  // Two transposed letters count as two replacements, so the limit is one higher.
  let least = Math.ceil(typed.length / 3) + 1
  for (const name of names) {
    const distance = editDistance(typed, name)
    if (distance < least) {
      least = distance
      best = name
    }
  }
  return best
}

/** Returns the number of letters to insert, delete or replace to turn one string into the other (Levenshtein). */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const replaced = row[j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1))
    }
    row = next
  }
  return row[to.length]!
}
