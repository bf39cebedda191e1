/** A session as a conversation: what of each trace was said, and where somebody was away. */

import type { Message } from '../content/message.ts'
import type { TraceSummary } from '../contract.ts'

/** A longer time between two traces is told. */
const GAP_MS = 30 * 60_000

/** How long nothing happened before a trace, in ms; undefined if that is not worth a line. */
export function gapBefore(before: TraceSummary | undefined, trace: TraceSummary): number | undefined {
  if (before === undefined) return undefined
  const ms = Date.parse(trace.startedAt) - Date.parse(before.endedAt ?? before.startedAt)
  return ms > GAP_MS ? ms : undefined
}

/**
 * The question of a trace: the last message with a user's own words, and those after it, such as tool results. An
 * agent's input has the entire conversation, which earlier traces have shown. Without such a message, the last one.
 */
export function asked(input: readonly Message[]): readonly Message[] {
  const at = input.findLastIndex(({ role, parts }) => role === 'user' && parts.some(part => part.kind !== 'result'))
  return at === -1 ? input.slice(-1) : input.slice(at)
}

/** Traces by their ids, in the order in which they came; those that come again replace those that are there. */
export function withMore(known: readonly TraceSummary[], more: readonly TraceSummary[]): TraceSummary[] {
  return [...new Map([...known, ...more].map(trace => [trace.id, trace])).values()]
}
