/** Decides whether two groups differ by more than chance explains. */

/** A mean of independent values. */
interface Sample {
  readonly count: number
  readonly mean: number
  readonly deviation: number
}

/** Number of standard errors beyond which a difference is unlikely to be chance. Only 1 in 20 such differences is. */
const BEYOND_CHANCE = 1.96
/** Smaller samples prove nothing. */
const LEAST = 5

/** Whether chance may explain the difference of two means. */
export function mayBeChance(a: Sample, b: Sample): boolean {
  if (a.count < LEAST || b.count < LEAST) return true
  const error = Math.sqrt(a.deviation ** 2 / a.count + b.deviation ** 2 / b.count)
  return error === 0 ? a.mean === b.mean : Math.abs(a.mean - b.mean) / error < BEYOND_CHANCE
}

/** Returns the sample of a share, such as an error rate. */
export function shareSample(hits: number, count: number): Sample {
  const mean = count === 0 ? 0 : hits / count
  // One more hit and one more miss keep the deviation above zero if all values are the same.
  const smoothed = (hits + 1) / (count + 2)
  return { count, mean, deviation: Math.sqrt(smoothed * (1 - smoothed)) }
}
