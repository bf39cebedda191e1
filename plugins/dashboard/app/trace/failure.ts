/** Reads the reason for a span's failure from an `exception` event or from attributes. */
import { type JsonNode, memberAt, membersOf, readString } from '../content/json-text.ts'

export interface ShownFailure {
  /** Type of the error, such as `TimeoutError`; empty if not recorded. */
  readonly type: string
  readonly message: string
}

/** Attribute names, for the span and the event. The first attribute that exists is used. */
const TYPES = ['exception.type', 'error.type']
const MESSAGES = ['exception.message', 'error.message', 'message', 'otel.status_description']
const EVENTS = ['exception', 'error']

/**
 * Returns the failure that the attributes and events describe; undefined if they describe none. `attributes` and
 * `events` are nodes of `text`.
 */
export function shownFailureOf(
  text: string,
  attributes: JsonNode | undefined,
  events: JsonNode | undefined
): ShownFailure | undefined {
  const last = events && membersOf(text, events).findLast(({ node }) => EVENTS.includes(textAt(text, node, ['name'])))
  const ofEvent = last && memberAt(text, last.node, 'attributes')
  const type = textAt(text, ofEvent, TYPES) || textAt(text, attributes, TYPES)
  const message = textAt(text, ofEvent, MESSAGES) || textAt(text, attributes, MESSAGES)
  return type === '' && message === '' ? undefined : { type, message }
}

/** Returns the first non-empty string among the members with the given names. */
function textAt(text: string, node: JsonNode | undefined, names: readonly string[]): string {
  if (node?.kind !== 'object') return ''
  for (const name of names) {
    const member = memberAt(text, node, name)
    if (member?.kind === 'string' && member.end - member.start > 2) return readString(text, member)
  }
  return ''
}
