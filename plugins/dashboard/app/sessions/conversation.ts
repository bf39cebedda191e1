/** Shows a session as a conversation: what each trace adds to it, and long pauses between traces. */

import type { Message } from '../content/message.ts'
import type { TraceListItem } from '../contract.ts'

/** Minimum pause between two traces for a notice. */
const GAP_MS = 30 * 60_000

/** Returns the pause before a trace in ms; undefined if the pause is too short for a notice. */
export function gapBefore(before: TraceListItem | undefined, trace: TraceListItem): number | undefined {
  if (before === undefined) return undefined
  const ms = Date.parse(trace.startedAt) - Date.parse(before.endedAt ?? before.startedAt)
  return ms > GAP_MS ? ms : undefined
}

/**
 * Returns the question of a trace: the last message with a user's own words and the messages after it, such as tool
 * results. An agent's input repeats the entire conversation, which earlier traces have shown. If no such message
 * exists, returns the last message.
 */
export function asked(input: readonly Message[]): readonly Message[] {
  const at = input.findLastIndex(({ role, parts }) => role === 'user' && parts.some(part => part.kind !== 'result'))
  return at === -1 ? input.slice(-1) : input.slice(at)
}

/** Merges traces by id in order of arrival. A trace that arrives again replaces its earlier version. */
export function withMore(known: readonly TraceListItem[], more: readonly TraceListItem[]): TraceListItem[] {
  return [...new Map([...known, ...more].map(trace => [trace.id, trace])).values()]
}
