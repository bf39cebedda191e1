/**
 * Parses Markdown blocks line by line. The lines of a quote or list item are collected without their markers and parsed
 * as blocks, so each line is read once per nesting level.
 */
import { readInline } from './inline.ts'
import {
  CODE_INDENT,
  endsParagraph,
  FENCE,
  fenceAfter,
  HEADING,
  indentOf,
  isBlank,
  isClosing,
  markerOf,
  QUOTE,
  RULE,
  unindent
} from './lines.ts'
import { type Definitions, isDefinition, readDefinitions } from './link.ts'
import { listAt } from './list.ts'
import type { Markdown } from './nodes.ts'
import { readTable, tableAt } from './table.ts'

/** Maximum nesting depth. Deeper blocks are read as paragraphs. */
const DEEPEST = 20

interface Reading {
  readonly definitions: Definitions
  readonly depth: number
}

const UNDERLINE = /^ {0,3}(=+|-+)[ \t]*$/

export function readBlocks(lines: readonly string[]): Markdown[] {
  return blocksOf(lines, { definitions: readDefinitions(lines), depth: 0 })
}

function blocksOf(lines: readonly string[], reading: Reading): Markdown[] {
  const found: Markdown[] = []
  for (let at = 0; at < lines.length; ) {
    const [block, end] = blockAt(lines, at, reading)
    if (block !== undefined) found.push(block)
    at = end
  }
  return found
}

/** Returns the block that starts at a line, if any, and the index of the line after it. */
function blockAt(lines: readonly string[], at: number, reading: Reading): [Markdown | undefined, number] {
  const line = lines[at] as string
  if (isBlank(line) || isDefinition(line)) return [undefined, at + 1]
  if (indentOf(line) >= CODE_INDENT) return indentedAt(lines, at)
  const fence = FENCE.exec(line)
  if (fence !== null) return fencedAt(lines, at, fence)
  const heading = HEADING.exec(line)
  if (heading !== null) {
    const text = withoutClosing(line.slice(heading[0].length).trim())
    return [{ tag: 'h', level: heading[1]!.length, children: readInline(text, reading.definitions) }, at + 1]
  }
  if (RULE.test(line)) return [{ tag: 'hr' }, at + 1]
  if (reading.depth < DEEPEST) {
    const inner = { ...reading, depth: reading.depth + 1 }
    if (QUOTE.test(line)) return quoteAt(lines, at, inner)
    if (markerOf(line) !== undefined) return listAt(lines, at, each => blocksOf(each, inner))
  }
  const table = tableAt(lines, at)
  if (table !== undefined) return [readTable(table, reading.definitions), table.end]
  return paragraphAt(lines, at, reading)
}

function fencedAt(
  lines: readonly string[],
  at: number,
  [, fence = '', language = '']: RegExpExecArray
): [Markdown, number] {
  const indent = indentOf(lines[at] as string)
  let end = at + 1
  while (end < lines.length && !isClosing(lines[end] as string, fence)) end++
  const text = lines.slice(at + 1, end).map(line => unindent(line, indent))
  return [{ tag: 'pre', text: text.join('\n'), language }, end + 1]
}

function indentedAt(lines: readonly string[], at: number): [Markdown, number] {
  let end = at + 1
  for (let i = end; i < lines.length; i++) {
    const line = lines[i] as string
    if (isBlank(line)) continue
    if (indentOf(line) < CODE_INDENT) break
    end = i + 1
  }
  const text = lines.slice(at, end).map(line => unindent(line, CODE_INDENT))
  return [{ tag: 'pre', text: text.join('\n'), language: '' }, end]
}

/** Removes the optional closing marks of a heading. */
function withoutClosing(text: string): string {
  let end = text.length
  while (text[end - 1] === '#') end--
  return end === 0 || (end < text.length && /[ \t]/.test(text[end - 1] as string)) ? text.slice(0, end).trimEnd() : text
}

function quoteAt(lines: readonly string[], at: number, reading: Reading): [Markdown, number] {
  const inner: string[] = []
  let fence: string | undefined
  let end = at
  for (; end < lines.length; end++) {
    const line = lines[end] as string
    const isQuoted = QUOTE.test(line) && indentOf(line) < CODE_INDENT
    // A paragraph may continue on the next line without the quote mark.
    const goesOn = fence === undefined && !isBlank(line) && !isBlank(inner.at(-1) ?? '') && !endsParagraph(line)
    if (!isQuoted && !goesOn) break
    const text = isQuoted ? line.replace(QUOTE, '') : line.trimStart()
    fence = fenceAfter(text, fence)
    inner.push(text)
  }
  return [{ tag: 'blockquote', children: blocksOf(inner, reading) }, end]
}

function paragraphAt(lines: readonly string[], at: number, { definitions }: Reading): [Markdown, number] {
  let end = at + 1
  for (; end < lines.length; end++) {
    const line = lines[end] as string
    const underline = UNDERLINE.exec(line)?.[1]
    if (underline !== undefined) {
      const children = readInline(textOf(lines, at, end), definitions)
      return [{ tag: 'h', level: underline[0] === '=' ? 1 : 2, children }, end + 1]
    }
    if (isBlank(line) || endsParagraph(line) || tableAt(lines, end) !== undefined) break
  }
  return [{ tag: 'p', children: readInline(textOf(lines, at, end), definitions) }, end]
}

function textOf(lines: readonly string[], from: number, to: number): string {
  return lines
    .slice(from, to)
    .map(line => line.trimStart())
    .join('\n')
    .trimEnd()
}
