/** Expectations that all rows share. */
import { ANSWER } from '../../provider/facts.ts'
import { QUESTION } from '../../senders/talk.ts'
import type { Expected, Row } from '../row.ts'

/**
 * The cost in USD of two calls of gpt-4o-mini at its listed prices, with a fifth of the input at the price of cached
 * tokens. Some libraries state this cost; if a library does not, spoor computes the cost from the tokens.
 */
export const LISTED_COST = 5.1e-5

/** The cost of the same calls if the library does not say how many tokens were cached. */
export const COST_WITHOUT_CACHE = 5.4e-5

export const expected = (tree: string[], failing: string[], more: Partial<Expected> = {}): Expected => ({
  tree,
  failing,
  input: QUESTION,
  output: ANSWER,
  error: 'Rate limit reached',
  model: 'gpt-4o-mini-2024-07-18',
  provider: 'openai',
  calls: 2,
  costUsd: LISTED_COST,
  sessionId: 's-1',
  userId: 'u-1',
  tags: ['one', 'two'],
  ...more
})

/** Returns a row whose environment has the row's name, unless another environment is given. */
export const library = (row: Omit<Row, 'environment'> & { readonly environment?: string }): Row => ({
  environment: row.name,
  ...row
})
