/**
 * Counts the log records of an export, and those among them that carry the messages of a model call. A record of the
 * latter kind is an event whose name is one of OpenTelemetry's conventions for generative AI. The records are walked
 * through and never decoded: nothing of them is stored.
 */
import protobuf from 'protobufjs'
import { Refusal } from '../../errors.ts'
import { readBody } from '../../trace/body.ts'
import type { OtlpEncoding } from '../wire/request.ts'

export interface RecordCount {
  readonly records: number
  /** How many of them carry messages. */
  readonly messages: number
}

/** Names of events that carry messages: one for each message, as libraries still send, and one for a whole call. */
const MESSAGE_EVENTS: ReadonlySet<string> = new Set([
  ...['system', 'user', 'assistant', 'tool'].map(role => `gen_ai.${role}.message`),
  'gen_ai.choice',
  'gen_ai.content.prompt',
  'gen_ai.content.completion',
  'gen_ai.client.inference.operation.details'
])
/** The attribute that held the name before records had a field for it. */
const NAME_ATTRIBUTE = 'event.name'

/** Throws `invalid_json` or `invalid_request` if the body is no export of logs. */
export function countRecords(bytes: Uint8Array, encoding: OtlpEncoding): RecordCount {
  return encoding === 'json' ? countJson(bytes) : countProtobuf(bytes)
}

const carriesMessages = (eventName: string, attribute: string): boolean =>
  MESSAGE_EVENTS.has(eventName === '' ? attribute : eventName)

type JsonObject = Readonly<Record<string, unknown>>

function countJson(bytes: Uint8Array): RecordCount {
  const { value } = readBody(bytes, 'invalid_request')
  let records = 0
  let messages = 0
  for (const resource of listOf(value, 'resourceLogs')) {
    for (const scope of listOf(resource, 'scopeLogs')) {
      for (const record of listOf(scope, 'logRecords')) {
        records++
        if (carriesMessages(textOf(record, 'eventName'), attributeOf(record))) messages++
      }
    }
  }
  return { records, messages }
}

function attributeOf(record: JsonObject): string {
  const named = listOf(record, 'attributes').filter(({ key }) => key === NAME_ATTRIBUTE)
  // If a key comes twice, the last value counts, as in spans.
  const value = named.at(-1)?.value
  return value === undefined ? '' : textOf(objectOf(value, NAME_ATTRIBUTE), 'stringValue')
}

function listOf(object: unknown, field: string): readonly JsonObject[] {
  const list = objectOf(object, 'body')[field] ?? []
  if (!Array.isArray(list)) throw new Refusal('invalid_request', `${field}: must be an array`)
  return list.map(item => objectOf(item, field))
}

function objectOf(value: unknown, path: string): JsonObject {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject
  throw new Refusal('invalid_request', `${path}: must be an object`)
}

const textOf = (object: JsonObject, field: string): string => {
  const value = object[field]
  return typeof value === 'string' ? value : ''
}

/** Fields of the messages, as opentelemetry-proto numbers them in logs/v1 and common/v1. */
const RESOURCE_LOGS = 1
const SCOPE_LOGS = 2
const LOG_RECORDS = 2
const RECORD = { attributes: 6, eventName: 12 }
const KEY_VALUE = { key: 1, value: 2 }
const STRING_VALUE = 1
const LENGTH_DELIMITED = 2

function countProtobuf(bytes: Uint8Array): RecordCount {
  let records = 0
  let messages = 0
  try {
    eachInner(bytes, RESOURCE_LOGS, resource =>
      eachInner(resource, SCOPE_LOGS, scope =>
        eachInner(scope, LOG_RECORDS, record => {
          records++
          if (isMessageRecord(record)) messages++
        })
      )
    )
  } catch (error) {
    const reason = (error as Error).message
    throw new Refusal('invalid_request', `body: is not a protobuf ExportLogsServiceRequest: ${reason}`)
  }
  return { records, messages }
}

function isMessageRecord(record: Uint8Array): boolean {
  let eventName = ''
  let attribute = ''
  eachField(record, (field, inner) => {
    if (field === RECORD.eventName) eventName = textIn(inner)
    if (field !== RECORD.attributes) return
    let key = ''
    let value = ''
    eachField(inner, (part, content) => {
      if (part === KEY_VALUE.key) key = textIn(content)
      if (part === KEY_VALUE.value) eachInner(content, STRING_VALUE, text => (value = textIn(text)))
    })
    if (key === NAME_ATTRIBUTE) attribute = value
  })
  return carriesMessages(eventName, attribute)
}

/** A text, cut where it is longer than any name of those events. */
const textIn = (bytes: Uint8Array): string => Buffer.from(bytes.subarray(0, 64)).toString()

const eachInner = (message: Uint8Array, field: number, take: (inner: Uint8Array) => void): void =>
  eachField(message, (found, inner) => {
    if (found === field) take(inner)
  })

/** Calls `take` with each field of a message that has a length, in order. */
function eachField(message: Uint8Array, take: (field: number, inner: Uint8Array) => void): void {
  const reader = protobuf.Reader.create(message)
  while (reader.pos < message.length) {
    const tag = reader.uint32()
    if ((tag & 7) === LENGTH_DELIMITED) {
      const length = reader.uint32()
      const from = reader.pos
      reader.skip(length)
      take(tag >>> 3, message.subarray(from, from + length))
    } else {
      reader.skipType(tag & 7)
    }
  }
}
