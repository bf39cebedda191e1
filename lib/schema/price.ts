/** Prices that operators set for models, in US dollars per million tokens. No schemas, because commands load this. */

/** The name of a model, as spans have it. */
export const PricedModel = { minLength: 1, maxLength: 200 } as const
/** No model costs more. A larger number is a mistake, such as a price in cents. */
export const PriceRange = { minimum: 0, maximum: 1_000_000 } as const
