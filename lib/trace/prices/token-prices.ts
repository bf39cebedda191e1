/** Computes a call's cost from its tokens and the prices of its model. */

/**
 * A price in US dollars per million tokens. A tier applies to all of a call's tokens if its input exceeds `start`
 * tokens.
 */
export type Rate = number | Tiers
interface Tiers {
  readonly base: number
  readonly tiers: readonly { readonly start: number; readonly price: number }[]
}

/**
 * A model's prices. If a part of the tokens, such as cached input, has no price, that part costs the same per token as
 * the whole it belongs to.
 */
export interface TokenPrices {
  readonly input: Rate
  readonly output?: Rate | undefined
  readonly cacheRead?: Rate | undefined
  readonly cacheWrite?: Rate | undefined
  readonly reasoning?: Rate | undefined
  /** Price in US dollars per call. */
  readonly call?: number | undefined
}

/** A call's tokens. Input includes tokens read from and written to the cache; output includes reasoning tokens. */
export interface CallTokens {
  readonly input: number
  readonly output: number
  readonly cacheRead: number
  readonly cacheWrite: number
  readonly reasoning: number
}

/** Number of significant digits in a cost. More digits would expose binary rounding errors. */
const DIGITS = 12

export function priceTokens(prices: TokenPrices, tokens: CallTokens): number {
  const { output, cacheRead, cacheWrite } = tokens
  // If the cached tokens exceed the input, the input count excludes cached tokens.
  const input = Math.max(tokens.input, cacheRead + cacheWrite)
  const reasoning = Math.min(tokens.reasoning, output)
  const sum = (rate: Rate | undefined, count: number) => (count === 0 ? 0 : priceAt(rate ?? 0, input) * count)
  const perMillion =
    sum(prices.input, input - cacheRead - cacheWrite) +
    sum(prices.cacheRead ?? prices.input, cacheRead) +
    sum(prices.cacheWrite ?? prices.input, cacheWrite) +
    sum(prices.output, output - reasoning) +
    sum(prices.reasoning ?? prices.output, reasoning)
  return Number((perMillion / 1e6 + (prices.call ?? 0)).toPrecision(DIGITS))
}

function priceAt(rate: Rate, input: number): number {
  if (typeof rate === 'number') return rate
  return rate.tiers.reduce((price, tier) => (input > tier.start ? tier.price : price), rate.base)
}
