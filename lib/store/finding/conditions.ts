/** The conditions of a search beyond the filters of the trace list, and their SQL. */

import type { TableNames } from '../../database/tables.ts'
import { isNumber, type ScoreCondition } from '../../schema/history/score-condition.ts'
import { MAX_SCORES } from '../../schema/input.ts'
import { readWanted, type Wanted } from '../../search/wanted.ts'
import type { Bind } from '../lists/trace-query.ts'

/** Inclusive bounds. */
export interface NumberRange {
  readonly min?: number | undefined
  readonly max?: number | undefined
}

/** All conditions must match the same step. */
export interface StepConditions {
  readonly name?: string | undefined
  readonly kind?: string | undefined
  readonly status?: string | undefined
  /** The type of the failed step's error, or words from its type and message. */
  readonly error?: ErrorWords | undefined
}

export interface ErrorWords {
  readonly text: string
  /** Undefined if the text has neither letters nor digits. It can then only equal the type. */
  readonly wanted: Wanted | undefined
}

export const errorWords = (text: string): ErrorWords => ({ text, wanted: readWanted(text) })

export interface SearchConditions {
  /** Tags in addition to the one that the list filters by. */
  readonly tags: readonly string[]
  readonly step: StepConditions | undefined
  /** Whether the trace or a step must have failed. */
  readonly errors: boolean
  readonly scores: readonly ScoreCondition[]
  readonly annotated: boolean | undefined
  /** Whether the cost must be unknown. */
  readonly withoutCost: boolean
  readonly durationMs: NumberRange
  readonly costUsd: NumberRange
  readonly totalTokens: NumberRange
}

export const NO_CONDITIONS: SearchConditions = {
  tags: [],
  step: undefined,
  errors: false,
  scores: [],
  annotated: undefined,
  withoutCost: false,
  durationMs: {},
  costUsd: {},
  totalTokens: {}
}

export function isUnconditional(conditions: SearchConditions): boolean {
  const { tags, step, errors, scores, annotated, withoutCost, durationMs, costUsd, totalTokens } = conditions
  const ranges = [durationMs, costUsd, totalTokens]
  return (
    tags.length === 0 &&
    step === undefined &&
    !errors &&
    scores.length === 0 &&
    annotated === undefined &&
    !withoutCost &&
    ranges.every(({ min, max }) => min === undefined && max === undefined)
  )
}

const TOTAL_TOKENS = `coalesce(t.total_tokens,
  least(coalesce(t.input_tokens, 0) + coalesce(t.output_tokens, 0), ${Number.MAX_SAFE_INTEGER}))`

/**
 * Returns the conditions on a trace's row as t, each with a leading `and`. The cheapest come first. The words of an
 * error are not among them, because the texts of spans are packed (lib/store/finding/failed-steps.ts).
 */
export function conditionsInSql(conditions: SearchConditions, bind: Bind, names: TableNames): string[] {
  const { tags, step, errors, scores, annotated, withoutCost, durationMs, costUsd, totalTokens } = conditions
  return [
    ...rangeInSql('t.duration_ms', durationMs, bind),
    ...rangeInSql('t.cost_usd', costUsd, bind),
    ...rangeInSql(TOTAL_TOKENS, totalTokens, bind),
    ...(withoutCost ? ['and t.cost_usd is null'] : []),
    ...tags.map(tag => `and t.tags @> array[${bind(tag)}]::text[]`),
    ...(errors ? [`and (t.status = 'error' or t.error_count > 0)`] : []),
    ...scores.map(score => `and t.score_count > 0 and ${scoreInSql(score, bind, names)}`),
    ...(annotated === undefined ? [] : [`and ${annotated ? '' : 'not '}${isAnnotated(names)}`]),
    ...(step === undefined ? [] : [`and t.span_count > 0 and ${stepInSql(step, bind, names)}`])
  ]
}

function rangeInSql(value: string, { min, max }: NumberRange, bind: Bind): string[] {
  return [
    ...(min === undefined ? [] : [`and ${value} >= ${bind(min)}`]),
    ...(max === undefined ? [] : [`and ${value} <= ${bind(max)}`])
  ]
}

/**
 * SQL for a trace's scores. The `order by` makes the planner use the primary key even while the table is empty; no
 * trace exceeds the limit.
 */
const scoresOf = ({ scores }: TableNames) =>
  `(select * from ${scores} where project_id = $1 and trace_seq = t.seq order by trace_seq, seq limit ${MAX_SCORES})`

function scoreInSql({ name, comparison, value }: ScoreCondition, bind: Bind, names: TableNames): string {
  const number = `case when s.data_type = 'numeric' then s.value::text::float8 end`
  const equal = () => [
    ...(isNumber(value) ? [`coalesce(${number} = ${bind(Number(value))}::float8, false)`] : []),
    `s.data_type <> 'numeric' and s.value::text in (${bind(value)}, ${bind(JSON.stringify(value))})`
  ]
  const holds =
    comparison === '=' ? `(${equal().join(' or ')})` : `${number} ${comparison} ${bind(Number(value))}::float8`
  return `(select ${holds} from ${scoresOf(names)} s where s.name = ${bind(name)}
    order by s.created_at desc, s.seq desc limit 1) is true`
}

const isAnnotated = (names: TableNames) =>
  `(t.score_count > 0 and exists (select from ${scoresOf(names)} s where s.source = 'annotation'))`

function stepInSql(step: StepConditions, bind: Bind, { spans }: TableNames): string {
  const failed = isOfFailedStep(step) ? 't.error_count > 0 and ' : ''
  return `${failed}exists (select from ${spans} s where s.project_id = $1 and s.trace_seq = t.seq
    ${stepConditionsInSql(step, bind).join(' ')})`
}

const isOfFailedStep = ({ status, error }: StepConditions) => status === 'error' || error !== undefined

/** Returns the conditions on a span's row as s, each with a leading `and`, except the words of its error. */
export function stepConditionsInSql(step: StepConditions, bind: Bind): string[] {
  const { name, kind } = step
  const status = isOfFailedStep(step) ? 'error' : step.status
  return [
    ...(status === undefined ? [] : [`and s.status = ${bind(status)}`]),
    ...(kind === undefined ? [] : [`and s.kind = ${bind(kind)}`]),
    ...(name === undefined ? [] : [`and s.name = ${bind(name)}`])
  ]
}
