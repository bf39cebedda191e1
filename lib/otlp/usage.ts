/** Reads a span's token counts and cost. An invalid count or cost stays an attribute. */
import type { SpanInput } from '../schema/input.ts'
import type { CallDetails } from '../trace/call-details.ts'
import { isJsonObject, type Json, plainNumber } from '../trace/json/exact-json.ts'
import { sumKnown } from '../trace/span-sums.ts'
import type { NetCounts } from './dialect.ts'
import { dialects, namesOf } from './dialects.ts'
import { type Fields, groupOf } from './fields.ts'
import { addCounts, type ReportedCounts, wholesOf } from './token-counts.ts'
import { type Details, readUsageCounts } from './usage-details.ts'
import { readForm } from './wire/attribute-values.ts'

type Usage = NonNullable<SpanInput['usage']>

/** A span's token counts: the counts that have fields of their own, and the parts that are stored in call details. */
export interface SpanTokens {
  readonly usage: Usage | undefined
  readonly parts: Pick<CallDetails, 'cacheReadTokens' | 'cacheWriteTokens' | 'reasoningTokens'>
}

const WHOLES = [
  ['inputTokens', namesOf(dialect => dialect.inputTokens)],
  ['outputTokens', namesOf(dialect => dialect.outputTokens)],
  ['totalTokens', namesOf(dialect => dialect.totalTokens)]
] as const
const PARTS = [
  ['cacheReadTokens', namesOf(dialect => dialect.cacheReadTokens)],
  ['cacheWriteTokens', namesOf(dialect => dialect.cacheWriteTokens)],
  ['reasoningTokens', namesOf(dialect => dialect.reasoningTokens)]
] as const
const USAGE_DETAILS = namesOf(dialect => dialect.usageDetails)
const COST_DETAILS = namesOf(dialect => dialect.costDetails)
const COSTS = namesOf(dialect => dialect.cost)
const COST_PARTS = dialects.flatMap(({ costParts }) => (costParts === undefined ? [] : [costParts]))
const NET_COUNTS = dialects.flatMap(({ netCounts }) => (netCounts === undefined ? [] : [netCounts]))
const TOKENS = groupOf([
  ...USAGE_DETAILS,
  ...WHOLES.flatMap(([, names]) => names),
  ...NET_COUNTS.flatMap(({ inputTokens, outputTokens }) => [inputTokens, outputTokens])
])
const TOKEN_PARTS = groupOf(PARTS.flatMap(([, names]) => names))
const ANY_COST = groupOf([...COST_DETAILS, ...COSTS, ...COST_PARTS.flat()])
const NO_TOKENS: SpanTokens = { usage: undefined, parts: {} }

/** Reads token counts. An attribute whose value differs from the field's value stays an attribute too. */
export function readTokens(fields: Fields): SpanTokens {
  if (!fields.mentions(TOKENS)) return NO_TOKENS
  const details = readDetails(fields, USAGE_DETAILS)
  const counts: Mutable<ReportedCounts> = details === undefined ? {} : readUsageCounts(details, countOf)
  const names: [field: keyof Usage, name: string, count: number][] = []
  let states = counts.inputTokens ?? counts.outputTokens ?? counts.totalTokens
  for (const [field, list] of WHOLES) {
    const found = counts[field] === undefined ? findCount(fields, list) : undefined
    if (found === undefined) continue
    states = counts[field] = found.count
    names.push([field, found.name, found.count])
  }
  states = readNetCounts(fields, counts) ?? states
  if (states === undefined) return NO_TOKENS
  if (fields.mentions(TOKEN_PARTS)) for (const [field, list] of PARTS) counts[field] ??= findCount(fields, list)?.count
  const { cacheReadTokens, cacheWriteTokens, reasoningTokens } = counts
  const wholes = wholesOf(
    { inputTokens: counts.inputTokens, outputTokens: counts.outputTokens, totalTokens: counts.totalTokens },
    addCounts(cacheReadTokens ?? 0, cacheWriteTokens ?? 0),
    reasoningTokens ?? 0
  )
  const usage: Mutable<Usage> = {}
  for (const [field] of WHOLES) if (wholes[field] !== undefined) usage[field] = wholes[field]
  for (const [field, name, count] of names) if (usage[field] === count) fields.take(name)
  return { usage, parts: { cacheReadTokens, cacheWriteTokens, reasoningTokens } }
}

/**
 * Adds counts that exclude cached tokens to `counts`, unless other names have supplied counts. Returns any one of these
 * counts, or undefined if the span has none of them.
 */
function readNetCounts(fields: Fields, counts: Mutable<ReportedCounts>): number | undefined {
  if (counts.inputTokens !== undefined && counts.outputTokens !== undefined) return undefined
  const net = NET_COUNTS.find(({ isNet }) => isNet(fields))
  if (net === undefined) return undefined
  const read = (field: Exclude<keyof NetCounts, 'isNet'>) => countOf(fields.get(net[field]))
  const [input, cacheRead, cacheWrite] = [read('inputTokens'), read('cacheReadTokens'), read('cacheWriteTokens')]
  if (input !== undefined && counts.inputTokens === undefined) {
    counts.inputTokens = addCounts(input, cacheRead ?? 0, cacheWrite ?? 0)
    counts.cacheReadTokens = cacheRead
    counts.cacheWriteTokens = cacheWrite
  }
  counts.outputTokens ??= read('outputTokens')
  return counts.inputTokens ?? counts.outputTokens
}

type Mutable<T> = { -readonly [field in keyof T]: T[field] }

function findCount(fields: Fields, names: readonly string[]): { name: string; count: number } | undefined {
  for (const name of names) {
    const count = fields.has(name) ? countOf(fields.get(name)) : undefined
    if (count !== undefined) return { name, count }
  }
  return undefined
}

/** Returns the cost in US dollars. */
export function readCost(fields: Fields): number | undefined {
  if (!fields.mentions(ANY_COST)) return undefined
  const details = readDetails(fields, COST_DETAILS)
  const whole = costOf(details?.total) ?? costOf(details?.total_cost) ?? takeCost(fields)
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
  return isJsonObject(details) ? details : undefined
}

function takeCost(fields: Fields): number | undefined {
  for (const name of COSTS) {
    const cost = fields.has(name) ? costOf(fields.get(name)) : undefined
    if (cost === undefined) continue
    fields.take(name)
    return cost
  }
  return undefined
}

const sumOf = (values: readonly Json[]): number | undefined => sumKnown(values.map(costOf)) ?? undefined

/** Returns a number, which some senders encode as a string; NaN for other values. */
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
