/**
 * Reads why a step failed: the type of the error and its message. Senders state them in the last `exception` event or
 * in attributes; other steps that failed state them in their output, such as a tool whose result is an error.
 */

export interface StepFailure {
  /** Type of the error, such as `TimeoutError`; null if not stated. */
  readonly type: string | null
  readonly message: string | null
}

/** A step's texts as JSON, or null. */
export interface FailedStep {
  readonly kind: string
  readonly output: string | null
  readonly attributes: string | null
  readonly events: string | null
}

/** Attribute names, for the step and the event. The first attribute with a text is used. */
const TYPES = ['exception.type', 'error.type']
const MESSAGES = ['exception.message', 'error.message', 'message', 'otel.status_description']
const EVENTS = ['exception', 'error']
/** Names of an error's members in an output, or in the attribute `error`. */
const OWN_TYPES = ['type', 'name', 'code', 'error_type', 'errorType']
const OWN_MESSAGES = ['message', 'detail', 'msg', 'error_message', 'errorMessage', 'reason']

/** Maximum numbers of characters of a type and of a message. */
const MOST_TYPE = 200
const MOST_MESSAGE = 4000
/** Maximum number of characters of an output that is parsed. An error is short. */
const MOST_OUTPUT = 65_536

const NONE: StepFailure = { type: null, message: null }

/** Returns the failure that a step states. Both members are null if the step states none. */
export function failureOf({ kind, output, attributes, events }: FailedStep): StepFailure {
  const ofStep = /"(?:exception\.|error|message"|otel\.status)/.test(attributes ?? '') ? parse(attributes) : undefined
  const ofEvent = /"(?:exception|error)"/.test(events ?? '') ? attributesOfLast(parse(events)) : undefined
  const type = textAt(ofEvent, TYPES) ?? textAt(ofStep, TYPES)
  const message = textAt(ofEvent, MESSAGES) ?? textAt(ofStep, MESSAGES)
  if (type !== null && message !== null) return cut({ type, message })
  const own = errorIn(memberOf(ofStep, 'error')) ?? ofOutput(kind, output) ?? NONE
  return cut({ type: type ?? own.type, message: message ?? own.message })
}

/** Cuts a failure's texts, which may be of any length. */
const cut = ({ type, message }: StepFailure): StepFailure => ({
  type: type && start(type, MOST_TYPE),
  message: message && start(message, MOST_MESSAGE)
})

/** Returns the first characters of a text, without half of a pair of surrogates. */
export const start = (text: string, most: number): string =>
  text.length <= most ? text : text.slice(0, most).replace(/[\uD800-\uDBFF]$/, '')

function attributesOfLast(events: unknown): unknown {
  if (!Array.isArray(events)) return undefined
  const last = events.findLast(event => EVENTS.includes(memberOf(event, 'name') as string))
  return memberOf(last, 'attributes')
}

/** Returns the error that an output states: in its member `error`, or as the text of a tool that failed. */
function ofOutput(kind: string, output: string | null): StepFailure | undefined {
  if (output === null || output.length > MOST_OUTPUT) return undefined
  const value = parse(output)
  if (typeof value === 'string') return kind === 'tool' ? errorIn(value) : undefined
  const error = errorIn(memberOf(value, 'error'))
  if (error !== undefined) return error
  // A result of the Model Context Protocol that is an error holds its text in a list.
  if (memberOf(value, 'isError') !== true) return undefined
  const content = memberOf(value, 'content')
  return errorIn(memberOf(Array.isArray(content) ? content[0] : undefined, 'text'))
}

/** Returns the failure that a value states which is known to be an error: a text or an object. */
function errorIn(value: unknown): StepFailure | undefined {
  if (typeof value === 'string') return value.trim() === '' ? undefined : { type: null, message: value }
  const type = textAt(value, OWN_TYPES)
  const message = textAt(value, OWN_MESSAGES)
  return type === null && message === null ? undefined : { type, message }
}

/** Returns the first of these members that is a text with characters; null if there is none. */
function textAt(value: unknown, names: readonly string[]): string | null {
  for (const name of names) {
    const member = memberOf(value, name)
    if (typeof member === 'string' && member !== '') return member
  }
  return null
}

function memberOf(value: unknown, name: string): unknown {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject && Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined
}

function parse(json: string | null): unknown {
  if (json === null) return undefined
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
