/** Reads a Langfuse object field by field. Fields that no mapping has read are kept under their own names. */
import { LosslessNumber } from 'lossless-json'
import { Refusal } from '../../errors.ts'
import { sha256 } from '../../trace/document.ts'
import { isJsonObject, type Json, stringifyExact } from '../../trace/json/exact-json.ts'
import { parseTimestamp } from '../../trace/timestamp.ts'

export type LangfuseObject = Readonly<Record<string, Json>>

/** Counts the fields that were mapped, by mapping, such as `observation.model → model`. */
export class Mapping {
  readonly counts = new Map<string, number>()

  note(from: string, to: string): void {
    const step = `${from} → ${to}`
    this.counts.set(step, (this.counts.get(step) ?? 0) + 1)
  }
}

export function refuseLine(message: string): never {
  throw new Refusal('invalid_trace', message)
}

/** Whether a value is empty. Langfuse writes an empty value of the right type for unknown values. */
export function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true
  if (Array.isArray(value)) return value.length === 0
  return isJsonObject(value) && Object.keys(value).length === 0
}

/** Returns a finite number, which may be written as a string; undefined for other values. */
export function readNumber(value: unknown): number | undefined {
  if (value instanceof LosslessNumber) return readNumber(value.value)
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined
}

export const isSame = (one: unknown, other: unknown): boolean =>
  other !== undefined && stringifyExact(one) === stringifyExact(other)

/** Returns a well-formed id in lower case. Replaces any other id with the first digits of the id's SHA-256. */
export function mapId(id: string, digits: 16 | 32): string {
  return isId(id, digits) ? id.toLowerCase() : sha256(id).slice(0, digits)
}
export const isId = (id: string, digits: 16 | 32): boolean => id.length === digits && /^[0-9a-f]+$/i.test(id)

export class LangfuseFields {
  /** The object's noun and position: `observation 3`. */
  readonly place: string
  readonly #noun: string
  readonly #object: LangfuseObject
  readonly #left: Set<string>
  readonly #mapping: Mapping

  constructor(noun: 'trace' | 'observation' | 'score', place: string, object: LangfuseObject, mapping: Mapping) {
    this.#noun = noun
    this.place = place
    this.#object = object
    this.#left = new Set(Object.keys(object).filter(name => !isEmpty(object[name])))
    this.#mapping = mapping
  }

  /** Returns a field's value, or undefined if the value is empty. The field stays unread. */
  see(name: string): Json {
    return Object.hasOwn(this.#object, name) && !isEmpty(this.#object[name]) ? this.#object[name] : undefined
  }

  /** Marks a field as read and counts the field's mapping to the name `to`. */
  took(name: string, to: string): void {
    if (this.#left.delete(name)) this.#mapping.note(`${this.#noun}.${name}`, to)
  }

  /** Drops a field whose value can be derived from other fields. */
  drop(name: string): void {
    this.#left.delete(name)
  }

  note(from: string, to: string): void {
    this.#mapping.note(`${this.#noun}.${from}`, to)
  }

  /** Reads a value of any type. */
  take(name: string, to = name): Json {
    this.took(name, to)
    return this.see(name)
  }

  /** Reads a string of at most `maxLength` characters; any other value stays unread. */
  text(name: string, maxLength: number, to = name): string | undefined {
    const value = this.see(name)
    if (typeof value !== 'string' || [...value].length > maxLength) return undefined
    this.took(name, to)
    return value
  }

  /** Reads a string, or returns `otherwise`. A string that is too long is cut, and the field stays unread. */
  name(name: string, maxLength: number, otherwise: string): string {
    const value = this.see(name)
    if (typeof value !== 'string') return otherwise
    return this.text(name, maxLength) ?? [...value].slice(0, maxLength).join('')
  }

  id(name: string): string {
    const value = this.see(name)
    return typeof value === 'string' ? value : refuseLine(`${this.place}: ${name} is missing, or not a string`)
  }

  /** Reads the object's own id in spoor's form. If the form differs, keeps the original in `target`. */
  mappedId(digits: 16 | 32, target: Record<string, Json>, to: string): string {
    const id = this.id('id')
    if (!isId(id, digits)) keep(target, 'id', id)
    this.took('id', isId(id, digits) ? 'id' : `id (hashed) and ${to} langfuse.id`)
    return mapId(id, digits)
  }

  /** Reads a time and returns its canonical form. */
  time(name: string, to: string): string | undefined {
    const value = this.see(name)
    if (value === undefined) return undefined
    const time = typeof value === 'string' ? parseTimestamp(value) : undefined
    if (time === undefined) refuseLine(`${this.place}: ${name} is not an ISO 8601 date and time`)
    this.took(name, to)
    return time
  }

  requiredTime(name: string, to: string): string {
    return this.time(name, to) ?? refuseLine(`${this.place}: ${name} is missing`)
  }

  /** Reads a list of objects; undefined for any other value. `hint` is advice in the error for non-object elements. */
  list(name: string, to: string, hint: string): readonly LangfuseObject[] | undefined {
    const value = this.see(name)
    if (!Array.isArray(value)) return undefined
    if (!value.every(isJsonObject)) refuseLine(`${this.place}: ${name} must be objects: ${hint}`)
    this.took(name, to)
    return value
  }

  /** Reads an object and returns a copy that the caller may extend; any other value stays unread. */
  object(name: string, to = name): Record<string, Json> {
    const value = this.see(name)
    if (!isJsonObject(value)) return {}
    this.took(name, to)
    return { ...value }
  }

  /** Returns the unread fields, except fields with the same value in `others`. */
  rest(others?: LangfuseObject): [name: string, value: Json][] {
    const names = [...this.#left].filter(name => !isSame(this.#object[name], others?.[name]))
    return names.map(name => [name, this.#object[name]])
  }

  /** Adds the unread fields to `target`, each as `langfuse.` plus its name. */
  keepRest(target: Record<string, Json>, to: string, others?: LangfuseObject): void {
    for (const [name, value] of this.rest(others)) {
      this.note(name, `${to} langfuse.${name}`)
      keep(target, name, value)
    }
  }
}

/** Returns the object without undefined fields, which JSON cannot represent. */
export function present(object: object): LangfuseObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined))
}

/** Adds a value as `langfuse.` plus its name, or under a longer name if that key is taken. */
export function keep(target: Record<string, Json>, name: string, value: Json): void {
  let key = `langfuse.${name}`
  while (Object.hasOwn(target, key)) key = `langfuse.${key}`
  target[key] = value
}
