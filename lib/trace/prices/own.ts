/** Prices that operators set, for all projects or for one. They win over the bundled prices. */
import { isBefore } from '../timestamp.ts'
import type { TokenPrices } from './token-prices.ts'

/** US dollars per million tokens of the model that spans name `model`. */
export interface OwnPrice extends Pick<TokenPrices, 'input' | 'output' | 'cacheRead' | 'cacheWrite'> {
  readonly model: string
  /** The time from which the price applies; null for ever. */
  readonly from: string | null
  /** Whether the price is the project's own, which wins over that of all projects. */
  readonly isOfProject: boolean
}

/** Finds the price that applies to a model at a canonical time: the project's before others, then the newest. */
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
