/** Decodes an export of log records in either OTLP encoding. */
import protobuf from 'protobufjs'
import { Refusal } from '../../errors.ts'
import { readBody } from '../../trace/body.ts'
import type { Json } from '../../trace/json/exact-json.ts'
import {
  attributesOf,
  type JsonObject,
  listOf,
  microsOfField as microsIn,
  objectOf,
  readJsonValue,
  startParts,
  textOfField
} from '../wire/json-values.ts'
import { Parts } from '../wire/parts.ts'
import {
  type AnyValue,
  countParts,
  hex,
  type KeyValue,
  readAttributes,
  readProtobufValue,
  VALUES
} from '../wire/protobuf-values.ts'
import type { Attributes, OtlpEncoding } from '../wire/request.ts'
import { type Int64, microsOfInt64 } from '../wire/time.ts'

/** Ids are lower-case hexadecimal strings, empty if the record belongs to no span. */
export interface LogRecord {
  readonly traceId: string
  readonly spanId: string
  /** Time of the event, or the observed time if no event time was sent, in microseconds since 1970. */
  readonly micros: number
  readonly eventName: string
  readonly body: Json
  readonly attributes: Attributes
}

/** Throws `invalid_json`, `invalid_request` or `payload_too_large` if the body is not a valid export of logs. */
export function decodeLogs(bytes: Uint8Array, encoding: OtlpEncoding): LogRecord[] {
  return encoding === 'json' ? decodeJson(bytes) : decodeProtobuf(bytes)
}

function decodeJson(bytes: Uint8Array): LogRecord[] {
  const { exact } = readBody(bytes, 'invalid_request')
  startParts()
  const resources = listOf(objectOf(exact, 'body'), 'resourceLogs', 'body', (resource, path) =>
    listOf(resource, 'scopeLogs', path, (scope, path) => listOf(scope, 'logRecords', path, readJsonRecord))
  )
  return resources.flat(2)
}

const readJsonRecord = (record: JsonObject, path: string): LogRecord => ({
  traceId: textOfField(record, 'traceId', path).toLowerCase(),
  spanId: textOfField(record, 'spanId', path).toLowerCase(),
  micros: microsIn(record, 'timeUnixNano', path) || microsIn(record, 'observedTimeUnixNano', path),
  eventName: textOfField(record, 'eventName', path),
  body: readJsonValue(record.body, `${path}.body`),
  attributes: attributesOf(record, path)
})

/** Fields that spoor reads from opentelemetry-proto's collector/logs/v1 and logs/v1. */
const SCHEMA = `
syntax = "proto3";
message Request { repeated ResourceLogs resource_logs = 1; }
message ResourceLogs { repeated ScopeLogs scope_logs = 2; }
message ScopeLogs { repeated LogRecord log_records = 2; }
message LogRecord {
  fixed64 time_unix_nano = 1; AnyValue body = 5; repeated KeyValue attributes = 6;
  bytes trace_id = 9; bytes span_id = 10; fixed64 observed_time_unix_nano = 11; string event_name = 12;
}
${VALUES}`
const Request = protobuf.parse(SCHEMA).root.lookupType('Request')
Request.root.resolveAll()

interface RecordMessage {
  readonly timeUnixNano: Int64
  readonly observedTimeUnixNano: Int64
  readonly body: AnyValue | null
  readonly attributes: readonly KeyValue[]
  readonly traceId: Uint8Array
  readonly spanId: Uint8Array
  readonly eventName: string
}
interface RequestMessage {
  readonly resourceLogs: readonly { readonly scopeLogs: readonly { readonly logRecords: readonly RecordMessage[] }[] }[]
}

function decodeProtobuf(bytes: Uint8Array): LogRecord[] {
  try {
    countParts(bytes, { from: 0, end: bytes.length }, Request, 0, new Parts())
    const { resourceLogs } = Request.decode(bytes) as unknown as RequestMessage
    return resourceLogs.flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords.map(readRecord)))
  } catch (error) {
    if (error instanceof Refusal) throw error
    const reason = (error as Error).message
    throw new Refusal('invalid_request', `body: is not a protobuf ExportLogsServiceRequest: ${reason}`)
  }
}

const readRecord = (record: RecordMessage): LogRecord => ({
  traceId: hex(record.traceId),
  spanId: hex(record.spanId),
  micros: microsOfInt64(record.timeUnixNano) || microsOfInt64(record.observedTimeUnixNano),
  eventName: record.eventName,
  body: readProtobufValue(record.body),
  attributes: readAttributes(record.attributes)
})
