/**
 * Prices that operators set for models, in US dollars per million tokens. This module imports no schema library,
 * because commands load the module.
 */

/** A model's name, as it appears in spans. */
export const PricedModel = { minLength: 1, maxLength: 200 } as const
/** Maximum price. No model costs more, so a larger number must be a mistake, such as a price in cents. */
export const PriceRange = { minimum: 0, maximum: 1_000_000 } as const
