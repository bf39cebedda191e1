/**
 * pydantic-ai, which uses OpenTelemetry's names except for an agent's input and output. An agent run's span holds all
 * messages in one list and the result in a separate attribute.
 */
import { type Json, memberOf, plainNumber } from '../../trace/json/exact-json.ts'
import { composed, type Dialect } from '../dialect.ts'
import type { Fields } from '../fields.ts'
import { readForm } from '../wire/attribute-values.ts'
import { withInstructions } from './gen-ai.ts'

const MESSAGES = 'pydantic_ai.all_messages'
/** Generic name of the result, read only if the messages are present. */
const RESULT = 'final_result'

export const pydanticAi: Dialect = {
  kind: () => undefined,
  input: [composed(readQuestion)],
  output: [composed(readResult)]
}

/**
 * Returns the messages before this run's first response. `new_message_index` is the number of earlier runs' messages.
 */
function readQuestion(fields: Fields): Json {
  const messages = readForm(fields.get(MESSAGES), 'json')
  if (!Array.isArray(messages)) return undefined
  const earlier = Number(plainNumber(fields.get('pydantic_ai.new_message_index')) ?? 0)
  const answer = messages.findIndex((message, i) => i >= earlier && isAnswer(message))
  return withInstructions(fields, answer < 0 ? messages : messages.slice(0, answer))
}

const isAnswer = (message: Json): boolean => memberOf(message, 'role') === 'assistant'

function readResult(fields: Fields): Json {
  if (!fields.has(MESSAGES) || !fields.has(RESULT)) return undefined
  fields.take(RESULT)
  return readForm(fields.get(RESULT), 'loose')
}
