/** Lays out JSON for people. */
import { isJsonObject, type Json, stringifyExact } from './exact-json.ts'

const INDENT = '  '

/** Returns the lines of a JSON value, indented, with numbers as they were sent. */
export function prettyLines(value: Json): string[] {
  const isList = Array.isArray(value)
  if (!isList && !isJsonObject(value)) return [stringifyExact(value)]
  const [open, close] = isList ? '[]' : '{}'
  const members = isList
    ? value.map(item => prettyLines(item))
    : Object.entries(value).map(([name, member]) => {
        const [first, ...rest] = prettyLines(member)
        return [`${JSON.stringify(name)}: ${first}`, ...rest]
      })
  if (members.length === 0) return [`${open}${close}`]
  const inner = members.flatMap((lines, i) => {
    const indented = lines.map(line => INDENT + line)
    if (i < members.length - 1) indented[indented.length - 1] += ','
    return indented
  })
  return [open!, ...inner, close!]
}
