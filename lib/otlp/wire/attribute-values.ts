/**
 * Converts attribute values to free JSON. Computes the stored and canonical forms of simple values in a single step.
 */
import { LosslessNumber } from 'lossless-json'
import Type from 'typebox'
import { CONTROL, inspectText, type Json, parseInexact } from '../../trace/json/exact-json.ts'
import { EMPTY_OBJECT, type FreeJson, freeJsonOf } from '../../trace/json/free-json.ts'
import { reader } from '../../trace/json/reader.ts'
import { remembering } from '../../trace/remembering.ts'

/** Encoding of an attribute's value. */
export type TextForm =
  /** A string stays a string. */
  | 'text'
  /** A string is parsed if it is valid JSON. */
  | 'json'
  /** A string that looks like a JSON object or array is parsed if it is valid JSON. */
  | 'loose'
  /**
   * As in `loose`, but a JSON string in quotation marks is parsed too. Senders that quote strings also leave some
   * strings unquoted, so an unquoted 123 is a string.
   */
  | 'structured'

/** Maximum depth of JSON in an attribute, so that the enclosing document has at most 100 levels (MAX_JSON_DEPTH). */
const MAX_DEPTH = 90
const anyJson = reader(Type.Unknown())

export type Member = readonly [name: string, value: FreeJson]

export function freeOf(value: Json): FreeJson {
  switch (typeof value) {
    case 'string':
    case 'number':
    case 'boolean': {
      const text = JSON.stringify(value)
      return { stored: text, canonical: text }
    }
    default:
      return freeJsonOf(value ?? null, holdsInexact(value))
  }
}

/** Returns an attribute's value as free JSON. A string that is not valid JSON stays a string. */
export function freeForm(value: Json, form: TextForm): FreeJson {
  return (mayBeJson(value, form) ? freeOfText(value) : undefined) ?? freeOf(value)
}

/** Returns an attribute's value, parsed if `form` allows. A string that is not valid JSON stays a string. */
export function readForm(value: Json, form: TextForm): Json {
  return (mayBeJson(value, form) ? parseJson(value) : undefined) ?? value
}

const mayBeJson = (value: Json, form: TextForm): value is string =>
  typeof value === 'string' && form !== 'text' && BEGINNINGS[form].test(value)

/**
 * Match a possible start of JSON. Letting JSON.parse throw for other strings, such as ids, took 15 % of export time.
 */
const BEGINNINGS = { json: /^\s*["[{\-\dtfn]/, structured: /^\s*["[{]/, loose: /^\s*[[{]/ }

/** Returns the free JSON of a string, or undefined if the string is not valid JSON or is nested too deeply. */
function freeOfText(text: string): FreeJson | undefined {
  const plain = CONTROL.test(text) ? undefined : anyJson.read(text, MAX_DEPTH)
  if (plain !== undefined) return plain
  const value = parseJson(text)
  return value === undefined ? undefined : freeOf(value)
}

/** Parses JSON text. Returns undefined if the text is not valid JSON or is nested too deeply. */
export function parseJson(text: string): Json {
  try {
    // JSON.parse handles any depth, but the functions that read its result are recursive, so deeper values are
    // rejected.
    const value = JSON.parse(text)
    const { depth, inexact } = inspectText(text)
    if (depth > MAX_DEPTH) return undefined
    return inexact ? parseInexact(text) : value
  } catch {
    return undefined
  }
}

function holdsInexact(value: Json): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (value instanceof LosslessNumber) return true
  return Object.values(value).some(holdsInexact)
}

const keyOf = remembering(name => `${JSON.stringify(name)}:`)

/** Returns an object with the members in the given order. Names must be unique. */
export function freeObject(members: readonly Member[]): FreeJson {
  if (members.length === 0) return EMPTY_OBJECT
  const stored = ['{']
  for (let i = 0; i < members.length; i++) {
    const [name, value] = members[i] as Member
    stored.push(i === 0 ? '' : ',', keyOf(name), value.stored ?? 'null')
  }
  stored.push('}')
  const canonical = ['{']
  for (const [name, value] of sorted(members)) {
    canonical.push(canonical.length === 1 ? '' : ',', keyOf(name), value.canonical)
  }
  canonical.push('}')
  return { stored: stored.join(''), canonical: canonical.join('') }
}

/** Sorts members by name. Insertion sort is fastest for the few members of a typical object, but slow for many. */
function sorted(members: readonly Member[]): readonly Member[] {
  const list = [...members]
  if (list.length > 24) return list.sort(([a], [b]) => (a < b ? -1 : 1))
  for (let i = 1; i < list.length; i++) {
    const member = list[i] as Member
    let place = i
    while (place > 0 && (list[place - 1] as Member)[0] > member[0]) {
      list[place] = list[place - 1] as Member
      place--
    }
    list[place] = member
  }
  return list
}
