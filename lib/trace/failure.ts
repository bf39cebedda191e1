/** Reads the reason for a span's failure: an `exception` event, or attributes. */

export interface Failure {
  /** The error's type, such as `TimeoutError`; null if not recorded. */
  readonly type: string | null
  readonly message: string | null
}

/** Names of attributes, for the event and the span. The first that is a string and not empty counts. */
const TYPES = ['exception.type', 'error.type']
const MESSAGES = ['exception.message', 'error.message', 'message', 'otel.status_description']
const EVENTS: readonly unknown[] = ['exception', 'error']
const MENTIONS = /exception|error|message|otel\.status_description|\\u/

/** Returns the failure that a span's attributes and events, as JSON texts, describe; both members are null if none. */
export function failureOf(attributes: string | null, events: string | null): Failure {
  const ofSpan: unknown = parse(attributes)
  const list = parse(events)
  const last = Array.isArray(list) ? list.findLast(event => EVENTS.includes(event?.name)) : undefined
  const ofEvent: unknown = last?.attributes
  return {
    type: firstText(ofEvent, TYPES) ?? firstText(ofSpan, TYPES),
    message: firstText(ofEvent, MESSAGES) ?? firstText(ofSpan, MESSAGES)
  }
}

/** Parses a JSON text if it can name a failure. Texts may be long, and most name none. */
const parse = (json: string | null) => (json !== null && MENTIONS.test(json) ? JSON.parse(json) : undefined)

function firstText(fields: unknown, names: readonly string[]): string | null {
  if (typeof fields !== 'object' || fields === null) return null
  for (const name of names) {
    const value = Object.hasOwn(fields, name) ? (fields as Record<string, unknown>)[name] : undefined
    if (typeof value === 'string' && value !== '') return value
  }
  return null
}
