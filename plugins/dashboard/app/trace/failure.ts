/** Why a span failed, as its sender said it: by an event `exception`, or by attributes. */
import { type JsonNode, memberAt, membersOf, readString } from '../content/json-text.ts'

export interface StepFailure {
  /** Such as `TimeoutError`. Empty if nobody said. */
  readonly type: string
  readonly message: string
}

/** Names of attributes, of the span and of the event; the first that is there counts. */
const TYPES = ['exception.type', 'error.type']
const MESSAGES = ['exception.message', 'error.message', 'message', 'otel.status_description']
const EVENTS = ['exception', 'error']

/** The failure in a span's attributes and events, which are nodes of this text; undefined if neither says any. */
export function failureOf(
  text: string,
  attributes: JsonNode | undefined,
  events: JsonNode | undefined
): StepFailure | undefined {
  const last = events && membersOf(text, events).findLast(({ node }) => EVENTS.includes(textAt(text, node, ['name'])))
  const ofEvent = last && memberAt(text, last.node, 'attributes')
  const type = textAt(text, ofEvent, TYPES) || textAt(text, attributes, TYPES)
  const message = textAt(text, ofEvent, MESSAGES) || textAt(text, attributes, MESSAGES)
  return type === '' && message === '' ? undefined : { type, message }
}

/** The first member of these names that is a text with something in it. */
function textAt(text: string, node: JsonNode | undefined, names: readonly string[]): string {
  if (node?.kind !== 'object') return ''
  for (const name of names) {
    const member = memberAt(text, node, name)
    if (member?.kind === 'string' && member.end - member.start > 2) return readString(text, member)
  }
  return ''
}
