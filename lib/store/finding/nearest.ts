/** Finds the names that a mistaken name may stand for. */

/** Maximum number of names that are suggested. */
const MOST = 5
/** Minimum likeness of a suggested name. */
const LIKE = 0.3

/**
 * Returns the names that are most like `wanted`, the likest first. `names` are the existing names, the most frequent
 * first; names that are equally like keep this order. If no name is like `wanted`, returns the most frequent ones.
 */
export function nearestNames(wanted: string, names: readonly string[]): { names: string[]; areLike: boolean } {
  const asked = plain(wanted)
  const likely = names
    .map((name, i) => ({ name, i, like: likeness(asked, plain(name)) }))
    .filter(({ like }) => like >= LIKE)
    .sort((a, b) => b.like - a.like || a.i - b.i)
    .map(({ name }) => name)
  const areLike = likely.length > 0
  return { names: (areLike ? likely : names).slice(0, MOST), areLike }
}

/** Letters and digits alone: `Lookup Order` and `lookup_order` are the same. */
const plain = (name: string): string => name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '') || name.toLowerCase()

/** Returns 1 for equal names, less if one contains the other, and else the share of pairs that both have. */
function likeness(one: string, other: string): number {
  if (one === other) return 1
  const [short, long] = one.length < other.length ? [one, other] : [other, one]
  const contained = short.length > 1 && long.includes(short) ? 0.5 + short.length / (2 * long.length) : 0
  const [a, b] = [pairsOf(short), pairsOf(long)]
  const total = a.size + b.size
  const shared = [...a].filter(pair => b.has(pair)).length
  return Math.max(contained, total === 0 ? 0 : (2 * shared) / total)
}

/** Pairs of neighbouring characters. The ends count as characters, so that short names have pairs, too. */
function pairsOf(name: string): Set<string> {
  const characters = ['^', ...name, '$']
  return new Set(characters.slice(1).map((character, i) => characters[i]! + character))
}
