/** Compares names that may be misspelt. */

/** Returns how many characters to insert, delete, replace, or swap with a neighbour turn one string into the other. */
export function editDistance(from: string, to: string): number {
  let before: number[] = []
  let last = Array.from({ length: to.length + 1 }, (_, i) => i)
  for (let i = 1; i <= from.length; i++) {
    const row = [i]
    for (let k = 1; k <= to.length; k++) {
      const isSame = from[i - 1] === to[k - 1]
      let least = Math.min(last[k]! + 1, row[k - 1]! + 1, last[k - 1]! + (isSame ? 0 : 1))
      if (i > 1 && k > 1 && from[i - 1] === to[k - 2] && from[i - 2] === to[k - 1]) {
        least = Math.min(least, before[k - 2]! + 1)
      }
      row.push(least)
    }
    before = last
    last = row
  }
  return last[to.length]!
}
