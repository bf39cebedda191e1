/** Reads an export of log records: additions to spans, coding agents' steps, and counts of other records by name. */
import type { PlacedMessages } from '../../trace/span-messages.ts'
import { nameOfAgentEvent } from '../agents/agent-events.ts'
import { type AgentRecord, namesSpan, type RecordStep, readAgentRecords } from '../agents/agent-records.ts'
import { encodeSteps } from '../agents/steps.ts'
import type { OtlpEncoding } from '../wire/request.ts'
import { decodeLogs, type LogRecord } from './decode.ts'
import { eventOf } from './events.ts'
import { messagesOf, spanMessages } from './messages.ts'

export interface Logs {
  readonly messages: readonly PlacedMessages[]
  /** Records that become span events, on the spans that the records name. */
  readonly events: readonly PlacedMessages[]
  /** Encoded spans made from coding agents' records (lib/otlp/agents/steps.ts decodes them). */
  readonly steps: Uint8Array | undefined
  /** Number of records that have messages but no valid span id. */
  readonly unplaced: number
  /** Number of records that are neither stored nor rejected. */
  readonly others: number
  /** Number of records that add nothing to a trace, by name. */
  readonly unkept: ReadonlyMap<string, number>
}

/** Reads an export of logs. Throws a Refusal if the body is not a valid export of logs. */
export function readLogs(bytes: Uint8Array, encoding: OtlpEncoding): Logs {
  const messages: PlacedMessages[] = []
  const events: PlacedMessages[] = []
  const steps: RecordStep[] = []
  const unkept = new Map<string, number>()
  let unplaced = 0
  let others = 0
  const records = decodeLogs(bytes, encoding)
  const agents = readAgentRecords(records)
  for (const [place, record] of records.entries()) {
    const agent = agents.get(place)
    if (agent !== undefined) {
      if (agent.row !== undefined) messages.push(agent.row)
      if (agent.step !== undefined) steps.push(agent.step)
      // A step holds its record's attributes. If the record names a span, an event on that span keeps the attributes
      // too, in case a real span replaces the step.
      const isNamed = agent.named !== undefined
      if (isNamed || agent.step === undefined)
        events.push(isNamed ? eventOf(record, nameOfRecord(record), place, agent.taken) : eventAt(record, place, agent))
      continue
    }
    const said = spanMessages(record, place)
    if (said !== undefined) {
      if (namesSpan(record)) messages.push(said)
      else unplaced++
    } else if (messagesOf(record) !== undefined) {
      // A call's event without messages comes from a sender that does not record content.
      others++
    } else if (namesSpan(record)) {
      events.push(eventOf(record, nameOfRecord(record), place))
    } else {
      others++
      count(unkept, nameOfRecord(record))
    }
  }
  const encoded = steps.length === 0 ? undefined : encodeSteps(steps)
  return { messages, events, steps: encoded, unplaced, others, unkept }
}

/** Returns the name of a record's event, or else of the record's logger, or else `unnamed`. */
const nameOfRecord = (record: LogRecord): string => nameOfAgentEvent(record) || record.origin.scopeName || 'unnamed'

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1)
}

/** Returns the event of a record that names no span. The event is added to the span of the record's call. */
function eventAt(record: LogRecord, place: number, { traceId, target, call, taken }: AgentRecord): PlacedMessages {
  return { ...eventOf(record, nameOfRecord(record), place, taken), traceId, spanId: target, call: call ?? null }
}
