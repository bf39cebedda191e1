/** Turns attribute values into free JSON. The stored and the canonical form of a simple value are made in one go. */
import { LosslessNumber } from 'lossless-json'
import Type from 'typebox'
import { CONTROL, inspectText, type Json, parseInexact } from '../../trace/json/exact-json.ts'
import { EMPTY_OBJECT, type FreeJson, freeJsonOf } from '../../trace/json/free-json.ts'
import { reader } from '../../trace/json/reader.ts'
import { remembering } from '../../trace/remembering.ts'

/** How the value of an attribute is written. */
export type TextForm =
  /** A text stays text. */
  | 'text'
  /** A text becomes JSON if it can be read as JSON. */
  | 'json'
  /** A text that looks like an object or array becomes JSON if it can be read as JSON. Any other text stays text. */
  | 'loose'

/** The most levels of JSON in an attribute, so that the document that holds it has at most 100 (MAX_JSON_DEPTH). */
const MAX_DEPTH = 90
const anyJson = reader(Type.Unknown())

/** A member of an object. */
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

/** The value of an attribute in this form. A text that cannot be read as JSON stays text. */
export function freeForm(value: Json, form: TextForm): FreeJson {
  return (mayBeJson(value, form) ? freeOfText(value) : undefined) ?? freeOf(value)
}

/** The same as a value. */
export function readForm(value: Json, form: TextForm): Json {
  return (mayBeJson(value, form) ? parseJson(value) : undefined) ?? value
}

const mayBeJson = (value: Json, form: TextForm): value is string =>
  typeof value === 'string' && (form === 'json' ? BEGINNING.test(value) : form === 'loose' && /^\s*[[{]/.test(value))

/**
 * The first character of a JSON text. JSON.parse throws for other texts, such as ids, which took 15 % of the time of an
 * export.
 */
const BEGINNING = /^\s*["[{\-\dtfn]/

/** The free JSON of a text; undefined if the text is not JSON, or is nested too deep. */
function freeOfText(text: string): FreeJson | undefined {
  const plain = CONTROL.test(text) ? undefined : anyJson.read(text, MAX_DEPTH)
  if (plain !== undefined) return plain
  const value = parseJson(text)
  return value === undefined ? undefined : freeOf(value)
}

/** The same as a value. */
export function parseJson(text: string): Json {
  try {
    // JSON.parse itself can read any depth, but the functions that read its value recurse.
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

/** An object with these members in this order. No name may come twice. */
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

/** Insertion sort is the fastest for the few members that most objects have, and the slowest for many members. */
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
