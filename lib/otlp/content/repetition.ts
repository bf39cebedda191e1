/**
 * Determines whether an attribute only repeats other attributes of its span and can be dropped without loss.
 *
 * An attribute is a repetition if the other attributes contain each of its strings at least as often, and each of its
 * numbers and booleans under the same key. Nesting does not matter, nor do the keys under which strings appear. A value
 * that is not JSON, such as a printed Python object, counts as one string and repeats only an identical string.
 */
import { isJsonObject, type Json } from '../../trace/json/exact-json.ts'
import { readForm } from '../wire/attribute-values.ts'

/** Values of the key `type` that give only a value's encoding or a message's role. */
const TYPES = new Set(
  'text input_text output_text message function constructor human ai system tool Document'.split(' ')
)

/** Returns whether `value` only repeats `others`. Takes time and memory proportional to their combined size. */
export function isRepetition(value: Json, others: Iterable<readonly [name: string, value: Json]>): boolean {
  const known = new Map<string, number>()
  const add = (leaf: string) => {
    known.set(leaf, (known.get(leaf) ?? 0) + 1)
    return true
  }
  const remove = (leaf: string) => {
    const left = known.get(leaf) ?? 0
    known.set(leaf, left - 1)
    return left > 0
  }
  for (const [name, other] of others) {
    const key = name.slice(name.lastIndexOf('.') + 1)
    const read = readForm(other, 'loose')
    everyLeaf(other, key, add)
    if (read !== other) everyLeaf(read, key, add)
  }
  return everyLeaf(value, '', remove)
}

/**
 * Calls `visit` for each leaf of a value until the callback returns false. Skips null, empty strings and empty lists.
 */
function everyLeaf(value: Json, key: string, visit: (leaf: string) => boolean): boolean {
  if (value === undefined || value === null || value === '') return true
  if (typeof value === 'string') return (key === 'type' && TYPES.has(value)) || visit(`"${value}`)
  if (Array.isArray(value)) return value.every(item => everyLeaf(item, key, visit))
  if (isLangChain(value)) return everyLeaf(value.kwargs, '', visit)
  if (isJsonObject(value)) return Object.entries(value).every(([name, item]) => everyLeaf(item, name, visit))
  return visit(`${key}=${String(value)}`)
}

const CONSTRUCTOR_KEYS = ['lc', 'type', 'id', 'kwargs']

/** LangChain serialises an object as its class name and its constructor arguments. */
const isLangChain = (value: Json): value is { kwargs: Json } =>
  isJsonObject(value) &&
  value.type === 'constructor' &&
  Array.isArray(value.id) &&
  isJsonObject(value.kwargs) &&
  Object.keys(value).every(key => CONSTRUCTOR_KEYS.includes(key))
