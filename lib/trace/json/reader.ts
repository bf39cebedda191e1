/**
 * Creates body readers from schemas. A reader parses and checks plain JSON in one pass and keeps free-form JSON as
 * text. A body that a reader rejects takes the slow path (lib/trace/prepare.ts): the body is parsed, checked by the
 * compiled schema, and converted by `adapt`. The compiled schema's check also produces the error messages. A test
 * compares the two paths.
 */
import type { Static, TSchema } from 'typebox'
import { obeysAsWritten, type Rules } from '../../schema/check.ts'
import { type ByteText, fromByteText } from './byte-text.ts'
import { EMPTY_OBJECT, type FreeJson, freeJsonOf, NULL, passFree } from './free-json.ts'
import { EXACT_DIGITS, NOT_PLAIN, Scanner } from './scanner.ts'

/** A checked body of type T, with FreeJson where the schema allows any JSON. */
export type Reading<T> = unknown extends T
  ? FreeJson
  : T extends readonly (infer Item)[]
    ? Reading<Item>[]
    : T extends object
      ? keyof T extends never
        ? FreeJson
        : { [Name in keyof T]: Reading<T[Name]> }
      : T

export interface Reader<T> {
  /**
   * Reads a text without characters below U+0020, which may be a byte text (byte-text.ts). The free-form JSON of the
   * result is then byte texts too; its strings are not. Returns undefined if the text is not plain or breaks a rule.
   */
  read(text: string | ByteText, maxDepth: number): Reading<T> | undefined
  /** Converts a checked value to a Reading. `exact` is the value with its LosslessNumbers, if any. */
  adapt(value: T, exact: unknown, inexact: boolean): Reading<T>
}

const scanner = new Scanner()
/** Whether the scanned text is a byte text that may differ from its text. */
let isBeyondAscii = false

export function reader<T extends TSchema>(schema: T): Reader<Static<T>> {
  const part = partOf(schema as Rules)
  return {
    read(body, maxDepth) {
      const isByteText = typeof body !== 'string'
      isBeyondAscii = isByteText && body.isBeyondAscii
      try {
        scanner.start(isByteText ? body.text : body, maxDepth, isByteText)
        const value = part.read()
        scanner.end()
        return value as Reading<Static<T>>
      } catch (error) {
        scanner.text = ''
        if (error === NOT_PLAIN) return undefined
        throw error
      }
    },
    adapt: (value, exact, inexact) => part.adapt(value, exact, inexact) as Reading<Static<T>>
  }
}

/** Reads the values of one part of a schema and adapts parsed values. */
interface Part {
  read(): unknown
  adapt(value: unknown, exact: unknown, inexact: boolean): unknown
}

const QUOTE = 34
const OPEN_BRACKET = 91
const CLOSE_BRACKET = 93
const OPEN_BRACE = 123
const CLOSE_BRACE = 125

const unchanged = (value: unknown): unknown => value

function partOf(rules: Rules): Part {
  if (rules.anyOf !== undefined) return nullable(rules.anyOf)
  if (rules.enum !== undefined) return words(rules.enum)
  switch (rules.const === undefined ? rules.type : typeof rules.const) {
    case undefined:
      return FREE
    case 'object':
      return rules.additionalProperties === false ? fields(rules) : FREE_OBJECT
    case 'array':
      return list(rules)
    case 'string':
      return string(rules)
    case 'number':
    case 'integer':
      return number(rules)
    default:
      throw new Error(`no reader for ${JSON.stringify(rules)}`)
  }
}

/** Reads free-form JSON. `none` is the value that is stored as null. */
function free(pass: () => string, none: FreeJson): Part {
  const orNone = (json: FreeJson) => (json.canonical === none.canonical ? none : json)
  return {
    read: () => orNone(passFree(scanner, pass)),
    adapt: (_, exact, inexact) => orNone(freeJsonOf(exact, inexact))
  }
}

const FREE = free(() => scanner.value(), NULL)
const FREE_OBJECT = free(() => scanner.object(), EMPTY_OBJECT)

function nullable(branches: readonly Rules[]): Part {
  const [branch, none] = branches
  if (branch === undefined || none?.type !== 'null') throw new Error('a reader supports unions only with null')
  const part = partOf(branch)
  return {
    read() {
      if (scanner.text.charCodeAt(scanner.at) === QUOTE) return part.read()
      scanner.null()
      return null
    },
    adapt: (value, exact, inexact) => (value === null ? null : part.adapt(value, exact, inexact))
  }
}

function readString(): string {
  const text = readSpelled()
  return isBeyondAscii ? fromByteText(text) : text
}

function readSpelled(): string {
  const from = scanner.at
  const canonical = scanner.string()
  if (canonical !== '') return JSON.parse(canonical)
  const inner = scanner.text.slice(from + 1, scanner.at - 1)
  return inner.includes('\\') ? JSON.parse(`"${inner}"`) : inner
}

