/**
 * Reads an observation's usage and cost. Langfuse now writes `usageDetails` and `costDetails`, and formerly wrote
 * `usage` and separate fields. Langfuse still fills the old fields, with zeros for unknown values.
 */
import { isJsonObject } from '../../trace/json/exact-json.ts'
import { type LangfuseFields, type LangfuseObject, readNumber } from './fields.ts'

export interface LangfuseUsage {
  inputTokens?: number
  outputTokens?: number
  totalTokens?: number
}

const TOKENS = { input: 'inputTokens', output: 'outputTokens', total: 'totalTokens' } as const
const FLAT = { promptTokens: 'inputTokens', completionTokens: 'outputTokens', totalTokens: 'totalTokens' } as const

/** Returns an observation's token counts; undefined if none are known. Other units and kinds of tokens stay unread. */
export function readLangfuseUsage(fields: LangfuseFields): LangfuseUsage | undefined {
  const details = fields.see('usageDetails')
  const older = fields.see('usage')
  const isTokens = isTokenUnit(fields.see('unit') ?? (isJsonObject(older) ? older.unit : undefined))
  const usage =
    (isJsonObject(details) ? pickCounts(details, TOKENS) : undefined) ??
    (isTokens && isJsonObject(older) ? pickKnownCounts(older, TOKENS) : undefined) ??
    (isTokens ? pickKnownCounts(flatFields(fields), FLAT) : undefined)
  if (usage !== undefined) fields.note('usage', 'usage')
  if (isJsonObject(details) && isSaid(details, TOKENS, usage)) fields.drop('usageDetails')
  for (const [name, token] of Object.entries(FLAT)) if (isKnown(fields.see(name), usage?.[token])) fields.drop(name)
  if (isTokenUnit(fields.see('unit'))) fields.drop('unit')
  return usage
}

/** Returns the cost in US dollars; undefined if unknown. Ignores the breakdown of the cost. */
export function readLangfuseCost(fields: LangfuseFields, usage: LangfuseUsage | undefined): number | undefined {
  const details = fields.see('costDetails')
  const older = fields.see('usage')
  const known = (value: unknown) => {
    const number = readNumber(value)
    return number !== undefined && number > 0 ? number : undefined
  }
  const total = isJsonObject(details) ? readNumber(details.total) : undefined
  const cost =
    (total !== undefined && total >= 0 ? total : undefined) ??
    known(fields.see('calculatedTotalCost')) ??
    (isJsonObject(older) ? known(older.totalCost) : undefined)
  if (cost !== undefined) fields.note('cost', 'costUsd')
  if (isJsonObject(details) && Object.keys(details).every(key => key === 'total')) fields.drop('costDetails')
  if (isKnown(fields.see('calculatedTotalCost'), cost)) fields.drop('calculatedTotalCost')
  for (const part of ['Input', 'Output']) {
    const detail = isJsonObject(details) ? readNumber(details[part.toLowerCase()]) : undefined
    if (isKnown(fields.see(`calculated${part}Cost`), detail)) fields.drop(`calculated${part}Cost`)
  }
  if (isJsonObject(older) && isOlderSaid(older, usage, cost)) fields.drop('usage')
  return cost
}

const isTokenUnit = (unit: unknown): boolean => unit === undefined || unit === null || unit === 'TOKENS'
/** Whether a value is redundant: either equal to `said`, or the zero that Langfuse writes for unknown values. */
const isKnown = (value: unknown, said: number | undefined): boolean => {
  const number = readNumber(value)
  return number === 0 || (number !== undefined && number === said)
}

function flatFields(fields: LangfuseFields): LangfuseObject {
  return Object.fromEntries(Object.keys(FLAT).map(name => [name, fields.see(name)]))
}

/** Returns an object's token counts; undefined if the object has no token counts. */
function pickCounts(
  object: LangfuseObject,
  names: Readonly<Record<string, keyof LangfuseUsage>>
): LangfuseUsage | undefined {
  const usage: LangfuseUsage = {}
  for (const [name, token] of Object.entries(names)) {
    const count = readNumber(object[name])
    if (count !== undefined && Number.isSafeInteger(count) && count >= 0) usage[token] = count
  }
  return Object.keys(usage).length === 0 ? undefined : usage
}

/** Returns an object's token counts; undefined if no count is above zero. */
function pickKnownCounts(
  object: LangfuseObject,
  names: Readonly<Record<string, keyof LangfuseUsage>>
): LangfuseUsage | undefined {
  const usage = pickCounts(object, names)
  return usage !== undefined && Object.values(usage).some(count => count > 0) ? usage : undefined
}

function isSaid(
  object: LangfuseObject,
  names: Readonly<Record<string, keyof LangfuseUsage>>,
  usage: LangfuseUsage | undefined
): boolean {
  return Object.entries(object).every(([name, value]) => {
    const token = Object.hasOwn(names, name) ? names[name] : undefined
    return token !== undefined && readNumber(value) === usage?.[token]
  })
}

function isOlderSaid(older: LangfuseObject, usage: LangfuseUsage | undefined, cost: number | undefined): boolean {
  const said: Readonly<Record<string, number | undefined>> = {
    input: usage?.inputTokens,
    output: usage?.outputTokens,
    total: usage?.totalTokens,
    totalCost: cost
  }
  return Object.entries(older).every(([name, value]) =>
    name === 'unit' ? isTokenUnit(value) : value === null || isKnown(value, said[name])
  )
}
