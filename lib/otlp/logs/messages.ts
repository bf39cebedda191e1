/**
 * Reads the messages of model calls from log records. Libraries that follow OpenTelemetry's generative AI conventions
 * send one event per message (`gen_ai.user.message`, `gen_ai.choice`) or one per call
 * (`gen_ai.client.inference.operation.details`). Each event names its span.
 */
import { sha256 } from '../../trace/document.ts'
import { inspectText, isJsonObject, type Json, stringifyExact } from '../../trace/json/exact-json.ts'
import type { PlacedMessages } from '../../trace/span-messages.ts'
import { fitSpan } from '../content/fit-span.ts'
import { isSameSystem, systemMessage } from '../content/system-message.ts'
import { readForm } from '../wire/attribute-values.ts'
import { type LogRecord, nameOfEvent } from './decode.ts'

/** Returns a record's messages to or from a model, as a row for the record's span; undefined if there are none. */
export function spanMessages(record: LogRecord, place: number): PlacedMessages | undefined {
  const said = messagesOf(record)
  if (said === undefined || !(said.input?.length || said.output?.length)) return undefined
  const { traceId, spanId, micros } = record
  const texts = fitTexts({ input: textOf(said.input), output: textOf(said.output) })
  const digest = sha256(JSON.stringify([micros, texts.input, texts.output])).slice(0, 32)
  return { traceId, spanId, micros, place, digest, ...texts }
}

const textOf = (messages: readonly Json[] | undefined): string | null =>
  messages === undefined || messages.length === 0 ? null : stringifyExact(messages)

/**
 * Cuts messages to a span's maximum size. A list cut as a whole, or nested too deeply, becomes a list of one string,
 * unless another `form` is given.
 */
export function fitTexts({ input, output }: Texts, form: (text: string) => string = asList): Texts {
  const free = (text: string | null) => ({ stored: text, canonical: text ?? 'null' })
  const span = { id: '', name: '', kind: 'llm', status: 'ok', startedAt: '', endedAt: '' } as const
  const fitted = fitSpan({ ...span, input: free(input), output: free(output) } as never)
  const fit = (stored: string | null | undefined) => {
    if (stored == null || stored === 'null') return null
    return inspectText(stored).depth > MAX_DEPTH ? form(JSON.stringify(stored)) : form(stored)
  }
  return { input: fit(fitted.input?.stored), output: fit(fitted.output?.stored) }
}

interface Texts {
  readonly input: string | null
  readonly output: string | null
}

const asList = (text: string): string => (text.startsWith('[') ? text : `[${text}]`)

/** Maximum depth of a message list. An export line that contains the list must still be readable. */
const MAX_DEPTH = 90

interface Said {
  readonly input?: readonly Json[] | undefined
  readonly output?: readonly Json[] | undefined
}

/** Returns a record's messages; undefined if the record is not an event with messages. */
export function messagesOf(record: LogRecord): Said | undefined {
  const { body, attributes } = record
  const name = nameOfEvent(record)
  const said = readForm(body, 'loose')
  switch (name) {
    case 'gen_ai.system.message':
    case 'gen_ai.user.message':
    case 'gen_ai.assistant.message':
    case 'gen_ai.tool.message':
      return { input: only(messageOf(said, attributes, name.slice('gen_ai.'.length, -'.message'.length))) }
    case 'gen_ai.choice':
      return { output: only(choiceOf(said, attributes)) }
    case 'gen_ai.content.prompt':
      return { input: listOf(attributes.get('gen_ai.prompt') ?? said) }
    case 'gen_ai.content.completion':
      return { output: listOf(attributes.get('gen_ai.completion') ?? said) }
    case 'gen_ai.client.inference.operation.details':
      return detailsOf(isJsonObject(said) ? new Map([...Object.entries(said), ...attributes]) : attributes)
    default:
      return undefined
  }
}

/**
 * Members of a message that are not content. A message with no other members comes from a sender that does not record
 * content.
 */
const NOTHING_SAID = new Set(['role', 'index', 'finish_reason'])

/** Returns a list with the message, or an empty list if the message has no content. */
const only = (message: Json): readonly Json[] =>
  isJsonObject(message) && Object.keys(message).every(name => NOTHING_SAID.has(name)) ? [] : [message]

/** Event attributes that are not part of the message. */
const NOT_SAID = new Set(['event.name', 'gen_ai.system', 'gen_ai.provider.name', 'CHAT_COMPLETION_INDEX'])

/**
 * Builds a message from the body or, if the body is empty, from the attributes. The event's name supplies a missing
 * role.
 */
function messageOf(said: Json, attributes: LogRecord['attributes'], role: string): Json {
  if (isJsonObject(said)) return { role, ...said }
  if (said !== null && said !== '') return { role, content: said }
  const own = [...attributes].filter(([name]) => !NOT_SAID.has(name))
  return { role, ...Object.fromEntries(own.map(([name, value]) => [name, readForm(value, 'loose')])) }
}

/** Returns a choice's message, followed by the choice's other members. */
function choiceOf(said: Json, attributes: LogRecord['attributes']): Json {
  const choice = messageOf(said, attributes, 'assistant')
  if (!isJsonObject(choice)) return choice
  const { role, message, ...about } = choice
  const inner = readForm(message, 'loose')
  if (inner === undefined || inner === null) return choice
  return { role, ...(isJsonObject(inner) ? inner : { content: inner }), ...about }
}

function detailsOf(fields: ReadonlyMap<string, Json>): Said {
  const instructions = fields.get('gen_ai.system_instructions')
  const input = listOf(fields.get('gen_ai.input.messages'))
  const system = instructions == null ? undefined : systemMessage(instructions)
  return {
    input: system === undefined || isSameSystem(input[0], system) ? input : [system, ...input],
    output: listOf(fields.get('gen_ai.output.messages'))
  }
}

function listOf(value: Json): readonly Json[] {
  const read = readForm(value, 'loose')
  if (read === undefined || read === null) return []
  return Array.isArray(read) ? read : [read]
}
