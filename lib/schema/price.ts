/** Prices that operators set for models, in US dollars per million tokens. */
import Type from 'typebox'
import { MAX_TEXT } from './input.ts'

/** The name of a model, as spans have it. */
export const PricedModel = { minLength: 1, maxLength: MAX_TEXT } as const
/** No model costs as much: a larger number is a mistake, such as a price per token times the wrong power of ten. */
export const MAX_PRICE = 1_000_000
export const Price = Type.Number({ minimum: 0, maximum: MAX_PRICE })
