/**
 * Formats JSON as lines for comparison. If the whole value is a string, returns its content. Otherwise each member
 * is on its own line, and multi-line strings keep their line breaks. Numbers keep their original notation.
 */
import { type JsonNode, membersOf, nodeAt, readString, sourceOf } from '../content/json-text.ts'

export function readable(source: string): string {
  const node = nodeAt(source)
  if (node === undefined) return source
  return node.kind === 'string' ? readString(source, node) : write(source, node, '')
}

function write(source: string, node: JsonNode, indent: string): string {
  if (node.kind === 'string') return writeString(source, node, indent)
  if (node.kind !== 'object' && node.kind !== 'array') return sourceOf(source, node)
  const inner = `${indent}  `
  const [open, close] = node.kind === 'array' ? '[]' : '{}'
  const lines = membersOf(source, node).map(({ key, node: value }) => {
    const name = key === undefined ? '' : `${source.slice(key.start, key.end)}: `
    return `${inner}${name}${write(source, value, inner)}`
  })
  return lines.length === 0 ? `${open}${close}` : `${open}\n${lines.join(',\n')}\n${indent}${close}`
}

/** Writes a multi-line string in quotes without escapes, and a single-line string as sent. */
function writeString(source: string, node: JsonNode, indent: string): string {
  const written = sourceOf(source, node)
  if (!written.includes('\\n')) return written
  const text = readString(source, node)
  return text.includes('\n') ? `"${text.split('\n').join(`\n${indent}`)}"` : written
}
