import type { JsonNode } from './json-text.ts'

/** Maximum length of a string that is checked for JSON, in characters. */
const MOST = 1_000_000

/** Returns the object or array that a text consists of; undefined if the text is not JSON. */
export function wholeJson(text: string): JsonNode | undefined {
  if (text.length > MOST || !/^\s*[[{]/.test(text) || !/[\]}]\s*$/.test(text)) return undefined
  try {
    JSON.parse(text)
  } catch {
    return undefined
  }
  const start = text.search(/\S/)
  return { kind: text[start] === '{' ? 'object' : 'array', start, end: text.trimEnd().length }
}
