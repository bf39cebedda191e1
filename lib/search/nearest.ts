/** Finds the names that a wrong name may have meant, for answers to queries that match nothing. */

const MOST_NEAREST = 5
/** Maximum number of characters compared. Names that agree this far count as alike. */
const COMPARED = 64

/**
 * Returns up to five of the names, nearest first. Names that contain the wanted text, or that it contains, come first,
 * then names that few edits turn into it. If the wanted text is a prefix, only the beginnings of names are compared. If
 * none is near, returns the first names in their given order.
 */
export function nearestNames(wanted: string, names: readonly string[], isPrefix = false): readonly string[] {
  const folded = fold(wanted)
  const distance = (name: string) => {
    const other = fold(name)
    const whole = distanceOf(folded, other)
    return isPrefix ? Math.min(whole, distanceOf(folded, other.slice(0, folded.length))) : whole
  }
  const measured = [...new Set(names)].map((name, place) => ({ name, place, distance: distance(name) }))
  const near = measured.filter(({ distance }) => distance <= FAR)
  const chosen = near.length > 0 ? near : measured
  if (near.length > 0) chosen.sort((a, b) => a.distance - b.distance || a.place - b.place)
  return chosen.slice(0, MOST_NEAREST).map(({ name }) => name)
}

const fold = (name: string): string => name.normalize('NFKC').toLowerCase().slice(0, COMPARED)

/** Share of the longer name's characters that may differ. */
const FAR = 0.6

/** Returns a share from 0 (the same) to 1 (nothing in common). */
function distanceOf(wanted: string, name: string): number {
  if (wanted === name) return 0
  const most = Math.max(wanted.length, name.length)
  if (wanted.length > 1 && name.length > 1 && (name.includes(wanted) || wanted.includes(name))) {
    return (0.3 * Math.abs(wanted.length - name.length)) / most
  }
  return edits(wanted, name) / most
}

/** Returns the number of insertions, deletions, replacements and swaps of neighbours between two strings. */
function edits(from: string, to: string): number {
  let before: number[] = []
  let last = Array.from({ length: to.length + 1 }, (_, i) => i)
  for (let i = 1; i <= from.length; i++) {
    const row = [i]
    for (let k = 1; k <= to.length; k++) {
      const same = from[i - 1] === to[k - 1]
      let least = Math.min(
        (last[k] as number) + 1,
        (row[k - 1] as number) + 1,
        (last[k - 1] as number) + (same ? 0 : 1)
      )
      if (i > 1 && k > 1 && from[i - 1] === to[k - 2] && from[i - 2] === to[k - 1]) {
        least = Math.min(least, (before[k - 2] as number) + 1)
      }
      row.push(least)
    }
    before = last
    last = row
  }
  return last[to.length] as number
}
