/** Finds the existing names that a mistyped name may mean. */

/** Maximum number of names that are suggested. */
const MOST = 5
/** Minimum similarity of a suggested name. */
const LIKE = 0.4
/** Maximum number of characters compared. Names that agree this far count as equal. */
const COMPARED = 64

export interface Nearest {
  readonly names: readonly string[]
  /** Whether the names resemble the wanted name. If not, they are the first names in order. */
  readonly areLike: boolean
}

/**
 * Returns the names most similar to `wanted`, most similar first. Equally similar names keep their order, which is most
 * frequent first. If no name is similar, returns the first names. If `wanted` is a prefix, the beginnings of names are
 * compared as well.
 */
export function nearestNames(wanted: string, names: readonly string[], isPrefix = false): Nearest {
  const asked = plain(wanted)
  const likely = names
    .map((name, i) => {
      const other = plain(name)
      const like = likeness(asked, other)
      return { name, i, like: isPrefix ? Math.max(like, likeness(asked, other.slice(0, asked.length))) : like }
    })
    .filter(({ like }) => like >= LIKE)
    .sort((a, b) => b.like - a.like || a.i - b.i)
    .map(({ name }) => name)
  const areLike = likely.length > 0
  return { names: (areLike ? likely : names).slice(0, MOST), areLike }
}

/** Letters and digits alone: `Lookup Order` and `lookup_order` are equal. */
function plain(name: string): string {
  const folded = name.normalize('NFKC').toLowerCase()
  return (folded.replace(/[^\p{L}\p{N}]/gu, '') || folded).slice(0, COMPARED)
}

/**
 * Returns 1 for equal names. For others, returns the greatest of three shares: the length of a name that the other
 * contains, the pairs of characters that both have, and the characters that edits leave unchanged.
 */
function likeness(one: string, other: string): number {
  if (one === other) return 1
  const [short, long] = one.length < other.length ? [one, other] : [other, one]
  const contained = short.length > 1 && long.includes(short) ? 0.5 + short.length / (2 * long.length) : 0
  const kept = long.length === 0 ? 0 : 1 - editDistance(short, long) / long.length
  return Math.max(contained, sharedPairs(short, long), kept)
}

function sharedPairs(one: string, other: string): number {
  const [a, b] = [pairsOf(one), pairsOf(other)]
  const shared = [...a].filter(pair => b.has(pair)).length
  return (2 * shared) / (a.size + b.size)
}

/** Pairs of neighbouring characters. The ends count as characters, so that short names have pairs, too. */
function pairsOf(name: string): Set<string> {
  const characters = ['^', ...name, '$']
  return new Set(characters.slice(1).map((character, i) => characters[i]! + character))
}

/**
 * Returns the number of insertions, deletions, replacements and swaps of neighbours that turn one string into the
 * other.
 */
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
