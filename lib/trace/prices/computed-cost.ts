/**
 * Computes the cost of a model call that reports no cost. The computed cost is not part of the span's hash, so that a
 * resent span is still a duplicate after prices change.
 */
import type { CallDetails, ComputedCost } from '../call-details.ts'
import type { PreparedSpan } from '../prepared.ts'
import { isCall } from '../span-usage.ts'
import { BUNDLED_PRICES, findBundled, pricesAt } from './bundled.ts'
import { findOwn, type OwnPrice } from './own.ts'
import { type CallTokens, priceTokens } from './token-prices.ts'

/** The span fields from which a cost is computed. */
export type PricedCall = Pick<
  PreparedSpan,
  'kind' | 'provider' | 'model' | 'startedAt' | 'inputTokens' | 'outputTokens' | 'totalTokens'
>

/** A cost in US dollars, and how that cost was computed. */
export interface Priced {
  readonly costUsd: number
  readonly computedCost: ComputedCost
}

/** The sources of a call's prices. */
export interface PriceSources {
  readonly own: readonly OwnPrice[]
  /**
   * Whether the bundled prices may be loaded on this thread. If not, looking up a model that this thread has not seen
   * throws PricesElsewhere.
   */
  readonly mayLoad: boolean
}

/** Returns a call's cost; null if the call's model has no price; undefined if the span is not a call with a cost. */
export function priceCall(
  call: PricedCall,
  details: CallDetails | null,
  { own, mayLoad }: PriceSources
): Priced | null | undefined {
  const { provider, model, startedAt } = call
  if (model === null || !isCall(call)) return undefined
  const tokens = tokensOf(call, details)
  if (tokens === undefined) return undefined
  const price = findOwn(own, model, startedAt)
  if (price !== undefined) return { costUsd: priceTokens(price, tokens), computedCost: { model, prices: 'own' } }
  const bundled = findBundled(provider, model, mayLoad)
  if (bundled === null) return null
  const costUsd = priceTokens(pricesAt(bundled, startedAt), tokens)
  return { costUsd, computedCost: { model: bundled.id, prices: BUNDLED_PRICES.date } }
}

/**
 * Returns a call's tokens, or undefined if the call states neither an input nor an output count. An embedding's total
 * is enough.
 */
function tokensOf(call: PricedCall, details: CallDetails | null): CallTokens | undefined {
  const { kind, inputTokens, outputTokens, totalTokens } = call
  const { cacheReadTokens = 0, cacheWriteTokens = 0, reasoningTokens = 0 } = details ?? {}
  const parts = { cacheRead: cacheReadTokens, cacheWrite: cacheWriteTokens, reasoning: reasoningTokens }
  if (inputTokens === null && outputTokens === null) {
    // All of an embedding's tokens are input tokens.
    return kind === 'embedding' && totalTokens !== null ? { input: totalTokens, output: 0, ...parts } : undefined
  }
  const restOf = (part: number | null) => Math.max(0, (totalTokens ?? 0) - (part ?? 0))
  return { input: inputTokens ?? restOf(outputTokens), output: outputTokens ?? restOf(inputTokens), ...parts }
}
