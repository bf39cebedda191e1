/** Writes attributes in OTLP's JSON encoding, for exports that the service makes itself. */
import { LosslessNumber } from 'lossless-json'
import type { Json } from '../../trace/json/exact-json.ts'

/** Returns the attributes in OTLP's JSON encoding. Omits attributes whose value is undefined. */
export const writeAttributes = (attributes: Iterable<readonly [string, Json]>) =>
  Array.from(attributes)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ({ key, value: anyValueOf(value) }))

function anyValueOf(value: Json): object {
  if (value instanceof LosslessNumber) return { stringValue: value.value }
  if (Array.isArray(value)) return { arrayValue: { values: value.map(anyValueOf) } }
  switch (typeof value) {
    case 'string':
      return { stringValue: value }
    case 'boolean':
      return { boolValue: value }
    case 'number':
      return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value }
    default:
      return value == null ? {} : { kvlistValue: { values: writeAttributes(Object.entries(value)) } }
  }
}
