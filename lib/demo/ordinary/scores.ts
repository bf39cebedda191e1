/** The scores of ordinary traces: an evaluator's numbers, a customer's verdict, and an editor's category. */
import type { ScoreInput } from '../../schema/input.ts'
import { choose, integer, type Random, weighted } from './random.ts'

const COMMENTS = [
  'The answer ignores the second question.',
  'Good tone.',
  'Cites a book that we do not have.',
  'Too long.'
]

export function ordinaryScores(
  name: string,
  isFailed: boolean,
  prompt: 'v12' | 'v13',
  judged: string | undefined,
  random: Random
): ScoreInput[] {
  if (name === 'stock-sync') return []
  const scores: ScoreInput[] = []
  const better = prompt === 'v13' ? 0.08 : 0
  const hundredths = (value: number) => Math.round(100 * Math.min(1, Math.max(0, value))) / 100
  if (random() < 0.45) {
    const value = hundredths(isFailed ? 0.35 * random() : 0.5 + better + 0.45 * Math.sqrt(random()))
    scores.push({ name: 'helpfulness', dataType: 'numeric', value })
  }
  if (judged !== undefined && random() < 0.3) {
    scores.push({ name: 'faithfulness', dataType: 'numeric', value: hundredths(0.6 + 0.4 * random()), spanId: judged })
  }
  if (name === 'support-agent' && random() < 0.3) {
    scores.push({ name: 'resolved', dataType: 'boolean', value: !isFailed && random() < 0.78 + better })
  }
  if (random() < 0.12) {
    const weights: [string, number][] = isFailed
      ? [['wrong', 1]]
      : [
          ['correct', 6 + 20 * better],
          ['partly', 3],
          ['wrong', 1]
        ]
    const comment = random() < 0.3 ? { comment: choose(COMMENTS, random) } : {}
    scores.push({ name: 'verdict', dataType: 'categorical', value: weighted(weights, random), ...comment })
  }
  if (random() < 0.06) {
    scores.push({ name: 'quality', dataType: 'numeric', value: isFailed ? 1 : integer(2, 5, random) })
  }
  return scores
}
