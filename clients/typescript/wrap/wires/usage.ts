/** Reads the counts of tokens and the cost that a provider reports. An absent count is never recorded as zero. */
import type { RecordedUsage } from '../../record/fields.ts'
import { isRecord } from './merge.ts'

export interface ReadUsage {
  readonly usage: RecordedUsage
  readonly costUsd: number | undefined
  /** Parts of the counts, under the names that Anthropic and OpenTelemetry use. */
  readonly attributes: Readonly<Record<string, number>>
}

/** Returns a non-negative integer, which some servers send as text; undefined for anything else. */
export function tokenCount(value: unknown): number | undefined {
  const count = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value
  return Number.isSafeInteger(count) && (count as number) >= 0 ? (count as number) : undefined
}

/** Returns the first value that is a count. */
export const firstCount = (...values: readonly unknown[]): number | undefined =>
  values.map(tokenCount).find(count => count !== undefined)

/** Returns the members that are not undefined. */
export function defined<V>(members: Readonly<Record<string, V | undefined>>): Record<string, V> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Record<string, V>
}

/** Reads usage in the form of OpenAI's APIs, with the additions of OpenRouter, LiteLLM and DeepSeek. */
export function readOpenAIUsage(given: unknown): ReadUsage {
  const usage = isRecord(given) ? given : {}
  const input = usage.prompt_tokens_details ?? usage.input_tokens_details
  const output = usage.completion_tokens_details ?? usage.output_tokens_details
  return {
    usage: defined({
      inputTokens: firstCount(usage.prompt_tokens, usage.input_tokens),
      outputTokens: firstCount(usage.completion_tokens, usage.output_tokens),
      totalTokens: tokenCount(usage.total_tokens)
    }),
    costUsd: typeof usage.cost === 'number' ? usage.cost : undefined,
    attributes: defined({
      cache_read_input_tokens: firstCount(input?.cached_tokens, usage.prompt_cache_hit_tokens),
      reasoning_tokens: tokenCount(output?.reasoning_tokens)
    })
  }
}

/** Returns the newer of two usages of a stream. Some servers end a stream with zeros after real counts. */
export function newerUsage(before: unknown, after: unknown): unknown {
  if (!isRecord(after)) return before
  return isRecord(before) && !Object.values(after).some(value => Number(value) > 0) ? before : after
}
