/**
 * Builds a system message from instructions sent separately from the messages. The conventions require a list of parts,
 * but some senders use plain text, quoted text or whole messages.
 */
import { isJsonObject, type Json, stringifyExact } from '../../trace/json/exact-json.ts'
import { readForm } from '../wire/attribute-values.ts'

/** Returns the system message; undefined if the instructions are empty. */
export function systemMessage(instructions: Json): Json {
  const parts = partsOf(readForm(instructions, 'structured'))
  return parts.length === 0 ? undefined : { role: 'system', parts }
}

/** Whether a message holds the same instructions as `system`, in any of their forms. */
export function isSameSystem(message: Json, system: Json): boolean {
  if (!isJsonObject(message) || message.role !== 'system') return false
  const said = message.parts ?? message.content
  return said !== undefined && stringifyExact(systemMessage(said)) === stringifyExact(system)
}

function partsOf(value: Json): readonly Json[] {
  if (value === undefined || value === null || value === '') return []
  if (typeof value === 'string') return [{ type: 'text', content: value }]
  if (Array.isArray(value)) return value.flatMap(partsOf)
  if (!isJsonObject(value)) return [{ type: 'text', content: stringifyExact(value) }]
  if ('parts' in value) return partsOf(value.parts)
  if ('type' in value) return [value]
  // Google's parts have no type, and other conventions' messages hold their text in `content`.
  const text = value.text ?? value.content
  return typeof text === 'string' || Array.isArray(text) ? partsOf(text) : [value]
}
