/**
 * Finds a model's prices in the list of `@pydantic/genai-prices`, which the package contains: nothing is fetched.
 *
 * The package takes much longer than other code to load, so it is loaded for the first model that needs it, and never
 * on the thread that serves requests. That thread knows the models that other threads have found. The package computes
 * costs too, but slowly (lib/DECISIONS.md), so only its list and its rules for names are used.
 */
import { createRequire } from 'node:module'
import type { ModelInfo, ModelPrice } from '@pydantic/genai-prices'
import type { Rate, TokenPrices } from './token-prices.ts'

/** The day on which the package was published. A test compares the version with the one installed. */
export const BUNDLED_PRICES = { version: '0.1.8', date: '2026-09-23' } as const

/** A model of the list. The last prices whose condition holds apply; if none does, the first. */
export interface BundledModel {
  /** Provider and model in the list, such as `openai/gpt-4o`. */
  readonly id: string
  readonly prices: readonly BundledPrices[]
}

interface BundledPrices {
  /** A day, such as `2026-08-21`. */
  readonly from?: string
  /** Times of day, such as `16:30:00`. The period may span midnight. */
  readonly daily?: { readonly from: string; readonly to: string }
  readonly rates: TokenPrices
}

/** A model that a thread has looked up; null if the list does not have it. */
export type KnownModel = readonly [key: string, model: BundledModel | null]

/** Thrown where the package must not be loaded. */
export class PricesElsewhere extends Error {}

/** Bound of the models that a thread remembers, because senders choose the names. */
const MOST_KNOWN = 5000
const known = new Map<string, BundledModel | null>()
let found: KnownModel[] = []

/** Finds a model as the span names it; null if the list does not have it. Throws PricesElsewhere unless `mayLoad`. */
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

/** Returns the prices that apply at a canonical time. */
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

/** Names of providers that the list has under another name. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  'azure.ai.inference': 'azure',
  'az.ai.inference': 'azure',
  'fireworks-ai': 'fireworks',
  'gcp.gen_ai': 'google',
  x_ai: 'x-ai',
  xai: 'x-ai'
}
/** Frameworks and agents that some libraries send as the provider. They say nothing about who runs the model. */
const FRAMEWORKS = new Set([
  ...['_other', 'langchain', 'langgraph', 'llamaindex', 'llama_index', 'haystack', 'crewai', 'dspy', 'autogen'],
  ...['pydantic_ai', 'vercel', 'smolagents', 'claude_code', 'codex', 'gemini-cli', 'gemini_cli']
])

type Package = typeof import('@pydantic/genai-prices')
const load = createRequire(import.meta.url)
let library: Package | undefined

/**
 * Looks up a model. A provider that the list does not know has no prices there, even for a model whose name it knows,
 * because it may be the user's own machine.
 */
function lookUp(provider: string | null, model: string): BundledModel | null {
  library ??= load('@pydantic/genai-prices') as Package
  const { findProvider } = library
  const name = provider?.trim().toLowerCase() ?? ''
  if (name === '' || FRAMEWORKS.has(name)) return match(library, model)
  // The Vercel AI SDK adds the kind of the API, such as `xai.chat`.
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
    // An entry that the package itself refuses is none. An export must not fail for it.
    return null
  }
}

/** Returns undefined if some price of the model is not by tokens, such as that of an hour of sound. */
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

/** Copies the fields of a price with tiers, because an instance of a class does not cross threads. */
function plain(rate: ModelPrice[string]): Rate | undefined {
  if (rate === undefined || typeof rate === 'number') return rate
  const tiers = rate.tiers.map(({ start, price }) => ({ start, price }))
  return { base: rate.base, tiers: tiers.sort((a, b) => a.start - b.start) }
}
