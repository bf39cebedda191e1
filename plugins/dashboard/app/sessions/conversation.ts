/** Shows a session as a conversation: what each trace adds, and long pauses between traces. */

import type { Message } from '../content/message.ts'
import type { TraceListItem } from '../contract.ts'

/** Minimum pause between two traces for which a notice is shown. */
const GAP_MS = 30 * 60_000

/** Returns the pause before a trace in ms; undefined if the pause is too short for a notice. */
export function gapBefore(before: TraceListItem | undefined, trace: TraceListItem): number | undefined {
  if (before === undefined) return undefined
  const ms = Date.parse(trace.startedAt) - Date.parse(before.endedAt ?? before.startedAt)
  return ms > GAP_MS ? ms : undefined
}

/**
 * Returns a trace's question: the last message in a user's own words, and the messages after it. Earlier traces already
 * show the earlier messages of an agent's input. Without a user message, returns the last message.
 */
export function asked(input: readonly Message[]): readonly Message[] {
  const at = input.findLastIndex(({ role, parts }) => role === 'user' && parts.some(part => part.kind !== 'result'))
  return at === -1 ? input.slice(-1) : input.slice(at)
}

/** Merges traces by id in order of arrival. A later version replaces the earlier one. */
export function withMore(known: readonly TraceListItem[], more: readonly TraceListItem[]): TraceListItem[] {
  return [...new Map([...known, ...more].map(trace => [trace.id, trace])).values()]
}
