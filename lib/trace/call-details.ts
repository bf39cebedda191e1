/**
 * Facts about a model call that have no field of their own. These details are stored with the span as JSON. The details
 * are not part of the span's hash, because they derive from the span's attributes and from prices.
 */
export interface CallDetails {
  /** The provider's response id, which shows that two spans report the same call. */
  readonly responseId?: string | undefined
  /** Input tokens read from the provider's cache; included in the span's input tokens. */
  readonly cacheReadTokens?: number | undefined
  /** Input tokens written to the provider's cache; included in the span's input tokens. */
  readonly cacheWriteTokens?: number | undefined
  /** Output tokens that the model used for reasoning; included in the span's output tokens. */
  readonly reasoningTokens?: number | undefined
  /** How the cost was computed. Set if the span reports no cost, and the stored cost was computed from its tokens. */
  readonly computedCost?: ComputedCost | undefined
  /** The id by which log records refer to a tool use. */
  readonly toolCallId?: string | undefined
  /** Mark of a step made from log records (lib/trace/states/steps.ts); undefined for other spans. */
  readonly step?: StepMark | undefined
}

/** How a cost was computed. */
export interface ComputedCost {
  /**
   * The model whose prices were used: the span's model name, or the model's id in the bundled list, such as
   * `openai/gpt-4o`.
   */
  readonly model: string
  /** The day of the bundled prices, or `own` for a price that an operator set. */
  readonly prices: string
}

export interface StepMark {
  /** The id that the same call's span has if the span is made from a transcript. */
  readonly call: string
  /**
   * Size and full hash of the step's document. If a span replaces the step, both are subtracted from the trace's sums.
   */
  readonly bytes: number
  readonly hash: string
}

/** Returns the details as JSON; null if there are none. */
export function callDetailsText(details: CallDetails): string | null {
  // Most spans have no details, and a loop over the members takes a fraction of the time of JSON.stringify.
  for (const name in details) if (details[name as keyof CallDetails] !== undefined) return JSON.stringify(details)
  return null
}

/** Returns the names by which log records refer to a span's calls. */
export function callsOf({ responseId, toolCallId }: CallDetails): readonly string[] {
  return [
    ...(responseId === undefined ? [] : [`request:${responseId}`]),
    ...(toolCallId === undefined ? [] : [`tool:${toolCallId}`])
  ]
}

const isId = (value: unknown): boolean => typeof value === 'string' && value.length > 0
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0
function isComputedCost(value: unknown): value is ComputedCost {
  const { model, prices, ...others } = Object(value) as Readonly<Record<string, unknown>>
  return isId(model) && isId(prices) && Object.keys(others).length === 0
}
/** Checks for each member of call details. */
const CHECKS: Readonly<Record<keyof CallDetails, (value: unknown) => boolean>> = {
  responseId: isId,
  cacheReadTokens: isCount,
  cacheWriteTokens: isCount,
  reasoningTokens: isCount,
  computedCost: isComputedCost,
  toolCallId: isId,
  step: isStepMark
}

function isStepMark(value: unknown): boolean {
  const { call, bytes, hash, ...others } = Object(value) as Record<string, unknown>
  const isHash = typeof hash === 'string' && /^[0-9a-f]{64}$/.test(hash)
  return typeof call === 'string' && isCount(bytes) && isHash && Object.keys(others).length === 0
}

/** Whether a value from an untrusted file has the form of call details. */
export function isCallDetails(value: unknown): value is CallDetails {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  return Object.entries(value).every(
    ([name, member]) => Object.hasOwn(CHECKS, name) && CHECKS[name as keyof CallDetails](member)
  )
}
