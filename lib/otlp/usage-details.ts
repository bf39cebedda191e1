/**
 * Reads the token counts of a call from an object in a single attribute. Senders name the input and output totals
 * differently, and may list parts, such as cached or reasoning tokens, beside them.
 */
import type { Json } from '../trace/json/exact-json.ts'

export type Details = Readonly<Record<string, Json>>
export interface Counts {
  readonly inputTokens: number | undefined
  readonly outputTokens: number | undefined
  readonly totalTokens: number | undefined
}

/** Names of the input and output totals, besides Langfuse's `input` and `output`. */
const INPUTS = ['prompt_tokens', 'input_tokens']
const OUTPUTS = ['completion_tokens', 'output_tokens']
/** Anthropic's `input_tokens` excludes these counts. */
const CACHED = ['cache_creation_input_tokens', 'cache_read_input_tokens']

/**
 * Returns the counts in `details`. `countOf` returns undefined for a value that is not a count. Parts are added to
 * their total because senders subtract them from it, unless `total` equals input plus output without the parts.
 */
export function readUsageCounts(details: Details, countOf: (value: Json) => number | undefined): Counts {
  const first = (names: readonly string[]) =>
    names.map(name => countOf(details[name])).find(count => count !== undefined)
  const sum = (names: readonly string[]) =>
    names.reduce((sum, name) => Math.min(sum + (countOf(details[name]) ?? 0), Number.MAX_SAFE_INTEGER), 0)

  const totalTokens = first(['total', 'total_tokens'])
  const input = first(['input', ...INPUTS])
  const output = first(['output', ...OUTPUTS])
  const isWhole = totalTokens !== undefined && (input ?? 0) + (output ?? 0) === totalTokens
  const withParts = (whole: number | undefined, keys: readonly string[]) => {
    const parts = keys.filter(key => countOf(details[key]) !== undefined)
    return isWhole || parts.length === 0 ? whole : Math.min((whole ?? 0) + sum(parts), Number.MAX_SAFE_INTEGER)
  }
  return {
    inputTokens: withParts(input, [...partsOf(details, 'input', INPUTS), ...CACHED]),
    outputTokens: withParts(output, partsOf(details, 'output', OUTPUTS)),
    totalTokens
  }
}

/**
 * Returns the keys of the parts. Only parts of Langfuse's `input` and `output` have prefixed keys; other totals list
 * their parts in a nested object.
 */
function partsOf(details: Details, whole: 'input' | 'output', wholes: readonly string[]): readonly string[] {
  if (!Object.hasOwn(details, whole) && wholes.some(name => Object.hasOwn(details, name))) return []
  return Object.keys(details).filter(key => key.startsWith(`${whole}_`) && !wholes.includes(key))
}
