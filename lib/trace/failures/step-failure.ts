/**
 * Reads why a step failed. The last event `exception` or `error` reports it; otherwise attributes; otherwise the
 * output, such as the result of a tool that returns an error.
 */

/** Both members are null if the step does not say why it failed. */
export interface StepFailure {
  /** Type of the error, such as `TimeoutError`; null if not recorded. */
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

/** Names of attributes, of the event and of the span. The first non-empty string counts. */
const TYPES = ['exception.type', 'error.type']
const MESSAGES = ['exception.message', 'error.message', 'message', 'otel.status_description']
const EVENTS: readonly unknown[] = ['exception', 'error']
const MENTIONS = /exception|error|message|otel\.status_description|\\u/
/** Names of an error's members, in an output or in the attribute `error`. */
const ERROR_TYPES = ['type', 'name', 'code', 'error_type', 'errorType']
const ERROR_MESSAGES = ['message', 'detail', 'msg', 'error_message', 'errorMessage', 'reason']

/** Maximum numbers of characters of a type and of a message. */
const MOST_TYPE = 200
const MOST_MESSAGE = 4000
/** Maximum number of characters of an output that is parsed. An error is short. */
const MOST_OUTPUT = 65_536

/** Returns the failure that a step reports. */
export function failureOfStep({ kind, output, attributes, events }: FailedStep): StepFailure {
  const ofSpan = parse(attributes)
  const list = parse(events)
  const last = Array.isArray(list) ? list.findLast(event => EVENTS.includes(memberOf(event, 'name'))) : undefined
  const ofEvent = memberOf(last, 'attributes')
  const type = textAt(ofEvent, TYPES) ?? textAt(ofSpan, TYPES)
  const message = textAt(ofEvent, MESSAGES) ?? textAt(ofSpan, MESSAGES)
  if (type !== null && message !== null) return cut({ type, message })
  const error = errorIn(memberOf(ofSpan, 'error')) ?? ofOutput(kind, output)
  return cut({ type: type ?? error?.type ?? null, message: message ?? error?.message ?? null })
}

/** Parses a JSON text if it can name a failure. Texts may be long, and most name none. */
const parse = (json: string | null): unknown => (json !== null && MENTIONS.test(json) ? JSON.parse(json) : undefined)

/** Cuts a failure's texts, which may be of any length. */
const cut = ({ type, message }: StepFailure): StepFailure => ({
  type: type && startOf(type, MOST_TYPE),
  message: message && startOf(message, MOST_MESSAGE)
})

/** Returns the first characters of a text, without half of a pair of surrogates. */
export const startOf = (text: string, most: number): string =>
  text.length <= most ? text : text.slice(0, most).replace(/[\uD800-\uDBFF]$/, '')

/** Returns the error that an output reports: in its member `error`, or as the text of a tool that failed. */
function ofOutput(kind: string, output: string | null): StepFailure | undefined {
  if (output === null || output.length > MOST_OUTPUT) return undefined
  const value: unknown = JSON.parse(output)
  if (typeof value === 'string') return kind === 'tool' ? errorIn(value) : undefined
  const error = errorIn(memberOf(value, 'error'))
  if (error !== undefined) return error
  // An error result of the Model Context Protocol contains a list of texts.
  if (memberOf(value, 'isError') !== true) return undefined
  const content = memberOf(value, 'content')
  return errorIn(memberOf(Array.isArray(content) ? content[0] : undefined, 'text'))
}

/** Returns the failure that an error describes: a text, or an object with a type or message. */
function errorIn(error: unknown): StepFailure | undefined {
  if (typeof error === 'string') return error.trim() === '' ? undefined : { type: null, message: error }
  const type = textAt(error, ERROR_TYPES)
  const message = textAt(error, ERROR_MESSAGES)
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