function words(known: readonly unknown[]): Part {
  return {
    read() {
      const text = readString()
      // Returns the schema's own string, because a slice of the text would keep the whole body in memory.
      const index = known.indexOf(text)
      if (index < 0) throw NOT_PLAIN
      return known[index]
    },
    adapt: unchanged
  }
}

/** Reads a string. Limits refer to code points, which are counted only if the string has too many code units. */
function string({ minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern }: Rules): Part {
  const form = pattern === undefined ? undefined : new RegExp(pattern, 'u')
  return {
    read() {
      const text = readString()
      if (text.length < minLength) throw NOT_PLAIN
      if (text.length > maxLength && [...text].length > maxLength) throw NOT_PLAIN
      if (form !== undefined && !form.test(text)) throw NOT_PLAIN
      return text
    },
    adapt: unchanged
  }
}

function number(rules: Rules): Part {
  const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY, type, const: constant } = rules
  return {
    read() {
      const from = scanner.at
      scanner.number()
      const literal = scanner.text.slice(from, scanner.at)
      const value = Number(literal)
      if (!Number.isFinite(value) || value < minimum || value > maximum) throw NOT_PLAIN
      if (type === 'integer' && !Number.isInteger(value)) throw NOT_PLAIN
      if (constant !== undefined && value !== constant) throw NOT_PLAIN
      // A longer literal may have been rounded, and a small number may have been rounded to 0.
      const isRounded = literal.length > EXACT_DIGITS || (value === 0 && literal.length > 1)
      if (isRounded && !obeysAsWritten(rules, literal)) throw NOT_PLAIN
      return value
    },
    adapt: unchanged
  }
}

function list({ items = {}, minItems = 0, maxItems = Number.POSITIVE_INFINITY }: Rules): Part {
  const item = partOf(items)
  return {
    read() {
      const values: unknown[] = []
      scanner.open(OPEN_BRACKET)
      if (!scanner.isEmpty(CLOSE_BRACKET)) {
        do {
          if (values.length >= maxItems) throw NOT_PLAIN
          values.push(item.read())
        } while (!scanner.closes(CLOSE_BRACKET))
      }
      if (values.length < minItems) throw NOT_PLAIN
      return values
    },
    adapt(value, exact, inexact) {
      const exactItems = exact as readonly unknown[]
      return (value as readonly unknown[]).map((each, i) => item.adapt(each, exactItems[i], inexact))
    }
  }
}

interface Field {
  readonly index: number
  readonly part: Part
  /** Quoted name with its colon, as it appears in the text. */
  readonly token: string
  /** Bit mask with only bit `index` set. */
  readonly bit: number
  /**
   * The field that followed this field in the previous object. Clients send fields in a consistent order, so trying
   * that field first saves a look-up.
   */
  next: Field | undefined
}

/**
 * Returns a function that builds an object with these fields from their values. Absent fields are undefined. V8
 * allocates such an object with its final shape, and accesses the fields faster than if the fields were assigned one by
 * one (test/bench/RESULTS.md, "Reading bodies").
 */
function makerOf(names: readonly string[]): (values: readonly unknown[]) => Record<string, unknown> {
  const members = names.map((name, i) => `${JSON.stringify(name)}:values[${i}]`)
  return new Function('values', `return {${members}}`) as ReturnType<typeof makerOf>
}

/**
 * Reads an object with known fields. Every result has all fields, including fields that were not sent, so that all
 * results share one V8 shape.
 */
function fields({ properties = {}, required = [] }: Rules): Part {
  const known = new Map<string, Field>()
  const names = Object.keys(properties)
  const make = makerOf(names)
  let needed = 0
  for (const [i, [name, rules]] of Object.entries(properties).entries()) {
    const field = { index: i, part: partOf(rules), token: `"${name}":`, bit: 1 << i, next: undefined }
    known.set(name, field)
    if (required.includes(name)) needed |= field.bit
  }
  const first: Pick<Field, 'next'> = { next: undefined }

  function nextField(last: Pick<Field, 'next'>): Field {
    const guess = last.next
    if (guess !== undefined && scanner.passesText(guess.token)) return guess
    const field = known.get(scanner.name())
    if (field === undefined) throw NOT_PLAIN
    last.next = field
    return field
  }

  return {
    read() {
      const values = new Array<unknown>(names.length)
      let seen = 0
      let last = first
      scanner.open(OPEN_BRACE)
      if (!scanner.isEmpty(CLOSE_BRACE)) {
        do {
          const field = nextField(last)
          if ((seen & field.bit) !== 0) throw NOT_PLAIN
          seen |= field.bit
          values[field.index] = field.part.read()
          last = field
        } while (!scanner.closes(CLOSE_BRACE))
      }
      if ((seen & needed) !== needed) throw NOT_PLAIN
      return make(values)
    },
    adapt(value, exact, inexact) {
      const values = new Array<unknown>(names.length)
      const exactFields = exact as Readonly<Record<string, unknown>>
      for (const [name, field] of Object.entries(value as object)) {
        const { part, index } = known.get(name) as Field
        values[index] = part.adapt(field, exactFields[name], inexact)
      }
      return make(values)
    }
  }
}
