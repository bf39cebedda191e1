/**
 * Avoids storing long strings twice. OpenInference sends a model's input and output twice: as messages, and as the raw
 * request and response. A raw value with more content than the messages stays an attribute
 * (lib/otlp/content/repetition.ts), but a note replaces each long string that the span's input or output also contains.
 */
import { LosslessNumber } from 'lossless-json'
import { type Json, stringifyExact } from '../../trace/json/exact-json.ts'
import type { FreeJson } from '../../trace/json/free-json.ts'
import { readForm } from '../wire/attribute-values.ts'

/** Minimum length of a replaced string, in characters. Replacing a shorter string would save little. */
const LONG = 200
const NOTE = '[as in input or output]'

/**
 * Returns an attribute's value without the strings contained in the `kept` set. Compares whole strings only, in linear
 * time.
 */
export function keptOnce(value: Json, kept: readonly (FreeJson | undefined)[]): Json {
  if (typeof value !== 'string' || value.length < LONG) return value
  const known = new Set<string>()
  for (const free of kept) if (free?.stored != null) collect(JSON.parse(free.stored), known)
  if (known.size === 0) return value
  if (known.has(value)) return NOTE
  const parsed = readForm(value, 'loose')
  if (typeof parsed === 'string') return value
  const left = replaceKnown(parsed, known)
  return left === parsed ? value : stringifyExact(left)
}

function collect(value: Json, into: Set<string>): void {
  if (typeof value === 'string') {
    if (value.length >= LONG) into.add(value)
  } else if (typeof value === 'object' && value !== null) {
    for (const item of Object.values(value)) collect(item, into)
  }
}

/** Returns the same object if the value contains no known string. */
function replaceKnown(value: Json, known: ReadonlySet<string>): Json {
  if (typeof value === 'string') return known.has(value) ? NOTE : value
  if (typeof value !== 'object' || value === null || value instanceof LosslessNumber) return value
  if (Array.isArray(value)) {
    const items = value.map(item => replaceKnown(item, known))
    return items.some((item, i) => item !== value[i]) ? items : value
  }
  const before = Object.entries(value)
  const after = before.map(([key, item]) => [key, replaceKnown(item, known)] as const)
  return after.some(([, item], i) => item !== before[i]?.[1]) ? Object.fromEntries(after) : value
}
