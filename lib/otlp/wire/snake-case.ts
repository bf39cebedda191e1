/**
 * Reads OTLP's JSON encoding with field names in snake_case, as protobuf libraries write JSON when configured to keep
 * the schema's names. OTLP has no objects with user-defined keys, so every key can be renamed.
 */
import { LosslessNumber } from 'lossless-json'

export function inCamelCase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inCamelCase)
  if (typeof value !== 'object' || value === null || value instanceof LosslessNumber) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [camelCase(name), inCamelCase(inner)]))
}

const camelCase = (name: string): string => name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
