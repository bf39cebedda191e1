/**
 * Validates values. A compiled typebox check decides whether a value is valid. For an invalid value, one plain sentence
 * names the field and the rule (`trace.spans[3].name: must have at most 500 characters`).
 *
 * The sentence comes from a custom walk over the schema that stops at the first error. typebox's Errors() checks the
 * whole value and takes far too long for a large array of invalid items (test/bench/RESULTS.md, "Wrong bodies"). The
 * walk supports only the keywords that lib/schema uses. A test compares the walk's results with the compiled check's.
 */
import { LosslessNumber } from 'lossless-json'
import type { Static, TSchema } from 'typebox'
import { Compile, type Validator } from 'typebox/schema'
import { compareWritten, decimalOf, isHeld, isInteger } from './decimal.ts'
import { tagOf } from './variants.ts'

export interface Checker<T> {
  /**
   * Checks a value. `exact` is the value with a LosslessNumber for each number whose spelling differs from
   * JavaScript's. Rules apply to numbers as written: 1.00000000000000000001 is not an integer, although its double is.
   */
  check(value: unknown, exact?: unknown): value is T
  /**
   * Returns the error sentence for a value that `check` rejected. If `check` received `exact`, pass `exact` here too.
   * `root` is the name of the value as a whole.
   */
  explain(value: unknown, root?: string): string
}

/**
 * Creates a checker for a schema. The schema is compiled on first use, because compiling takes a millisecond or more,
 * and a starting server needs few of its roughly forty schemas. `typebox/compile` would build the same check, but also
 * loads conversions, which takes 55 ms in each process and thread.
 */
export function checker<T extends TSchema>(schema: T): Checker<Static<T>> {
  let used: { readonly rules: Rules; readonly compiled: Validator } | undefined
  const use = () => {
    if (used === undefined) {
      const rules = withoutFormats(schema)
      used = { rules, compiled: Compile(rules as object) }
    }
    return used
  }
  return {
    check(value, exact = value): value is Static<T> {
      const { rules, compiled } = use()
      return compiled.Check(value) && (exact === value || fault(rules, exact) === undefined)
    },
    explain(value, root = 'body') {
      const { path, rule } = fault(use().rules, value) ?? { path: '', rule: 'does not have the required form' }
      return `${path.replace(/^\./, '') || root}: ${rule}`
    }
  }
}

