/** Scores over time, as the server counts them. */
import type { DataType, Score, ScoreValue, TraceSummary } from '../answers.ts'
import type { Step } from './axis.ts'

export const SOURCES = { api: 'API', annotation: 'people', eval: 'evaluators' } as const
export type Source = keyof typeof SOURCES

export interface ScoreOverTime {
  readonly name: string
  readonly dataType: DataType
  readonly count: number
  readonly average: number | null
  readonly mean: readonly (number | null)[]
  readonly shares: Readonly<Record<string, readonly number[]>>
  readonly other: readonly number[]
  readonly histogram: readonly { readonly from: number; readonly to: number; readonly count: number }[]
  readonly sources: Readonly<Record<Source, number>>
}

export interface ScoreSeries {
  readonly from: string
  readonly to: string
  readonly step: Step
  readonly starts: readonly string[]
  readonly names: readonly ScoreOverTime[]
  readonly newest: number | null
}

export interface ScoredTraces {
  readonly scores: readonly Score[]
  readonly traces: readonly TraceSummary[]
  readonly nextCursor: string | null
}

export interface Disagreement {
  readonly pairs: readonly {
    readonly a: Source
    readonly b: Source
    readonly dataType: DataType
    readonly both: number
    readonly differing: number
    readonly meanDifference: number | null
    readonly meanDistance: number | null
  }[]
  readonly differences: readonly {
    readonly traceId: string
    readonly spanId: string | null
    readonly values: Readonly<Partial<Record<Source, ScoreValue>>>
  }[]
  readonly traces: readonly TraceSummary[]
  readonly newest: number | null
}
