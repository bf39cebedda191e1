/**
 * Finds the elements that two sequences share, using Myers' linear-space algorithm ("An O(ND) Difference Algorithm",
 * 1986). For short sequences, the result is a longest common subsequence. Long sequences are split at elements that
 * occur once in each sequence or, without such elements, in half. A step budget prevents two long strings from taking
 * minutes.
 */

/** A run of `length` equal elements, starting at `a` in one sequence and at `b` in the other. */
export interface Run {
  readonly a: number
  readonly b: number
  readonly length: number
}

/** Blocks with more elements than this, counting both sequences, are split further. */
const BLOCK = 5000
/**
 * Maximum numbers of search steps. BLOCK_STEPS, for a normal block, suffices for two sequences of 2,500 elements with
 * nothing in common. LARGE_STEPS, for a larger block, is lower, because very different sequences are better split.
 * ALL_STEPS limits the whole comparison.
 */
const BLOCK_STEPS = 8_000_000
const LARGE_STEPS = 1_000_000
const ALL_STEPS = 40_000_000

/** Returns the common runs in order. Adjacent runs are merged. If the step budget runs out, fewer runs are found. */
export function commonRuns(a: Int32Array, b: Int32Array, most = ALL_STEPS): Run[] {
  const search = new Search(a, b, most)
  search.block(0, a.length, 0, b.length)
  return search.runs
}

class Search {
  readonly runs: Run[] = []
  readonly #a: Int32Array
  readonly #b: Int32Array
  /**
   * The furthest positions that the searches from the start and from the end have reached on each diagonal. Diagonal 0
   * is in the middle of each array.
   */
  #forward = new Int32Array(0)
  #backward = new Int32Array(0)
  #left: number

  constructor(a: Int32Array, b: Int32Array, most: number) {
    this.#a = a
    this.#b = b
    this.#left = most
  }

  block(aFrom: number, aTo: number, bFrom: number, bTo: number): void {
    const [a, b] = [this.#a, this.#b]
    let start = 0
    while (aFrom + start < aTo && bFrom + start < bTo && a[aFrom + start] === b[bFrom + start]) start++
    this.#add(aFrom, bFrom, start)
    let end = 0
    const room = Math.min(aTo - aFrom, bTo - bFrom) - start
    while (end < room && a[aTo - 1 - end] === b[bTo - 1 - end]) end++
    this.#inner(aFrom + start, aTo - end, bFrom + start, bTo - end)
    this.#add(aTo - end, bTo - end, end)
  }

  /** Compares ranges whose first elements differ and whose last elements differ. */
  #inner(aFrom: number, aTo: number, bFrom: number, bTo: number): void {
    if (aFrom === aTo || bFrom === bTo) return
    if (aTo - aFrom + bTo - bFrom > BLOCK) {
      const anchors = this.#anchors(aFrom, aTo, bFrom, bTo)
      if (anchors.length > 0) {
        let [x, y] = [aFrom, bFrom]
        for (const { a, b } of anchors) {
          // A run that started earlier may already include this anchor.
          this.block(x, a, y, b)
          this.#add(a, b, 1)
          ;[x, y] = [a + 1, b + 1]
        }
        this.block(x, aTo, y, bTo)
        return
      }
    }
    const snake = this.#middle(aFrom, aTo, bFrom, bTo)
    if (snake === undefined) {
      if (this.#left <= 0 || aTo - aFrom + bTo - bFrom <= BLOCK) return
      // In two versions of a text, the first halves mostly match, and so do the second halves.
      const [x, y] = [(aFrom + aTo) >> 1, (bFrom + bTo) >> 1]
      this.block(aFrom, x, bFrom, y)
      this.block(x, aTo, y, bTo)
      return
    }
    const { a, b, length } = snake
    this.block(aFrom, a, bFrom, b)
    this.#add(a, b, length)
    this.block(a + length, aTo, b + length, bTo)
  }

  #add(a: number, b: number, length: number): void {
    if (length === 0) return
    const last = this.runs.at(-1)
    if (last !== undefined && last.a + last.length === a && last.b + last.length === b) {
      this.runs[this.runs.length - 1] = { ...last, length: last.length + length }
    } else this.runs.push({ a, b, length })
  }

