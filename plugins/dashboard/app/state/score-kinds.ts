/**
 * The scores that people can give in a project: those that the project defines, then those of recent scores. A value
 * has one key where few values are possible.
 */
import type { DataType, ScoreDefinition, ScoreName } from '../contract.ts'

export type ScoreInputValue = number | string | boolean

export interface ScoreChoice {
  readonly key: string
  readonly label: string
  readonly value: ScoreInputValue
}

export interface ScoreKind {
  readonly name: string
  readonly dataType: DataType
  readonly description: string
  readonly minimum: number | null
  readonly maximum: number | null
  /** The possible values. Empty if the value is typed. */
  readonly choices: readonly ScoreChoice[]
}

/** Keys that the review uses for other commands. */
const TAKEN_KEYS = new Set([...'jkumg'])
/** Maximum number of integers that are offered as choices. Each has a digit as its key. */
const MOST_DIGITS = 10
/** Minimum width of a range whose integers are offered. A number from 0 to 1 is usually a share, such as 0.92. */
const LEAST_RANGE = 2

/** Returns the kinds in the order in which they are offered. Definitions come first. */
export function scoreKinds(definitions: readonly ScoreDefinition[], names: readonly ScoreName[]): ScoreKind[] {
  const kinds = new Map<string, ScoreKind>()
  for (const { categories, ...kind } of definitions)
    kinds.set(kind.name, { ...kind, choices: choicesOf(kind, categories) })
  for (const { name, dataType, categories } of names) {
    if (!kinds.has(name)) kinds.set(name, scoreKindOf(name, dataType, categories))
  }
  return [...kinds.values()]
}

/** Returns the kind of a score that the project does not define. */
export function scoreKindOf(name: string, dataType: DataType, categories: readonly string[] = []): ScoreKind {
  const kind = { name, dataType, description: '', minimum: null, maximum: null }
  return { ...kind, choices: choicesOf(kind, categories) }
}

function choicesOf(
  { dataType, minimum, maximum }: Pick<ScoreKind, 'dataType' | 'minimum' | 'maximum'>,
  categories: readonly string[]
): ScoreChoice[] {
  if (dataType === 'boolean') {
    return [
      { key: 'y', label: 'yes', value: true },
      { key: 'n', label: 'no', value: false }
    ]
  }
  if (dataType === 'categorical') return withKeys(categories)
  if (minimum === null || maximum === null || !Number.isInteger(minimum) || !Number.isInteger(maximum)) return []
  if (maximum - minimum < LEAST_RANGE) return []
  const numbers = Array.from({ length: Math.min(maximum - minimum + 1, MOST_DIGITS + 1) }, (_, i) => minimum + i)
  const keys = numbers.map(number => (number === 10 ? '0' : String(number)))
  // From 0 to 10, both ends would have the key 0.
  const isUsable =
    numbers.length <= MOST_DIGITS && keys.every(key => /^\d$/.test(key)) && new Set(keys).size === keys.length
  return isUsable ? numbers.map((value, i) => ({ key: keys[i]!, label: String(value), value })) : []
}

/** Gives each category the first free letter or digit of its name, or else any free letter. */
function withKeys(categories: readonly string[]): ScoreChoice[] {
  const free = new Set([...'abcdefghijklmnopqrstuvwxyz0123456789'].filter(key => !TAKEN_KEYS.has(key)))
  return categories.slice(0, free.size).map(value => {
    const key = [...value.toLowerCase()].find(letter => free.has(letter)) ?? [...free][0]!
    free.delete(key)
    return { key, label: value, value }
  })
}

export const choiceOf = ({ choices }: ScoreKind, key: string): ScoreChoice | undefined =>
  choices.find(choice => choice.key === key.toLowerCase())

/** Returns the range of a number in words; empty if it has none. */
export function boundsOf({ minimum, maximum }: Pick<ScoreKind, 'minimum' | 'maximum'>): string {
  if (minimum !== null && maximum !== null) return `${minimum} to ${maximum}`
  return minimum !== null ? `at least ${minimum}` : maximum !== null ? `at most ${maximum}` : ''
}

/** Describes the values of a score: `number, 1 to 5`, `yes or no`, or its categories. */
export function describeValues(kind: ScoreKind): string {
  if (kind.dataType === 'boolean') return 'yes or no'
  if (kind.dataType === 'numeric') return ['number', boundsOf(kind)].filter(part => part !== '').join(', ')
  return kind.choices.length === 0 ? 'any text' : kind.choices.map(({ label }) => label).join(', ')
}

/** Reads a typed value. Throws an error that states the rule. */
export function readScoreValue({ dataType, minimum, maximum, choices }: ScoreKind, text: string): ScoreInputValue {
  const choice = choices.find(({ label }) => label === text)
  if (choice !== undefined) return choice.value
  if (dataType === 'boolean') throw new Error('Choose yes or no.')
  if (dataType === 'categorical') {
    if (text.trim() === '') throw new Error('Choose a value.')
    return text
  }
  const number = Number(text.trim().replace(',', '.'))
  if (text.trim() === '' || !Number.isFinite(number)) throw new Error('The value must be a number.')
  if (minimum !== null && number < minimum) throw new Error(`The value must be at least ${minimum}.`)
  if (maximum !== null && number > maximum) throw new Error(`The value must be at most ${maximum}.`)
  return number
}
