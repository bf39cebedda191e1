/**
 * Finds a model's prices in the list bundled with `@pydantic/genai-prices`; nothing is fetched.
 *
 * Loading the package is slow, so a thread loads the package only when a model first needs bundled prices. The thread
 * that serves requests never loads the package, but receives the models that other threads have found. The package can
 * also compute costs, but slowly (lib/DECISIONS.md), so only the package's list and name matching are used.
 */
import { createRequire } from 'node:module'
import type { ModelInfo, ModelPrice } from '@pydantic/genai-prices'
import type { Rate, TokenPrices } from './token-prices.ts'

/** The day on which the package was published. A test compares this version with the installed version. */
export const BUNDLED_PRICES = { version: '0.1.8', date: '2026-09-23' } as const

/** A model in the list. The last prices whose condition holds apply, or else the first prices. */
export interface BundledModel {
  /** Provider and model in the list, such as `openai/gpt-4o`. */
  readonly id: string
  readonly prices: readonly BundledPrices[]
}

interface BundledPrices {
  /** First day on which the prices apply, such as `2026-08-21`. */
  readonly from?: string
  /** Times of day between which the prices apply, such as `16:30:00`. The period may span midnight. */
  readonly daily?: { readonly from: string; readonly to: string }
  readonly rates: TokenPrices
}

/** A model that a thread has looked up; null if the list does not contain the model. */
export type KnownModel = readonly [key: string, model: BundledModel | null]

/** Thrown on threads that must not load the package. */
export class PricesElsewhere extends Error {}

/** Maximum number of models that a thread caches. The bound is needed because senders choose model names. */
const MOST_KNOWN = 5000
const known = new Map<string, BundledModel | null>()
let found: KnownModel[] = []

/**
 * Finds a model by the name that spans use; null if the list does not contain the model. Throws PricesElsewhere if the
 * thread has not seen the model and `mayLoad` is false.
 */
export function findBundled(provider: string | null, model: string, mayLoad: boolean): BundledModel | null {
  const key = `${provider ?? ''}\n${model}`
  const before = known.get(key)
  if (before !== undefined) return before
  if (!mayLoad) throw new PricesElsewhere('the prices are not loaded on this thread')
  const entry = [key, lookUp(provider, model)] as const
  found.push(entry)
  learnModels([entry])
  return entry[1]
}

export function learnModels(models: readonly KnownModel[]): void {
  if (known.size + models.length > MOST_KNOWN) known.clear()
  for (const [key, model] of models) known.set(key, model)
}

/** Returns the models that this thread has found since the last call. */
export function takeFoundModels(): readonly KnownModel[] {
  const taken = found
  found = []
  return taken
}

/** Returns the prices that apply at a time, given in canonical form. */
export function pricesAt({ prices }: BundledModel, time: string): TokenPrices {
  const first = prices[0] as BundledPrices
  if (prices.length === 1) return first.rates
  const [day, clock] = [time.slice(0, 10), time.slice(11, 19)]
  const applies = ({ from, daily }: BundledPrices) => {
    if (from !== undefined) return day >= from
    if (daily === undefined) return true
    const [isAfter, isBefore] = [clock >= daily.from, clock < daily.to]
    return daily.to < daily.from ? isAfter || isBefore : isAfter && isBefore
  }
  return (prices.findLast(applies) ?? first).rates
}

/** Maps providers' names to the names that the list uses. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  'azure.ai.inference': 'azure',
  'az.ai.inference': 'azure',
  'fireworks-ai': 'fireworks',
  'gcp.gen_ai': 'google',
  x_ai: 'x-ai',
  xai: 'x-ai'
}
/**
 * Frameworks and agents that some libraries send as the provider. These names do not identify the provider that runs
 * the model.
 */
const FRAMEWORKS = new Set([
  ...['_other', 'langchain', 'langgraph', 'llamaindex', 'llama_index', 'haystack', 'crewai', 'dspy', 'autogen'],
  ...['pydantic_ai', 'vercel', 'smolagents', 'claude_code', 'codex', 'gemini-cli', 'gemini_cli']
])

type Package = typeof import('@pydantic/genai-prices')
const load = createRequire(import.meta.url)
let library: Package | undefined

/**
 * Looks up a model. For a provider that the list does not contain, no prices apply, even if the list contains the
 * model. Such a provider may be the user's own machine.
 */
function lookUp(provider: string | null, model: string): BundledModel | null {
  library ??= load('@pydantic/genai-prices') as Package
  const { findProvider } = library
  const name = provider?.trim().toLowerCase() ?? ''
  if (name === '' || FRAMEWORKS.has(name)) return match(library, model)
  // The Vercel AI SDK appends the kind of API to the provider's name, as in `xai.chat`.
  const [first = ''] = name.split('.')
  const names = [OTHER_NAMES[name] ?? name, OTHER_NAMES[first] ?? first]
  const providerId = name === 'litellm' ? name : names.find(each => findProvider({ providerId: each }) !== undefined)
  return providerId === undefined ? null : match(library, model, providerId)
}

function match({ calcPrice }: Package, name: string, providerId?: string): BundledModel | null {
  try {
    const found = calcPrice({}, name, providerId === undefined ? {} : { providerId })
    if (found === null) return null
    const { provider, model } = found
    const prices = readPrices(model)
    return prices === undefined ? null : { id: `${provider.id}/${model.id}`, prices }
  } catch {
    // If the package throws for an entry of its list, the model counts as not listed. The export must not fail.
    return null
  }
}

/** Returns a model's prices; undefined if any price is not per token, such as a price per hour of audio. */
function readPrices({ prices }: ModelInfo): readonly BundledPrices[] | undefined {
  const all = Array.isArray(prices) ? prices : [{ prices }]
  const read = all.map(({ constraint, prices }): BundledPrices | undefined => {
    const rates = ratesOf(prices)
    if (rates === undefined) return undefined
    if (constraint === undefined) return { rates }
    if (constraint.type === 'start_date') return { rates, from: constraint.start_date }
    const { start_time, end_time } = constraint
    return { rates, daily: { from: start_time.slice(0, 8), to: end_time.slice(0, 8) } }
  })
  return read.every(each => each !== undefined) ? read : undefined
}

function ratesOf(prices: ModelPrice): TokenPrices | undefined {
  const input = plain(prices.input_mtok)
  if (input === undefined) return undefined
  const calls = prices.requests_kcount
  return {
    input,
    output: plain(prices.output_mtok),
    cacheRead: plain(prices.cache_read_mtok),
    cacheWrite: plain(prices.cache_write_mtok),
    reasoning: plain(prices.output_reasoning_mtok),
    call: typeof calls === 'number' ? calls / 1000 : undefined
  }
}

/** Copies the fields of a tiered price, because a class instance cannot be sent to another thread. */
function plain(rate: ModelPrice[string]): Rate | undefined {
  if (rate === undefined || typeof rate === 'number') return rate
  const tiers = rate.tiers.map(({ start, price }) => ({ start, price }))
  return { base: rate.base, tiers: tiers.sort((a, b) => a.start - b.start) }
}