  /** Returns the middle of a shortest edit path; undefined if the step budget runs out first. */
  #middle(aFrom: number, aTo: number, bFrom: number, bTo: number): Run | undefined {
    const [a, b] = [this.#a, this.#b]
    const [n, m] = [aTo - aFrom, bTo - bFrom]
    const half = (n + m + 1) >> 1
    const zero = half + 1
    if (this.#forward.length < 2 * zero + 1) {
      this.#forward = new Int32Array(2 * zero + 1)
      this.#backward = new Int32Array(2 * zero + 1)
    }
    const [forward, backward] = [this.#forward, this.#backward]
    const delta = n - m
    const isOdd = (delta & 1) !== 0
    const most = Math.min(this.#left, n + m > BLOCK ? LARGE_STEPS : BLOCK_STEPS)
    let steps = 0
    for (let d = 0; d <= half && steps < most; d++) {
      for (const places of [forward, backward]) {
        places[zero - d - 1] = -1
        places[zero + d + 1] = -1
      }
      for (const isBack of [false, true]) {
        const [own, other] = isBack ? [backward, forward] : [forward, backward]
        const mayMeet = isOdd !== isBack
        for (let k = -d; k <= d; k += 2) {
          const x = next(own, zero + k, d, n, m, k)
          let end = x
          if (x !== -1) {
            if (isBack) while (end < n && end - k < m && a[aTo - 1 - end] === b[bTo - 1 - end + k]) end++
            else while (end < n && end - k < m && a[aFrom + end] === b[bFrom + end - k]) end++
            steps += end - x + 1
          }
          own[zero + k] = end
          const across = delta - k
          if (x === -1 || !mayMeet || Math.abs(across) > (isBack ? d : d - 1)) continue
          const reached = other[zero + across]!
          if (reached === -1 || end + reached < n) continue
          this.#left -= steps
          return isBack
            ? { a: aTo - end, b: bTo - end + k, length: end - x }
            : { a: aFrom + x, b: bFrom + x - k, length: end - x }
        }
      }
    }
    this.#left -= steps
    return undefined
  }

  /** Returns a longest list of elements that occur exactly once in each block and in the same order in both. */
  #anchors(aFrom: number, aTo: number, bFrom: number, bTo: number): { readonly a: number; readonly b: number }[] {
    const inA = placesOfUnique(this.#a, aFrom, aTo)
    const inB = placesOfUnique(this.#b, bFrom, bTo)
    const pairs: { a: number; b: number }[] = []
    for (const [value, a] of inA) {
      const b = inB.get(value)
      if (a >= 0 && b !== undefined && b >= 0) pairs.push({ a, b })
    }
    return longestRising(pairs)
  }
}

/** Returns how far `d` edit steps reach on diagonal `k`, before skipping equal elements; -1 if out of bounds. */
function next(places: Int32Array, at: number, d: number, n: number, m: number, k: number): number {
  if (d === 0) return 0
  const across = places[at - 1]!
  const down = places[at + 1]!
  const byAcross = across === -1 || across + 1 > n ? -1 : across + 1
  const byDown = down === -1 || down - k > m ? -1 : down
  return Math.max(byAcross, byDown)
}

/** Maps each value to the index of its only occurrence, or to -1 if it is repeated. Keeps the order of the values. */
function placesOfUnique(values: Int32Array, from: number, to: number): Map<number, number> {
  const places = new Map<number, number>()
  for (let i = from; i < to; i++) places.set(values[i]!, places.has(values[i]!) ? -1 : i)
  return places
}

/** Returns a longest subsequence in which `b` increases. The pairs must be sorted by `a`. */
function longestRising<T extends { readonly b: number }>(pairs: readonly T[]): T[] {
  /**
   * For each chain length, the index of the best chain's last pair. For each pair, the preceding pair in the same
   * chain.
   */
  const ends: number[] = []
  const before: number[] = []
  for (const [i, { b }] of pairs.entries()) {
    let [low, high] = [0, ends.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (pairs[ends[middle]!]!.b < b) low = middle + 1
      else high = middle
    }
    before.push(low === 0 ? -1 : ends[low - 1]!)
    ends[low] = i
  }
  const chain: T[] = []
  for (let i = ends.at(-1) ?? -1; i !== -1; i = before[i]!) chain.push(pairs[i]!)
  return chain.reverse()
}
