/**
 * Reads an object of token counts, as senders write the usage of a call in one attribute. The keys of a whole differ.
 * Beside it there may be parts, such as cached or reasoning tokens.
 */
import type { Json } from '../trace/json/exact-json.ts'

export type Details = Readonly<Record<string, Json>>
export interface Counts {
  readonly inputTokens: number | undefined
  readonly outputTokens: number | undefined
  readonly totalTokens: number | undefined
}

/** The names of wholes besides `input` and `output`, which are Langfuse's. */
const INPUTS = ['prompt_tokens', 'input_tokens']
const OUTPUTS = ['completion_tokens', 'output_tokens']
/** Anthropic does not count these among its `input_tokens`. */
const CACHED = ['cache_creation_input_tokens', 'cache_read_input_tokens']

/**
 * The counts that `details` state; `countOf` reads one, and returns undefined for a value that is no count. Parts are
 * added to their whole, since senders take them out of it. They are not added if the total is the sum of the wholes
 * alone.
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

/** The keys of parts, which are named after Langfuse's whole. A whole of another name has its parts in an object. */
function partsOf(details: Details, whole: 'input' | 'output', wholes: readonly string[]): readonly string[] {
  if (!Object.hasOwn(details, whole) && wholes.some(name => Object.hasOwn(details, name))) return []
  return Object.keys(details).filter(key => key.startsWith(`${whole}_`) && !wholes.includes(key))
}