/** A JSON schema, limited to the keywords that lib/schema uses. */
export interface Rules {
  readonly type?: TypeName
  readonly anyOf?: readonly Rules[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly properties?: Readonly<Record<string, Rules>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Rules
  readonly items?: Rules
  readonly minItems?: number
  readonly maxItems?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  /** The rule that `pattern` expresses, in words. */
  readonly patternRule?: string
  readonly minimum?: number
  readonly maximum?: number
}
type TypeName = 'object' | 'array' | 'string' | 'number' | 'integer' | 'boolean' | 'null'

/** The path of the invalid value (`.trace.spans[3]`) and the rule that the value breaks. */
interface Fault {
  readonly path: string
  readonly rule: string
}

const TYPE_WORDS: Readonly<Record<TypeName, string>> = {
  object: 'an object',
  array: 'an array',
  string: 'a string',
  number: 'a number',
  integer: 'an integer',
  boolean: 'a boolean',
  null: 'null'
}

const PATTERN_WORDS: Readonly<Record<string, string>> = {
  '^[0-9a-fA-F]{32}$': 'must be 32 hexadecimal characters',
  '^[0-9a-fA-F]{16}$': 'must be 16 hexadecimal characters',
  '^[A-Za-z0-9_-]+$': 'must contain only letters, digits, underscores and hyphens'
}

/**
 * Returns the schema without `format`. typebox follows RFC 3339 and would reject times without an offset, which the
 * service accepts. lib/trace parses the times.
 */
function withoutFormats(schema: TSchema): Rules {
  return JSON.parse(
    JSON.stringify(schema, (key, value) => (key === 'format' && typeof value === 'string' ? undefined : value))
  )
}

/** Returns the first rule that a value breaks. Checks known fields in the schema's order, then unknown fields. */
function fault(rules: Rules, value: unknown): Fault | undefined {
  if (rules.anyOf !== undefined) return faultOfUnion(rules.anyOf, value)
  if (value instanceof LosslessNumber) return faultOfWritten(rules, value)
  if (rules.const !== undefined && value !== rules.const) return here(`must equal ${JSON.stringify(rules.const)}`)
  if (rules.enum !== undefined && !rules.enum.includes(value)) return here(`must be one of ${rules.enum.join(', ')}`)
  if (rules.type === undefined) return undefined
  if (!isOfType(rules.type, value)) return here(`must be ${TYPE_WORDS[rules.type]}`)
  if (typeof value === 'string') return faultOfString(rules, value)
  if (typeof value === 'number') return faultOfNumber(rules, value)
  if (Array.isArray(value)) return faultOfArray(rules, value)
  if (value !== null && typeof value === 'object') return faultOfObject(rules, value as Record<string, unknown>)
  return undefined
}

/**
 * Returns the fault of a value that may have several types. If a branch matches the value's type, returns that branch's
 * rule.
 */
function faultOfUnion(branches: readonly Rules[], value: unknown): Fault | undefined {
  const tag = tagOf(branches)
  if (tag !== undefined) return faultOfVariants(branches, tag, value)
  const near = branches.filter(branch => branch.type === undefined || isOfType(branch.type, value))
  if (near.some(branch => fault(branch, value) === undefined)) return undefined
  const first = near[0] && fault(near[0], value)
  if (first === undefined) {
    return here(`must be ${listed(branches.map(branch => (branch.type ? TYPE_WORDS[branch.type] : 'another value')))}`)
  }
  const others = branches.filter(branch => branch !== near[0])
  const nullable = others.length === 1 && others[0]?.type === 'null'
  return nullable ? { path: first.path, rule: `${first.rule}, or null` } : first
}

/**
 * Returns the fault in the variant that the value's tag selects. If the tag decides the field's type, the sentence
 * names the tag.
 */
function faultOfVariants(variants: readonly Rules[], tag: string, value: unknown): Fault | undefined {
  const tags = variants.map(({ properties }) => properties?.[tag]?.const)
  const fields = isOfType('object', value) ? (value as Record<string, unknown>) : {}
  const index = tags.indexOf(fields[tag])
  const variant = variants[Math.max(index, 0)] as Rules
  const found = fault(withField(variant, tag, { enum: tags }), value)
  const name = /^\.(\w+)/.exec(found?.path ?? '')?.[1] ?? ''
  if (found === undefined || index < 0 || !Object.hasOwn(fields, name)) return found
  const types = new Set(variants.map(({ properties }) => properties?.[name]?.type))
  const type = variant.properties?.[name]?.type
  if (types.size === 1 || type === undefined || isOfType(type, fields[name])) return found
  return { path: found.path, rule: `${found.rule}, because ${tag} is ${tags[index]}` }
}

function withField(rules: Rules, name: string, field: Rules): Rules {
  return { ...rules, properties: { ...rules.properties, [name]: field } }
}

function faultOfString(rules: Rules, value: string): Fault | undefined {
  const { minLength, maxLength, pattern, patternRule } = rules
  if (minLength !== undefined && isShorter(value, minLength)) {
    return here(`must have at least ${counted(minLength, 'character')}`)
  }
  if (maxLength !== undefined && !isShorter(value, maxLength + 1)) {
    return here(`must have at most ${counted(maxLength, 'character')}`)
  }
  if (pattern !== undefined && !new RegExp(pattern, 'u').test(value)) {
    return here(patternRule ?? PATTERN_WORDS[pattern] ?? `must match ${pattern}`)
  }
  return undefined
}

/** Returns the fault of a number as written. A number that a double represents exactly is checked as a double. */
function faultOfWritten(rules: Rules, number: LosslessNumber): Fault | undefined {
  const { value: literal } = number
  const { const: constant, type, minimum, maximum } = rules
  if (isHeld(literal)) return fault(rules, Number(literal))
  if (constant !== undefined) return here(`must equal ${JSON.stringify(constant)}`)
  if (type === undefined) return undefined
  if (!isOfType(type, number)) return here(`must be ${TYPE_WORDS[type]}`)
  if (minimum !== undefined && compareWritten(literal, minimum) < 0) return here(`must be at least ${minimum}`)
  if (maximum !== undefined && compareWritten(literal, maximum) > 0) return here(`must be at most ${maximum}`)
  return faultOfNumber({}, Number(literal))
}

/** Returns whether a number, as written, obeys the rules, even if no double represents the number exactly. */
export const obeysAsWritten = (rules: Rules, literal: string): boolean =>
  faultOfWritten(rules, new LosslessNumber(literal)) === undefined

function faultOfNumber({ minimum, maximum }: Rules, value: number): Fault | undefined {
  if (minimum !== undefined && value < minimum) return here(`must be at least ${minimum}`)
  if (maximum !== undefined && value > maximum) return here(`must be at most ${maximum}`)
  if (value > Number.MAX_VALUE) return here(`must be at most ${Number.MAX_VALUE}, the largest double`)
  if (value < -Number.MAX_VALUE) return here(`must be at least ${-Number.MAX_VALUE}, the lowest double`)
  return undefined
}

function faultOfArray({ items, minItems = 0, maxItems = Infinity }: Rules, value: readonly unknown[]) {
  if (value.length < minItems) return here(`must have at least ${counted(minItems, 'item')}`)
  if (value.length > maxItems) return here(`must have at most ${counted(maxItems, 'item')}`)
  if (items === undefined) return undefined
  for (const [index, item] of value.entries()) {
    const found = fault(items, item)
    if (found !== undefined) return { path: `[${index}]${found.path}`, rule: found.rule }
  }
  return undefined
}

function faultOfObject(rules: Rules, value: Readonly<Record<string, unknown>>): Fault | undefined {
  const properties = rules.properties ?? {}
  for (const [name, rulesOfField] of Object.entries(properties)) {
    const missing = !Object.hasOwn(value, name)
    if (missing && rules.required?.includes(name)) return { path: `.${name}`, rule: 'is required' }
    const found = missing ? undefined : fault(rulesOfField, value[name])
    if (found !== undefined) return { path: `.${name}${found.path}`, rule: found.rule }
  }
  const others = rules.additionalProperties
  for (const name of Object.keys(value)) {
    if (others === undefined || others === true || Object.hasOwn(properties, name)) continue
    const found = others === false ? here('unknown field') : fault(others, value[name])
    if (found !== undefined) return { path: `${step(name)}${found.path}`, rule: found.rule }
  }
  return undefined
}

const here = (rule: string): Fault => ({ path: '', rule })

function isOfType(type: TypeName, value: unknown): boolean {
  if (value instanceof LosslessNumber) {
    return type === 'number' || (type === 'integer' && isInteger(decimalOf(value.value)))
  }
  switch (type) {
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value)
    case 'array':
      return Array.isArray(value)
    case 'null':
      return value === null
    // JSON.parse turns a number too large for a double into Infinity, which has the right type but breaks the bound.
    case 'integer':
      return Number.isInteger(value) || value === Infinity || value === -Infinity
    case 'number':
      return typeof value === 'number' && !Number.isNaN(value)
    default:
      return typeof value === type
  }
}

/** Whether a string has fewer than `length` code points. Avoids counting the characters of long strings. */
function isShorter(text: string, length: number): boolean {
  if (text.length < length) return true
  if (text.length >= 2 * length) return false
  return [...text].length < length
}

/** Formats a field name for a path. Names that clients choose are quoted if unusual and truncated if long. */
function step(name: string): string {
  if (/^[A-Za-z_][\w-]{0,99}$/.test(name)) return `.${name}`
  return `[${JSON.stringify(name.length > 100 ? `${name.slice(0, 100)}…` : name)}]`
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
}
