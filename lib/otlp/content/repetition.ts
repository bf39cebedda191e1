/**
 * Tells whether one attribute of a span only repeats what others say, so that it can go without a loss.
 *
 * It does if each of its texts is a text of the others, as often, and each of its numbers and booleans stands there
 * under the same key. How the texts are nested, and which keys they have, does not count. What cannot be read as JSON,
 * such as the notation of a Python object, is one text, and so repeats nothing but the very same text.
 */
import { LosslessNumber } from 'lossless-json'
import type { Json } from '../../trace/json/exact-json.ts'
import { readForm } from '../wire/attribute-values.ts'

/** Values of a key `type` that say how a value is written, or which role a message has, and nothing else. */
const TYPES = new Set(
  'text input_text output_text message function constructor human ai system tool Document'.split(' ')
)

/** Takes time and memory in proportion to the length of both. */
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

/** Visits what a value says, until `visit` is false. Null, an empty text and an empty list say nothing. */
function everyLeaf(value: Json, key: string, visit: (leaf: string) => boolean): boolean {
  if (value === undefined || value === null || value === '') return true
  if (typeof value === 'string') return (key === 'type' && TYPES.has(value)) || visit(`"${value}`)
  if (Array.isArray(value)) return value.every(item => everyLeaf(item, key, visit))
  if (isLangChain(value)) return everyLeaf(value.kwargs, '', visit)
  if (isObject(value)) return Object.entries(value).every(([name, item]) => everyLeaf(item, name, visit))
  return visit(`${key}=${String(value)}`)
}

const isObject = (value: Json): value is { [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof LosslessNumber)

const CONSTRUCTOR_KEYS = ['lc', 'type', 'id', 'kwargs']

/** LangChain writes an object as the class that constructs it, and what the constructor is given. */
const isLangChain = (value: Json): value is { kwargs: Json } =>
  isObject(value) &&
  value.type === 'constructor' &&
  Array.isArray(value.id) &&
  isObject(value.kwargs) &&
  Object.keys(value).every(key => CONSTRUCTOR_KEYS.includes(key))
