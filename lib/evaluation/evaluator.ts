/**
 * Reads the evaluators that a `spoor evaluate` module exports, and the results that the evaluators return. Needs no
 * database.
 */
import { checker } from '../schema/check.ts'
import { ScoreInput } from '../schema/input.ts'
import { unstorable } from '../schema/text.ts'

/** A trace in the form that evaluators receive: the response to GET /api/v1/traces/:traceId. */
export interface EvaluatedTrace {
  readonly trace: Readonly<Record<string, unknown>>
  readonly spans: readonly Readonly<Record<string, unknown>>[]
  readonly scores: readonly Readonly<Record<string, unknown>>[]
}

export interface Evaluator {
  /**
   * Identifies the evaluator permanently. The evaluator judges a trace again only after the trace's content has
   * changed.
   */
  readonly id: string
  readonly name: string
  readonly dataType: EvaluatedType
  evaluate(detail: EvaluatedTrace, options: { readonly signal: AbortSignal }): unknown
}

export const EVALUATED_TYPES = ['numeric', 'categorical', 'boolean'] as const
export type EvaluatedType = (typeof EVALUATED_TYPES)[number]

/** An evaluator's result for one trace, as a score. */
export interface Verdict {
  readonly value: number | string | boolean
  readonly comment: string | null
  readonly spanId: string | null
}

export const MAX_ID = 200
const MAX_COMMENT = 2000
const CUT = '…'

const checkScore = checker(ScoreInput)

/** Thrown for an unusable module. The message names the faulty export and the rule that the export breaks. */
export class EvaluatorError extends Error {
  override readonly name = 'EvaluatorError'
}

/**
 * Returns the evaluators that a module exports: one or a list as `default`, or the module's own members `id`, `name`,
 * `dataType` and `evaluate`.
 */
export function readEvaluators(module: Readonly<Record<string, unknown>>): Evaluator[] {
  const given = module.default ?? module
  const list = Array.isArray(given) ? given : [given]
  if (list.length === 0) throw new EvaluatorError('the list of evaluators is empty')
  const evaluators = list.map((each, i) => readEvaluator(each, list.length > 1 ? `evaluator ${i + 1}: ` : ''))
  const twice = evaluators.find(({ id }, i) => evaluators.findIndex(other => other.id === id) < i)
  if (twice !== undefined) throw new EvaluatorError(`two evaluators have the id ${JSON.stringify(twice.id)}`)
  return evaluators
}

function readEvaluator(given: unknown, place: string): Evaluator {
  const refuse = (rule: string): never => {
    throw new EvaluatorError(`${place}${rule}`)
  }
  if (given === null || typeof given !== 'object')
    return refuse('an evaluator must be { id, name, dataType, evaluate }')
  const { id, name, dataType, evaluate } = given as Partial<Evaluator>
  if (typeof id !== 'string' || id === '' || id.length > MAX_ID || /\p{Cc}|\p{Cs}/u.test(id)) {
    return refuse(`\`id\` must be 1 to ${MAX_ID} characters, without control characters`)
  }
  if (typeof name !== 'string' || !/^[A-Za-z0-9_-]{1,64}$/.test(name)) {
    return refuse('`name` must be 1 to 64 letters, digits, underscores or hyphens')
  }
  if (!EVALUATED_TYPES.includes(dataType as EvaluatedType))
    return refuse(`\`dataType\` must be one of ${EVALUATED_TYPES.join(', ')}`)
  if (typeof evaluate !== 'function') return refuse('`evaluate` must be a function')
  return given as Evaluator
}

/**
 * Reads the verdict from an evaluator's return value. Returns undefined if that value is undefined or null. Throws an
 * EvaluatorError that names the fault. A long comment is truncated.
 */
export function readVerdict({ name, dataType }: Evaluator, returned: unknown): Verdict | undefined {
  if (returned === undefined || returned === null) return undefined
  const { value, comment, spanId, ...others } = (
    typeof returned === 'object' ? returned : { value: returned }
  ) as Partial<Verdict>
  const [other] = Object.keys(others)
  if (other !== undefined)
    throw new EvaluatorError(`a verdict must be a value or { value, comment, spanId }, without ${other}`)
  const score = {
    name,
    dataType,
    value,
    ...(typeof comment === 'string' && { comment: cut(comment) }),
    ...(typeof spanId === 'string' && { spanId })
  }
  const refuse = (fault: string): never => {
    throw new EvaluatorError(`its verdict cannot be stored: ${fault}`)
  }
  if (!checkScore.check(score)) return refuse(checkScore.explain(score))
  for (const [field, text] of Object.entries({ value, comment: score.comment })) {
    const rule = typeof text === 'string' ? unstorable(text) : undefined
    if (rule !== undefined) refuse(`${field} ${rule}`)
  }
  return { value: score.value, comment: score.comment ?? null, spanId: score.spanId?.toLowerCase() ?? null }
}

function cut(comment: string): string {
  const characters = [...comment]
  return characters.length <= MAX_COMMENT ? comment : `${characters.slice(0, MAX_COMMENT - 1).join('')}${CUT}`
}
