/** Reports the spans of an export that were not stored, with reasons and counts. */

/** All reasons, keyed by their names in metrics. In a response, each value follows the word "spans". */
export const REASONS = {
  no_ids: 'without a valid trace id and span id (are these log records?)',
  bad_parent: 'with an invalid parent span id',
  no_start: 'without a start time',
  bad_time: 'with times that are out of range',
  bad_event_time: 'with an event whose time is out of range',
  conflict: 'whose id is stored with different content',
  too_many: 'beyond OTLP_MAX_SPANS, whose last 10% is reserved for roots, errors, agents, model calls and tools',
  other_route: 'in a trace that was not recorded by OpenTelemetry',
  other_environment: "in a trace recorded in a different environment than this key's",
  trial_limit: "in traces beyond the trial account's limit"
} as const
export type Reason = keyof typeof REASONS

/** A reason for rejecting spans, the number of spans rejected for that reason, and an example. */
export interface SpanRefusal {
  readonly reason: Reason
  readonly count: number
  readonly example: string
  /** Number of rejected spans by kind, if the reason concerns spans that could have been stored. */
  readonly kinds?: Readonly<Record<string, number>>
}

/** Sums refusals by reason and keeps the first example of each reason. */
export function sumRefusals(refusals: Iterable<SpanRefusal>): SpanRefusal[] {
  const sums = new Map<Reason, SpanRefusal>()
  for (const refusal of refusals) {
    const before = sums.get(refusal.reason)
    sums.set(refusal.reason, before === undefined ? refusal : together(before, refusal))
  }
  return [...sums.values()]
}

function together(before: SpanRefusal, { count, kinds }: SpanRefusal): SpanRefusal {
  const sum = { ...before, count: before.count + count }
  if (kinds === undefined) return sum
  const all: Record<string, number> = { ...before.kinds }
  for (const [kind, number] of Object.entries(kinds)) all[kind] = (all[kind] ?? 0) + number
  return { ...sum, kinds: all }
}

/** Returns one sentence for the sender's log, or an empty string if nothing was rejected. */
export const explainRefusals = (refusals: readonly SpanRefusal[]): string =>
  refusals
    .map(({ reason, count, kinds, example }) => {
      const each = Object.entries(kinds ?? {}).map(([kind, number]) => `${number} ${kind}`)
      const which = [...(each.length === 0 ? [] : [each.join(', ')]), `such as ${example}`].join('; ')
      return `${count} rejected: spans ${REASONS[reason]} (${which})`
    })
    .join('; ')
