/** Reads a span's token counts and cost. An invalid count or cost stays an attribute. */
import type { SpanInput } from '../schema/input.ts'
import { type Json, plainNumber } from '../trace/json/exact-json.ts'
import { dialects, namesOf } from './dialects.ts'
import type { Fields } from './fields.ts'
import { type Details, readUsageCounts } from './usage-details.ts'
import { readForm } from './wire/attribute-values.ts'

type Usage = NonNullable<SpanInput['usage']>

const COUNTS = [
  ['inputTokens', namesOf(dialect => dialect.inputTokens)],
  ['outputTokens', namesOf(dialect => dialect.outputTokens)],
  ['totalTokens', namesOf(dialect => dialect.totalTokens)]
] as const
const USAGE_DETAILS = namesOf(dialect => dialect.usageDetails)
const COST_DETAILS = namesOf(dialect => dialect.costDetails)
const COSTS = namesOf(dialect => dialect.cost)
const COST_PARTS = dialects.flatMap(({ costParts }) => (costParts === undefined ? [] : [costParts]))

export function readUsage(fields: Fields): Usage | undefined {
  const details = readDetails(fields, USAGE_DETAILS)
  const usage: { -readonly [field in keyof Usage]: Usage[field] } = {}
  const counts = details && readUsageCounts(details, countOf)
  for (const [field, names] of COUNTS) {
    const count = counts?.[field] ?? takeFirst(fields, names, countOf)
    if (count !== undefined) usage[field] = count
  }
  return Object.keys(usage).length === 0 ? undefined : usage
}

/** Returns the cost in US dollars. */
export function readCost(fields: Fields): number | undefined {
  const details = readDetails(fields, COST_DETAILS)
  const whole = costOf(details?.total) ?? costOf(details?.total_cost) ?? takeFirst(fields, COSTS, costOf)
  if (whole !== undefined) return whole
  if (details !== undefined) return sumOf(Object.values(details))
  for (const parts of COST_PARTS) {
    const sum = sumOf(parts.map(name => fields.get(name)))
    if (sum !== undefined) return sum
  }
  return undefined
}

/**
 * Reads an attribute that holds counts or costs. The attribute is kept, because spoor may lack fields for some values.
 */
function readDetails(fields: Fields, names: readonly string[]): Details | undefined {
  const found = fields.find(names)
  const details = found && readForm(found.value, 'json')
  const isObject = typeof details === 'object' && details !== null && !Array.isArray(details)
  return isObject ? (details as Details) : undefined
}

function takeFirst(
  fields: Fields,
  names: readonly string[],
  read: (value: Json) => number | undefined
): number | undefined {
  for (const name of names) {
    const number = fields.has(name) ? read(fields.get(name)) : undefined
    if (number === undefined) continue
    fields.take(name)
    return number
  }
  return undefined
}

function sumOf(values: readonly Json[]): number | undefined {
  const costs = values.map(costOf).filter(cost => cost !== undefined)
  return costs.length === 0 ? undefined : costs.reduce((sum, cost) => sum + cost, 0)
}

/** Some senders encode numbers as strings. */
function numberOf(value: Json): number {
  const plain = plainNumber(value)
  if (typeof plain === 'number') return plain
  return typeof plain === 'string' && plain.trim() !== '' ? Number(plain) : Number.NaN
}

function countOf(value: Json): number | undefined {
  const count = numberOf(value)
  return Number.isSafeInteger(count) && count >= 0 ? count : undefined
}

function costOf(value: Json): number | undefined {
  const cost = numberOf(value)
  return Number.isFinite(cost) && cost >= 0 ? cost : undefined
}
