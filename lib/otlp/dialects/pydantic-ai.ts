/**
 * pydantic-ai, which uses OpenTelemetry's names, but for what an agent was asked and answered: the span of its run has
 * all messages in one list, and the result apart.
 */
import type { Json } from '../../trace/json/exact-json.ts'
import { plainNumber } from '../../trace/json/exact-json.ts'
import { composed, type Dialect } from '../dialect.ts'
import type { Fields } from '../fields.ts'
import { readForm } from '../wire/attribute-values.ts'
import { withInstructions } from './gen-ai.ts'

const MESSAGES = 'pydantic_ai.all_messages'
/** A name that others may use too, so it only counts beside the messages. */
const RESULT = 'final_result'

export const pydanticAi: Dialect = {
  kind: () => undefined,
  input: [composed(readQuestion)],
  output: [composed(readResult)]
}

/** The messages up to the first answer of this run. Those of earlier runs come first, and their number is stated. */
function readQuestion(fields: Fields): Json {
  const messages = readForm(fields.get(MESSAGES), 'json')
  if (!Array.isArray(messages)) return undefined
  const earlier = Number(plainNumber(fields.get('pydantic_ai.new_message_index')) ?? 0)
  const answer = messages.findIndex((message, i) => i >= earlier && isAnswer(message))
  return withInstructions(fields, answer < 0 ? messages : messages.slice(0, answer))
}

const isAnswer = (message: Json): boolean =>
  typeof message === 'object' && message !== null && 'role' in message && message.role === 'assistant'

function readResult(fields: Fields): Json {
  if (!fields.has(MESSAGES) || !fields.has(RESULT)) return undefined
  fields.take(RESULT)
  return readForm(fields.get(RESULT), 'loose')
}
