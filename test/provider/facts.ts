/** The fake provider's responses, which tests compare with the traces in spoor. */

/** The text of each response that calls no tool. Streams send it in the pieces that `piecesOf` returns. */
export const ANSWER = 'It is sunny in Graz.'

/**
 * The usage of each chat response, whatever its content. `input` includes `cached`, and `output` includes `reasoning`.
 */
export const CHAT_USAGE = { input: 100, cached: 20, output: 20, reasoning: 5, total: 120 }

export const EMBEDDING = [0.25, -0.5, 0.75]
export const EMBEDDING_TOKENS = 8

/** Model names for which the provider's response names a specific version, as OpenAI's and Anthropic's responses do. */
const VERSIONS: Readonly<Record<string, string>> = {
  'gpt-4o-mini': 'gpt-4o-mini-2024-07-18',
  'gpt-4o': 'gpt-4o-2024-08-06',
  'claude-sonnet-4-5': 'claude-sonnet-4-5-20250929'
}

export const answeringModel = (asked: string): string => VERSIONS[asked] ?? asked

/** Splits a string into at most three pieces. */
export function piecesOf(text: string): string[] {
  const size = Math.ceil(text.length / 3)
  return [text.slice(0, size), text.slice(size, 2 * size), text.slice(2 * size)].filter(piece => piece !== '')
}
