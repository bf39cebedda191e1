import type { ScoreSummary } from '../contract.ts'
import { formatScore } from './format.ts'
import { asLine } from './text.ts'

export function ScoreChip({ name, score }: { name?: string; score: ScoreSummary }) {
  return (
    <span class="score">
      {name !== undefined && <span class="soft">{name}</span>} {asLine(formatScore(score.value), 24)}
    </span>
  )
}
