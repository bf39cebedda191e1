/** Numbers that look random and are the same for the same seed, so that two runs of the demo record the same texts. */

/** Returns a number from 0 up to but not including 1. */
export type Random = () => number

/** mulberry32, which is small, fast, and good enough for examples. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

export const choose = <T>(list: readonly T[], random: Random): T => list[Math.floor(random() * list.length)]!

export const between = (low: number, high: number, random: Random): number => low + (high - low) * random()

export const integer = (low: number, high: number, random: Random): number =>
  low + Math.floor((high - low + 1) * random())

/** Picks one of [value, weight]. */
export function weighted<T>(choices: readonly (readonly [T, number])[], random: Random): T {
  let left = random() * choices.reduce((sum, [, weight]) => sum + weight, 0)
  for (const [value, weight] of choices) {
    left -= weight
    if (left < 0) return value
  }
  return choices.at(-1)![0]
}

/** Picks an element. The first elements are picked far more often, as with users and customers. */
export const frequent = <T>(list: readonly T[], random: Random): T => list[Math.floor(list.length * random() ** 2.2)]!
