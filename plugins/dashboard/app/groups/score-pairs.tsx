/** The distribution of each score in two groups of traces. */

import type { ComparedScore } from '../contract.ts'
import { formatCount, formatPercent, formatScore, NONE } from '../ui/format.ts'
import { numbers, Titles } from '../ui/table.tsx'
import { asLine } from '../ui/text.ts'
import { mayBeChance } from './difference.ts'

interface Props {
  readonly scores: readonly ComparedScore[]
  readonly labels: { readonly a: string; readonly b: string }
}

export function ScorePairs({ scores, labels }: Props) {
  return (
    <section aria-labelledby="pair-scores">
      <h2 id="pair-scores">Scores</h2>
      {scores.length === 0 && <p class="soft">These traces have no scores.</p>}
      <div class="figures">
        {scores.map(score => (
          <ScorePair key={`${score.dataType} ${score.name}`} score={score} labels={labels} />
        ))}
      </div>
    </section>
  )
}

function ScorePair({ score, labels }: { score: ComparedScore; labels: Props['labels'] }) {
  const { name, dataType, a, b } = score
  const rows = rowsOf(score)
  const most = Math.max(
    ...rows.map(row => Math.max(row.a / Math.max(1, a.count), row.b / Math.max(1, b.count))),
    Number.MIN_VALUE
  )
  return (
    <section class="figure" aria-label={asLine(name, 60)}>
      <header>
        <div>
          <h3>{asLine(name, 60)}</h3>
          <span class="soft small">{summaryOfPair(score)}</span>
        </div>
      </header>
      <table class="shares">
        <thead>
          <Titles of={[dataType === 'numeric' ? 'Value' : 'Value', ...numbers(`A: ${labels.a}`, `B: ${labels.b}`)]} />
        </thead>
        <tbody>
          {rows.map(row => (
            <tr key={row.value}>
              <th scope="row">{asLine(row.value, 40)}</th>
              <ShareCell count={row.a} of={a.count} most={most} tone={1} />
              <ShareCell count={row.b} of={b.count} most={most} tone={2} />
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">Scores</th>
            <td class="number">{formatCount(a.count)}</td>
            <td class="number">{formatCount(b.count)}</td>
          </tr>
        </tfoot>
      </table>
    </section>
  )
}

/** Shares of both groups have the same scale, so that their bars can be compared. */
function ShareCell({ count, of, most, tone }: { count: number; of: number; most: number; tone: 1 | 2 }) {
  const share = of === 0 ? 0 : count / of
  return (
    <td class="number" title={`${formatCount(count)} of ${formatCount(of)}`}>
      <span class={`meter tone-${tone}`} aria-hidden="true">
        <span style={{ inlineSize: `${((share / most) * 100).toFixed(1)}%` }} />
      </span>{' '}
      {of === 0 ? NONE : formatPercent(share)}
    </td>
  )
}

function rowsOf({ dataType, bars, values }: ComparedScore) {
  if (dataType !== 'numeric') {
    const shown = (value: string) => (dataType === 'boolean' ? formatScore(value === 'true') : value)
    return values.map(({ value, a, b }) => ({ value: shown(value), a, b }))
  }
  return bars.map(({ from, to, a, b }) => ({
    value: from === to ? formatScore(from) : `${formatScore(from)} – ${formatScore(to)}`,
    a,
    b
  }))
}

/** Returns both means and whether chance may explain their difference. */
function summaryOfPair({ dataType, a, b }: ComparedScore): string {
  if (a.average === null || b.average === null) return ''
  const [word, format] =
    dataType === 'boolean' ? (['yes', formatPercent] as const) : (['mean', (mean: number) => mean.toFixed(2)] as const)
  const means = `${word} ${format(a.average)} → ${format(b.average)}`
  if (a.average === b.average || a.deviation === null || b.deviation === null) return means
  const [first, second] = [a, b].map(({ count, average, deviation }) => ({
    ...{ count, mean: average ?? 0, deviation: deviation ?? 0 }
  }))
  return mayBeChance(first!, second!) ? `${means}, may be chance` : means
}
