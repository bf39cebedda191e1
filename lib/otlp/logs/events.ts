/** Converts a log record that names a span to an event of that span. */
import { MAX_NAME } from '../../schema/input.ts'
import { sha256 } from '../../trace/document.ts'
import { inspectText, type Json, stringifyExact } from '../../trace/json/exact-json.ts'
import type { PlacedMessages } from '../../trace/span-messages.ts'
import { timestampOf } from '../../trace/timestamp.ts'
import { cutAttribute, replaceNul } from '../text.ts'
import type { LogRecord } from './decode.ts'

/** Maximum size of an event's attributes, in characters of JSON. */
const MOST_LENGTH = 32_768
/** Maximum depth of an event's attributes. An export line that contains the event must still be readable. */
const MAX_DEPTH = 80
/** Lengths to which all texts are cut, tried in turn until the event is small enough. */
const LENGTHS = [8192, 1024, 128]

/** Returns the event as a row for the span. `taken` holds the names of attributes that the span shows elsewhere. */
export function eventOf(record: LogRecord, name: string, place: number, taken?: ReadonlySet<string>): PlacedMessages {
  const { traceId, spanId, micros, body } = record
  const own = [...record.attributes].filter(([key]) => key !== 'event.name' && !taken?.has(key))
  const attributes = Object.fromEntries(own) as Record<string, Json>
  if (body !== null && body !== '' && body !== name) attributes.body ??= body
  const shown = cutAttribute(replaceNul(name), MAX_NAME)
  const said = `"name":${JSON.stringify(shown)},"timestamp":"${timestampOf(micros)}"`
  const event = `{${said},"attributes":${fitAttributes(attributes)}}`
  const digest = sha256(JSON.stringify([micros, event])).slice(0, 32)
  return { traceId, spanId, micros, place, digest, input: null, output: null, event }
}

function fitAttributes(attributes: Record<string, Json>): string {
  const text = stringifyExact(attributes)
  if (inspectText(text).depth > MAX_DEPTH) return JSON.stringify({ 'spoor.truncated': text.slice(0, MOST_LENGTH / 4) })
  if (text.length <= MOST_LENGTH) return text
  for (const length of LENGTHS) {
    const cut = stringifyExact(cutTexts(attributes, length))
    if (cut.length <= MOST_LENGTH) return cut
  }
  return JSON.stringify({ 'spoor.truncated': text.slice(0, MOST_LENGTH / 4) })
}

/** Cuts every text longer than `length` characters and appends a note with the original length. */
function cutTexts(value: Json, length: number): Json {
  if (typeof value === 'string') {
    return value.length <= length ? value : `${cutAttribute(value, length)}… [cut: ${value.length} characters in all]`
  }
  if (Array.isArray(value)) return value.map(item => cutTexts(item, length))
  if (Object.getPrototypeOf(Object(value)) !== Object.prototype) return value
  return Object.fromEntries(
    Object.entries(value as Record<string, Json>).map(([key, item]) => [key, cutTexts(item, length)])
  )
}
