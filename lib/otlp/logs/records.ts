/** Reads an export of log records: the messages of model calls, events of spans, and the names of records that are not kept. */
import type { PlacedMessages } from '../../trace/span-messages.ts'
import type { OtlpEncoding } from '../wire/request.ts'
import { decodeLogs, type LogRecord, nameOfEvent } from './decode.ts'
import { eventOf } from './events.ts'
import { messagesOf, spanMessages } from './messages.ts'

export interface Logs {
  readonly messages: readonly PlacedMessages[]
  /** Records that become events of the spans that they name. */
  readonly events: readonly PlacedMessages[]
  /** Number of records that have messages but no valid span id. */
  readonly unplaced: number
  /** Number of records that are neither stored nor refused. */
  readonly others: number
  /** Number of records that add nothing to a trace, by name. */
  readonly unkept: ReadonlyMap<string, number>
}

/** Throws a Refusal if the body is not a valid export of logs. */
export function readLogs(bytes: Uint8Array, encoding: OtlpEncoding): Logs {
  const messages: PlacedMessages[] = []
  const events: PlacedMessages[] = []
  const unkept = new Map<string, number>()
  let unplaced = 0
  let others = 0
  for (const [place, record] of decodeLogs(bytes, encoding).entries()) {
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
  return { messages, events, unplaced, others, unkept }
}

/** Returns the name of a record's event, or of its logger. */
const nameOfRecord = (record: LogRecord): string => nameOfEvent(record) || record.origin.scopeName || 'log records'

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1)
}

const namesSpan = ({ traceId, spanId }: LogRecord): boolean => isId(traceId, 32) && isId(spanId, 16)

const isId = (id: string, digits: number): boolean => id.length === digits && /^[0-9a-f]+$/.test(id) && !/^0+$/.test(id)
