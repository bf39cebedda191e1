/** Reads facts about a model call from its attributes. */
import { type JsonNode, membersOf, readString, sourceOf } from '../content/json-text.ts'

/** Names of the time to the first token, with the number of ms per unit. */
const FIRST_TOKEN: Readonly<Record<string, number>> = {
  'gen_ai.server.time_to_first_token': 1000,
  'gen_ai.client.time_to_first_token': 1000,
  'gen_ai.response.time_to_first_token': 1000,
  'gen_ai.response.time_to_first_chunk': 1000,
  'gen_ai.usage.time_to_first_token': 1000,
  'llm.time_to_first_token': 1000,
  time_to_first_token: 1000,
  'ai.response.msToFirstChunk': 1,
  'ai.stream.msToFirstChunk': 1,
  time_to_first_token_ms: 1,
  ttft_ms: 1
}

/** Returns the time to the first token in ms; undefined if the attributes do not state it. */
export function firstTokenMs(text: string, attributes: JsonNode | undefined): number | undefined {
  if (attributes?.kind !== 'object') return undefined
  for (const { key, node } of membersOf(text, attributes)) {
    const name = readString(text, key!)
    const unit = Object.hasOwn(FIRST_TOKEN, name) ? FIRST_TOKEN[name]! : undefined
    const value = unit === undefined || node.kind !== 'number' ? Number.NaN : Number(sourceOf(text, node))
    if (Number.isFinite(value) && value >= 0) return value * unit!
  }
  return undefined
}

interface TokenDetails {
  readonly cacheRead: number | null
  readonly cacheWrite: number | null
  readonly reasoning: number | null
}

/** Returns the parts of a call's input and output tokens, such as `800 cached`, for a note after the counts. */
export function tokenParts(details: TokenDetails | null, format: (count: number) => string) {
  const { cacheRead, cacheWrite, reasoning } = details ?? { cacheRead: null, cacheWrite: null, reasoning: null }
  const parts = [
    ...(cacheRead ? [`${format(cacheRead)} from cache`] : []),
    ...(cacheWrite ? [`${format(cacheWrite)} to cache`] : [])
  ]
  return { input: parts.join(', '), output: reasoning ? `${format(reasoning)} reasoning` : '' }
}
