/**
 * Normalises a call's token counts: cached tokens are part of the input, reasoning tokens are part of the output, and
 * the total is input plus output. Senders differ in all three respects.
 */

export interface ReportedCounts {
  readonly inputTokens?: number | undefined
  readonly outputTokens?: number | undefined
  readonly totalTokens?: number | undefined
  readonly cacheReadTokens?: number | undefined
  readonly cacheWriteTokens?: number | undefined
  readonly reasoningTokens?: number | undefined
}

export interface Wholes {
  readonly inputTokens: number | undefined
  readonly outputTokens: number | undefined
  readonly totalTokens: number | undefined
}

/** Adds counts. The sum is capped at 2^53 - 1, because numbers cannot represent every larger integer. */
export const addCounts = (...counts: readonly number[]): number =>
  Math.min(
    counts.reduce((sum, count) => sum + count, 0),
    Number.MAX_SAFE_INTEGER
  )

/**
 * Returns input, output and total, with all parts included. Parts larger than the reported whole were not included in
 * that whole and are added. For smaller parts, the reported total shows whether the whole includes them; if the total
 * does not show this, the parts count as included. A total that contradicts input plus output is replaced by their sum.
 */
export function wholesOf(reported: Wholes, inputParts: number, outputParts: number): Wholes {
  const { inputTokens: input, outputTokens: output, totalTokens: total } = reported
  if (input === undefined || output === undefined) {
    const whole = { inputTokens: withLarger(input, inputParts), outputTokens: withLarger(output, outputParts) }
    const least = whole.inputTokens ?? whole.outputTokens ?? 0
    return { ...whole, totalTokens: total !== undefined && total < least ? undefined : total }
  }
  const inputs = inputParts > input ? [addCounts(input, inputParts)] : [input, addCounts(input, inputParts)]
  const outputs = outputParts > output ? [addCounts(output, outputParts)] : [output, addCounts(output, outputParts)]
  for (const inputTokens of inputs) {
    for (const outputTokens of outputs) {
      if (addCounts(inputTokens, outputTokens) === total) return { inputTokens, outputTokens, totalTokens: total }
    }
  }
  const [inputTokens, outputTokens] = [inputs[0] as number, outputs[0] as number]
  return {
    inputTokens,
    outputTokens,
    totalTokens: total === undefined ? undefined : addCounts(inputTokens, outputTokens)
  }
}

const withLarger = (whole: number | undefined, parts: number): number | undefined =>
  whole !== undefined && parts > whole ? addCounts(whole, parts) : whole
