/** Expectations that all rows share. */
import { ANSWER } from '../../provider/facts.ts'
import { QUESTION } from '../../senders/talk.ts'
import type { Expected, Row } from '../row.ts'

export const expected = (tree: string[], failing: string[], more: Partial<Expected> = {}): Expected => ({
  tree,
  failing,
  input: QUESTION,
  output: ANSWER,
  error: 'Rate limit reached',
  model: 'gpt-4o-mini-2024-07-18',
  provider: 'openai',
  calls: 2,
  costUsd: null,
  sessionId: 's-1',
  userId: 'u-1',
  tags: ['one', 'two'],
  ...more
})

/** The cost of two calls in USD at LiteLLM's and pydantic-ai's prices. A fifth of the input was cached. */
export const LISTED_COST = 5.1e-5

/** Returns a row whose environment has the row's name, unless another environment is given. */
export const library = (row: Omit<Row, 'environment'> & { readonly environment?: string }): Row => ({
  environment: row.name,
  ...row
})
