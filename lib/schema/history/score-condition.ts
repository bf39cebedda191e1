/** Reads conditions on scores, such as `helpfulness<0.5` or `helpfulness < 0.5`. */

export const COMPARISONS = ['<=', '>=', '<', '>', '='] as const
type Comparison = (typeof COMPARISONS)[number]

export interface ScoreCondition {
  readonly name: string
  readonly comparison: Comparison
  /** The value as written. With a comparison other than `=`, a number. */
  readonly value: string
}

const CONDITION = /^\s*([A-Za-z0-9_-]{1,64})\s*(<=|>=|<|>|=)\s*(\S[\s\S]*)$/

/** Returns whether a text is a finite decimal number. */
export const isNumber = (text: string): boolean =>
  /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text) && Number.isFinite(Number(text))

/** Returns the condition that a text expresses, or a sentence that describes what is wrong with it. */
export function readScoreCondition(text: string): ScoreCondition | string {
  const [, name, comparison, value] = CONDITION.exec(text.trimEnd()) ?? []
  if (name === undefined || comparison === undefined || value === undefined) {
    return 'must be a name, a comparison (<, <=, >, >= or =) and a value, such as helpfulness<0.5'
  }
  if (comparison !== '=' && !isNumber(value)) return `must be a number after ${comparison}`
  return { name, comparison: comparison as Comparison, value }
}
