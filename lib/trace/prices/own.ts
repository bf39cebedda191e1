/**
 * Prices that operators set, for one project or for all projects. Operators' prices take precedence over bundled
 * prices.
 */
import { isBefore } from '../timestamp.ts'
import type { TokenPrices } from './token-prices.ts'

/** Prices in US dollars per million tokens. `model` is the model's name in spans. */
export interface OwnPrice extends Pick<TokenPrices, 'input' | 'output' | 'cacheRead' | 'cacheWrite'> {
  readonly model: string
  /** Time from which the price applies; null if the price applies at any time. */
  readonly from: string | null
  /** Whether the price is set for the project itself, which takes precedence over a price for all projects. */
  readonly isOfProject: boolean
}

/**
 * Finds the price that applies to a model at a time, given in canonical form. The project's own prices take precedence,
 * then newer prices.
 */
export function findOwn(prices: readonly OwnPrice[], model: string, time: string): OwnPrice | undefined {
  let best: OwnPrice | undefined
  for (const price of prices) {
    if (price.model !== model || (price.from !== null && isBefore(time, price.from))) continue
    if (best === undefined || beats(price, best)) best = price
  }
  return best
}

function beats(price: OwnPrice, other: OwnPrice): boolean {
  if (price.isOfProject !== other.isOfProject) return price.isOfProject
  return price.from !== null && (other.from === null || isBefore(other.from, price.from))
}
