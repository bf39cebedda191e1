/** Compares the scores of two groups of traces. Contains no SQL. */
import { histogramOf } from './summary.ts'

type ScoreValue = number | string | boolean

/** Scores of one name and data type. */
export interface ScoresOfSide {
  readonly name: string
  readonly dataType: string
  readonly values: readonly ScoreValue[]
}

interface ScoreSide {
  readonly count: number
  readonly average: number | null
  readonly deviation: number | null
}

export interface ScoreComparison {
  readonly name: string
  readonly dataType: string
  readonly a: ScoreSide
  readonly b: ScoreSide
  readonly bars: readonly { readonly from: number; readonly to: number; readonly a: number; readonly b: number }[]
  readonly values: readonly { readonly value: string; readonly a: number; readonly b: number }[]
}

/** Maximum numbers of names, and of values per name. */
const MOST_NAMES = 50
const MOST_VALUES = 20

/** Returns one comparison per name and data type, those with the most scores first. */
export function compareScores(a: readonly ScoresOfSide[], b: readonly ScoresOfSide[]): ScoreComparison[] {
  const keyOf = ({ name, dataType }: ScoresOfSide) => `${dataType} ${name}`
  const [ofA, ofB] = [a, b].map(side => new Map(side.map(scores => [keyOf(scores), scores.values])))
  const names = new Map([...a, ...b].map(scores => [keyOf(scores), scores]))
  return [...names]
    .map(([key, { name, dataType }]) => compareName(name, dataType, ofA!.get(key) ?? [], ofB!.get(key) ?? []))
    .sort((x, y) => y.a.count + y.b.count - (x.a.count + x.b.count) || (x.name < y.name ? -1 : 1))
    .slice(0, MOST_NAMES)
}

function compareName(name: string, dataType: string, a: readonly ScoreValue[], b: readonly ScoreValue[]) {
  const isNumeric = dataType === 'numeric'
  return {
    ...{ name, dataType, a: sideOf(dataType, a), b: sideOf(dataType, b) },
    bars: isNumeric ? barsOf(a as readonly number[], b as readonly number[]) : [],
    values: isNumeric ? [] : valuesOf(a.map(String), b.map(String))
  }
}

function sideOf(dataType: string, values: readonly ScoreValue[]): ScoreSide {
  const count = values.length
  if (dataType === 'categorical' || count === 0) return { count, average: null, deviation: null }
  const numbers = values.map(Number)
  const average = numbers.reduce((sum, each) => sum + each / count, 0)
  const variance = numbers.reduce((sum, each) => sum + (each - average) ** 2 / Math.max(1, count - 1), 0)
  return Number.isFinite(variance)
    ? { count, average, deviation: Math.sqrt(variance) }
    : { count, average: Number.isFinite(average) ? average : null, deviation: null }
}

/** Returns bars with the same bounds for both sides. */
function barsOf(a: readonly number[], b: readonly number[]) {
  return histogramOf([...a, ...b]).map(({ from, to }, i, bars) => {
    // The last bar includes all greater values.
    const isIn = (value: number) =>
      from === to ? value === from : value >= from && (value < to || i === bars.length - 1)
    return { from, to, a: a.filter(isIn).length, b: b.filter(isIn).length }
  })
}

function valuesOf(a: readonly string[], b: readonly string[]) {
  const counts = new Map<string, { a: number; b: number }>()
  for (const [side, values] of [['a', a] as const, ['b', b] as const]) {
    for (const value of values) {
      const each = counts.get(value) ?? { a: 0, b: 0 }
      each[side]++
      counts.set(value, each)
    }
  }
  return [...counts]
    .map(([value, each]) => ({ value, ...each }))
    .sort((x, y) => y.a + y.b - (x.a + x.b) || (x.value < y.value ? -1 : 1))
    .slice(0, MOST_VALUES)
}
