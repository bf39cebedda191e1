/** Attribute values as free JSON: as stored and in canonical form, made in one go wherever a value is simple. */
import { LosslessNumber } from 'lossless-json'
import Type from 'typebox'
import { CONTROL, inspectText, type Json, parseInexact } from '../../trace/json/exact-json.ts'
import { EMPTY_OBJECT, type FreeJson, freeJsonOf } from '../../trace/json/free-json.ts'
import { reader } from '../../trace/json/reader.ts'

/** How the value of an attribute is written. */
export type Form =
  /** Text is text. */
  | 'text'
  /** Text is JSON, if it can be read as such. */
  | 'json'
  /** Text that looks like an object or array is JSON, if it can be read as such; other text is text. */
  | 'loose'

/** JSON in an attribute may be nested so deep and still stand in a document that is nested at most 100 levels. */
const MAX_DEPTH = 90
const anyJson = reader(Type.Unknown())

export function freeOf(value: Json): FreeJson {
  switch (typeof value) {
    case 'string':
    case 'boolean': {
      const text = JSON.stringify(value)
      return { stored: text, canonical: text }
    }
    default:
      return freeJsonOf(value ?? null, holdsInexact(value))
  }
}

/** The value of an attribute, as its form says; what cannot be read as JSON stays text. */
export function freeForm(value: Json, form: Form): FreeJson {
  return (mayBeJson(value, form) ? freeOfText(value) : undefined) ?? freeOf(value)
}

/** The same as a value. */
export function readForm(value: Json, form: Form): Json {
  return (mayBeJson(value, form) ? parseJson(value) : undefined) ?? value
}

const mayBeJson = (value: Json, form: Form): value is string =>
  typeof value === 'string' && (form === 'json' || (form === 'loose' && /^\s*[[{]/.test(value)))

/** JSON text; undefined where it is none, or is nested too deep to be kept as such. */
function freeOfText(text: string): FreeJson | undefined {
  const plain = CONTROL.test(text) ? undefined : anyJson.read(text, MAX_DEPTH)
  if (plain !== undefined) return plain
  const value = parseJson(text)
  return value === undefined ? undefined : freeOf(value)
}

/** The same as a value. */
export function parseJson(text: string): Json {
  try {
    // This parser does not recurse as deep as the text may go; whatever reads its value does.
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

/** An object of members in this order. No name may come twice. */
export function freeObject(members: readonly (readonly [name: string, value: FreeJson])[]): FreeJson {
  if (members.length === 0) return EMPTY_OBJECT
  const sorted = members.toSorted(([a], [b]) => (a < b ? -1 : 1))
  return {
    stored: `{${members.map(([name, { stored }]) => `${JSON.stringify(name)}:${stored ?? 'null'}`).join(',')}}`,
    canonical: `{${sorted.map(([name, { canonical }]) => `${JSON.stringify(name)}:${canonical}`).join(',')}}`
  }
}
