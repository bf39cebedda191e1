/**
 * OpenInference sends the input and output of a model twice: message by message, and as the raw request and response. A
 * raw one that says more than the messages stays an attribute (lib/otlp/content/repetition.ts). But its long texts that
 * the span's input or output has as well are not stored a second time: a note takes their places.
 */
import { LosslessNumber } from 'lossless-json'
import { type Json, stringifyExact } from '../../trace/json/exact-json.ts'
import type { FreeJson } from '../../trace/json/free-json.ts'
import { readForm } from '../wire/attribute-values.ts'

/** A shorter text may well stand twice: it takes less than it would to say so. */
const LONG = 200
const NOTE = '[as in input or output]'

/** The value of an attribute, without the texts that `kept` has. Compares whole texts only, in linear time. */
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

/** The value itself if it holds none of the texts. */
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
