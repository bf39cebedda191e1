/** Pairs the scores of two traces by name, for the head of a comparison. */
import type { MetadataChange } from '../content/metadata-leaves.ts'
import type { ScoreSummary } from '../contract.ts'
import { formatMean, formatScore } from '../ui/format.ts'
import { formatChange } from './format-change.ts'

type Scores = Readonly<Record<string, ScoreSummary>>

export interface ScoreChange extends MetadataChange {
  /** The difference of two numbers, such as `+0.2`; empty if the values are equal or not both numbers. */
  readonly by: string
}

/** Returns all scores of either trace, by name, including equal ones, because they also say how the traces fared. */
export function pairScores(a: Scores, b: Scores): ScoreChange[] {
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])].sort()
  return names.map(name => {
    const [before, after] = [a[name], b[name]].map(score => score?.value)
    const areNumbers = typeof before === 'number' && typeof after === 'number'
    return {
      name,
      a: before === undefined ? undefined : formatScore(before),
      b: after === undefined ? undefined : formatScore(after),
      by: areNumbers && before !== after ? formatChange(before, after, formatMean) : ''
    }
  })
}
