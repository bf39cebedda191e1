/**
 * Reads the building blocks of OTLP's JSON messages: attributes, numbers, strings and lists. A value with the wrong
 * type is rejected as `invalid_request` with its path.
 */
import { LosslessNumber } from 'lossless-json'
import { Refusal } from '../../errors.ts'
import { type Json, plainNumber } from '../../trace/json/exact-json.ts'
import { setOwn } from '../../trace/metadata.ts'
import { Parts } from './parts.ts'
import type { Attributes } from './request.ts'
import { microsOfText } from './time.ts'

export type JsonObject = Readonly<Record<string, unknown>>

/** Counts the current request's parts. One counter suffices, because a thread reads one request at a time. */
let parts = new Parts()

/** Starts counting the parts of a new request. */
export function startParts(): void {
  parts = new Parts()
}

export const addParts = (count: number): void => parts.add(count)

export function attributesOf(object: JsonObject, path: string): Attributes {
  const attributes = new Map<string, Json>()
  const read = (item: JsonObject, itemPath: string) =>
    attributes.set(textOfField(item, 'key', itemPath), readJsonValue(item.value, `${itemPath}.value`))
  listOf(object, 'attributes', path, read)
  return attributes
}

/** Returns an AnyValue as JSON. Integers and doubles may be sent as numbers or as strings. */
export function readJsonValue(any: unknown, path: string): Json {
  if (any === undefined || any === null) return null
  const value = objectOf(any, path)
  if (typeof value.stringValue === 'string') return value.stringValue
  if (typeof value.boolValue === 'boolean') return value.boolValue
  if (value.intValue !== undefined) return integerOf(value.intValue, `${path}.intValue`)
  if (value.doubleValue !== undefined) return doubleOf(value.doubleValue)
  if (value.arrayValue !== undefined) {
    const array = objectOf(value.arrayValue ?? {}, `${path}.arrayValue`)
    return listOf(array, 'values', `${path}.arrayValue`, readJsonValue)
  }
  if (value.kvlistValue !== undefined) {
    const object: Record<string, Json> = {}
    const list = objectOf(value.kvlistValue ?? {}, `${path}.kvlistValue`)
    listOf(list, 'values', `${path}.kvlistValue`, (item, itemPath) =>
      setOwn(object, textOfField(item, 'key', itemPath), readJsonValue(item.value, `${itemPath}.value`))
    )
    return object
  }
  return typeof value.bytesValue === 'string' ? value.bytesValue : null
}

function integerOf(value: unknown, path: string): Json {
  if (typeof value === 'number' || value instanceof LosslessNumber) return plainNumber(value)
  if (typeof value !== 'string' || !/^-?\d{1,20}$/.test(value)) return refuse(path, 'must be a whole number')
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : new LosslessNumber(BigInt(value).toString())
}

/** Reads a double. NaN and infinities arrive as strings and stay strings. */
function doubleOf(value: unknown): Json {
  if (typeof value !== 'string') return plainNumber(value)
  const number = Number(value)
  return value.trim() !== '' && Number.isFinite(number) ? number : value
}

/**
 * Reads an enumeration value, which OTLP sends as a number. Some senders use the value's name instead, as in protobuf's
 * JSON mapping.
 */
export function enumOf(object: JsonObject, field: string, path: string, names: readonly string[]): number {
  const value = object[field]
  const index = typeof value === 'string' ? names.indexOf(value) : -1
  return index >= 0 ? index : countOf(object, field, path)
}

export function countOf(object: JsonObject, field: string, path: string): number {
  const value = plainNumber(object[field] ?? 0)
  return Number.isInteger(value) ? (value as number) : refuse(`${path}.${field}`, 'must be a whole number')
}

export function microsOfField(object: JsonObject, field: string, path: string): number {
  const value = plainNumber(object[field] ?? '0')
  const text = value instanceof LosslessNumber ? value.value : String(value)
  return /^\d{1,20}$/.test(text) ? microsOfText(text) : refuse(`${path}.${field}`, 'must be nanoseconds since 1970')
}

export function textOfField(object: JsonObject, field: string, path: string): string {
  const value = object[field] ?? ''
  return typeof value === 'string' ? value : refuse(`${path}.${field}`, 'must be a string')
}

/** Reads the first `most` items of a list. Items beyond `most` still count as parts. */
export function listOf<T>(
  object: JsonObject,
  field: string,
  path: string,
  read: (item: JsonObject, path: string) => T,
  most?: number
): T[] {
  const listPath = fieldPath(path, field)
  const list = arrayOf(object, field, listPath)
  parts.add(list.length)
  return list.slice(0, most).map((item, i) => read(objectOf(item, `${listPath}[${i}]`), `${listPath}[${i}]`))
}

export const fieldPath = (path: string, field: string): string => (path === 'body' ? field : `${path}.${field}`)

export function arrayOf(object: JsonObject, field: string, path: string): readonly unknown[] {
  const list = object[field] ?? []
  return Array.isArray(list) ? list : refuse(path, 'must be an array')
}

export function objectOf(value: unknown, path: string): JsonObject {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject
  return refuse(path, 'must be an object')
}

function refuse(path: string, rule: string): never {
  throw new Refusal('invalid_request', `${path}: ${rule}`)
}
