/** Imitates OpenAI's embeddings, with the same vector for each text and the same token counts for each request. */
import { EMBEDDING, EMBEDDING_TOKENS } from './facts.ts'
import type { Body, Reply } from './reply.ts'

export function embeddings({ model, input, encoding_format }: Body): Reply {
  // The input is one text, one text as token numbers, or a list of either.
  const isList = Array.isArray(input) && typeof input[0] !== 'number'
  const count = isList ? input.length : 1
  const embedding = encoding_format === 'base64' ? base64(EMBEDDING) : EMBEDDING
  const data = Array.from({ length: count }, (_, index) => ({ object: 'embedding', index, embedding }))
  const usage = { prompt_tokens: EMBEDDING_TOKENS, total_tokens: EMBEDDING_TOKENS }
  return { json: { object: 'list', data, model, usage } }
}

const base64 = (numbers: readonly number[]) => Buffer.from(new Float32Array(numbers).buffer).toString('base64')
