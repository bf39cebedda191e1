/** Reads query strings strictly. An unknown parameter causes an error that names it and lists the known ones. */
import type { TObject } from 'typebox'
import { Refusal } from '../errors.ts'
import { checker } from '../schema/check.ts'

/** Converts a raw query string, without `?`, to the values described by a route's query schema. */
export type QueryReader = (text: string) => Record<string, unknown>

/** Matches a decimal integer that a double represents exactly, written without `+`, leading zeros or an exponent. */
const INTEGER = /^(?:0|-?[1-9]\d{0,14})$/
/** Matches a number as JSON writes it. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const BOOLEANS: ReadonlySet<string> = new Set(['true', 'false'])
const MAX_SHOWN_NAME = 100

type Values = Readonly<Record<string, unknown>>

/**
 * Returns a check that applies the reader's rules to values that are already parsed, such as a tool's arguments. The
 * check throws `invalid_request` for invalid values. The `exact` argument holds the same values, but with the numbers
 * as the client wrote them. The error of an unknown parameter lists `names`.
 */
export function queryCheck(
  schema: TObject,
  names: readonly string[] = Object.keys(schema.properties)
): (values: Values, exact?: Values) => void {
  const { check, explain } = checker(schema)
  const known = listNames(names)
  return (values, exact = values) => {
    for (const [name, value] of Object.entries(values)) {
      for (const each of Array.isArray(value) ? value : [value]) checkParameter(schema, known, name, each)
    }
    if (!check(values, exact)) throw new Refusal('invalid_request', explain(exact, 'query'))
  }
}

/**
 * Returns a reader for a schema of strings, numbers, booleans, and arrays of strings. A parameter that the schema
 * describes as an array may be given several times. The reader throws `invalid_request` for an invalid query.
 */
export function queryReader(schema: TObject): QueryReader {
  const checkAll = queryCheck(schema)
  const known = listNames(Object.keys(schema.properties))
  const ofType = (type: string) =>
    new Set(
      Object.entries(schema.properties)
        .filter(([, property]) => 'type' in property && property.type === type)
        .map(([name]) => name)
    )
  const [integers, numbers, booleans] = [ofType('integer'), ofType('number'), ofType('boolean')]
  const arrays = ofType('array')
  const parsed = (name: string, value: string): unknown => {
    if (integers.has(name) && INTEGER.test(value)) return Number(value)
    if (numbers.has(name) && NUMBER.test(value)) return Number(value)
    if (!booleans.has(name)) return value
    if (!BOOLEANS.has(value)) throw refusal(name, 'must be true or false')
    return value === 'true'
  }
  return text => {
    const query: Record<string, unknown> = {}
    for (const [name, value] of parameters(text)) {
      checkParameter(schema, known, name, value)
      const isGiven = Object.hasOwn(query, name)
      if (arrays.has(name)) query[name] = [...(isGiven ? (query[name] as string[]) : []), value]
      else if (isGiven) throw refusal(name, 'must not be repeated')
      else query[name] = parsed(name, value)
    }
    checkAll(query)
    return query
  }
}

function checkParameter(schema: TObject, known: string, name: string, value: unknown): void {
  if (name === '') throw refusal('query', 'every parameter must have a name')
  if (!Object.hasOwn(schema.properties, name)) throw refusal(name, `unknown parameter; ${known}`)
  if (value === '') throw refusal(name, 'must not be empty')
}

const listNames = (names: readonly string[]): string =>
  names.length === 0 ? 'there are no parameters' : `the parameters are ${names.join(', ')}`

function* parameters(text: string): Generator<[string, string]> {
  for (const pair of text.split('&')) {
    if (pair === '') continue
    const end = pair.indexOf('=')
    const name = end === -1 ? pair : pair.slice(0, end)
    yield [decode(name, name), end === -1 ? '' : decode(pair.slice(end + 1), name)]
  }
}

function decode(text: string, name: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw refusal(name, 'must be percent-encoded UTF-8')
  }
}

function refusal(name: string, rule: string): Refusal {
  const shown = name.length > MAX_SHOWN_NAME ? `${name.slice(0, MAX_SHOWN_NAME)}…` : name
  return new Refusal('invalid_request', `${shown}: ${rule}`)
}
