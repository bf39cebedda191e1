/**
 * Reads the token counts of a call from an object in a single attribute. Senders use different names for the input and
 * output totals, and may also list parts, such as cached or reasoning tokens.
 */
import type { Json } from '../trace/json/exact-json.ts'
import { addCounts, type ReportedCounts, wholesOf } from './token-counts.ts'

export type Details = Readonly<Record<string, Json>>
type CountOf = (value: Json) => number | undefined

/** Names of the input and output totals, in addition to Langfuse's `input` and `output`. */
const INPUTS = ['prompt_tokens', 'input_tokens']
const OUTPUTS = ['completion_tokens', 'output_tokens']
/** Anthropic's names. Its `input_tokens` excludes these counts. */
const CACHED = ['cache_creation_input_tokens', 'cache_read_input_tokens']
/** Google's and OpenAI's names for output tokens that are not part of the response. */
const REASONING = ['thoughts', 'thoughts_token_count', 'reasoning', 'reasoning_tokens']

/** Names of the parts that spoor stores separately. A dot separates a nested object's name from its member's name. */
const CACHE_READS = [
  'cache_read_input_tokens',
  'input_cache_read',
  'input_cached_tokens',
  'input_cache_read_input_tokens',
  'cached_input_tokens',
  'prompt_tokens_details.cached_tokens',
  'input_tokens_details.cached_tokens'
]
const CACHE_WRITES = [
  'cache_creation_input_tokens',
  'input_cache_creation',
  'input_cache_write',
  'input_cache_creation_input_tokens',
  'cache_write_input_tokens'
]
const REASONING_PARTS = [
  'output_reasoning_tokens',
  'output_reasoning',
  'reasoning_output_tokens',
  'completion_tokens_details.reasoning_tokens',
  'output_tokens_details.reasoning_tokens',
  ...REASONING
]

/** Returns the counts in `details`. `countOf` returns undefined for a value that is not a count. */
export function readUsageCounts(details: Details, countOf: CountOf): ReportedCounts {
  const first = (names: readonly string[]) => firstCount(details, names, countOf)
  const sum = (names: readonly string[]) => addCounts(...names.map(name => countOf(details[name]) ?? 0))
  const totalTokens = first(['total', 'total_tokens'])
  const inputTokens = first(['input', ...INPUTS])
  const outputTokens = first(['output', ...OUTPUTS])
  const inputParts = sum([...partsOf(details, 'input', INPUTS), ...CACHED])
  const outputParts = sum(reasoningWith(partsOf(details, 'output', OUTPUTS), details))
  const isNet = totalTokens === undefined && inputTokens !== undefined && isAnthropic(details)
  const wholes = isNet
    ? wholesOf({ inputTokens: addCounts(inputTokens, inputParts), outputTokens, totalTokens }, 0, outputParts)
    : wholesOf(
        {
          inputTokens: inputTokens ?? partsAlone(inputParts, totalTokens),
          outputTokens: outputTokens ?? partsAlone(outputParts, totalTokens),
          totalTokens
        },
        inputParts,
        outputParts
      )
  const cacheReadTokens = first(CACHE_READS)
  return { ...wholes, cacheReadTokens, cacheWriteTokens: first(CACHE_WRITES), reasoningTokens: first(REASONING_PARTS) }
}

/** Whether these are the counts of Anthropic's API, whose `input_tokens` excludes cached tokens. */
const isAnthropic = (details: Details): boolean =>
  Object.hasOwn(details, 'input_tokens') && !Object.hasOwn(details, 'input') && !Object.hasOwn(details, 'prompt_tokens')

/** Returns 0 for a whole if only its parts are known and no total is reported; otherwise undefined. */
const partsAlone = (parts: number, total: number | undefined): number | undefined =>
  parts > 0 && total === undefined ? 0 : undefined

function firstCount(details: Details, names: readonly string[], countOf: CountOf): number | undefined {
  for (const name of names) {
    const count = countOf(details[name] ?? nested(details, name))
    if (count !== undefined) return count
  }
  return undefined
}

/** Returns a nested object's member. `name` contains a dot. */
function nested(details: Details, name: string): Json {
  const dot = name.indexOf('.')
  if (dot < 0) return undefined
  const inner = details[name.slice(0, dot)]
  return typeof inner === 'object' && inner !== null ? (inner as Details)[name.slice(dot + 1)] : undefined
}

/**
 * Returns the keys of the parts. Only the parts of Langfuse's `input` and `output` have prefixed keys. With other names
 * for the totals, the parts are in a nested object.
 */
function partsOf(details: Details, whole: 'input' | 'output', wholes: readonly string[]): readonly string[] {
  if (!Object.hasOwn(details, whole) && wholes.some(name => Object.hasOwn(details, name))) return []
  return Object.keys(details).filter(key => key.startsWith(`${whole}_`) && !wholes.includes(key))
}

/** Adds a reasoning count with an unprefixed name to the output's parts, unless the parts already include reasoning. */
function reasoningWith(parts: readonly string[], details: Details): readonly string[] {
  const others = REASONING.filter(name => Object.hasOwn(details, name))
  return parts.some(key => key.startsWith('output_reasoning')) ? parts : [...parts, ...others.slice(0, 1)]
}
