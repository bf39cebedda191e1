/**
 * Parses Markdown into a tree of the few elements that the page draws. HTML stays text, links may only use `https:`,
 * `http:` and `mailto:`, and images must be data URIs, so nothing needs sanitising. Existing parsers are four times as
 * large as this parser and take quadratic time for some texts; this parser takes linear time. The parser supports
 * CommonMark and GitHub's tables, tasks and strikethrough, but not HTML, entities or bare e-mail addresses, which stay
 * text. Line breaks are kept, because people and models intend them.
 *
 * Blocks are parsed line by line. The lines of a quote or list item are collected without the markers and parsed as
 * blocks, so each line is read once per nesting level.
 */

import { readInline } from './inline.ts'
import { type Definitions, isDefinition, readDefinitions } from './link.ts'
import type { Markdown } from './nodes.ts'

/** Minimum indentation of a line of indented code, in columns. */
const CODE_INDENT = 4
const FORMULA = /^ {0,3}(?:\$\$|\\\[)[ \t]*$/
const FORMULA_END = /^ {0,3}(?:\$\$|\\\])[ \t]*[.,;]?[ \t]*$/
/** Maximum number of lines of a formula, which bounds the search for its end. */
const MOST_FORMULA_LINES = 60
const FENCE = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})[ \t]*([^\s`]*)/
const HEADING = /^ {0,3}(#{1,6})(?=[ \t]|$)/
const RULE = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/
const QUOTE = /^ {0,3}> ?/
const MARKER = /^ {0,3}(?:([-*+])|(\d{1,9})([.)]))(?=[ \t]|$)/

function isBlank(line: string): boolean {
  return line.trim() === ''
}

/** Returns the number of columns of leading whitespace. A tab advances to the next multiple of four. */
function indentOf(line: string): number {
  let columns = 0
  for (let i = 0; i < line.length; i++) {
    if (line[i] === ' ') columns++
    else if (line[i] === '\t') columns += 4 - (columns % 4)
    else break
  }
  return columns
}

/** Removes up to `columns` columns of leading whitespace. */
function unindent(line: string, columns: number): string {
  let at = 0
  for (let column = 0; column < columns && at < line.length; at++) {
    if (line[at] === ' ') column++
    else if (line[at] === '\t') {
      column += 4 - (column % 4)
      if (column > columns) return ' '.repeat(column - columns) + line.slice(at + 1)
    } else break
  }
  return line.slice(at)
}

interface Marker {
  /** The list mark: `-`, `*`, `+`, `.` or `)`. A different mark starts a new list. */
  readonly mark: string
  /** The number in a numbered list. */
  readonly start: number | undefined
  /** Column where the item's text starts. */
  readonly column: number
  readonly rest: string
}

function markerOf(line: string): Marker | undefined {
  const match = MARKER.exec(line)
  if (match === null || RULE.test(line)) return undefined
  const [marks, bullet, number, end] = match
  const after = line.slice(marks.length)
  const space = indentOf(after)
  // If five or more columns of space follow the marker, the item starts with indented code, and the marker includes
  // only one of these columns.
  const width = space >= 1 && space <= 4 ? space : 1
  return {
    mark: bullet ?? (end as string),
    start: number === undefined ? undefined : Number(number),
    column: marks.length + (isBlank(after) ? 1 : width),
    rest: isBlank(after) ? '' : unindent(after, width)
  }
}

/** Returns whether a line starts a new block rather than continuing a paragraph. */
function endsParagraph(line: string): boolean {
  if (indentOf(line) >= CODE_INDENT) return false
  const marker = markerOf(line)
  const startsList = marker !== undefined && marker.rest !== '' && (marker.start === undefined || marker.start === 1)
  return (
    startsList || FORMULA.test(line) || FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line)
  )
}

/** Returns the fence that is open after a line, given the fence open before it, if any. */
function fenceAfter(line: string, open: string | undefined): string | undefined {
  const [, fence] = FENCE.exec(line) ?? []
  if (open === undefined) return fence
  return isClosing(line, open) ? undefined : open
}

function isClosing(line: string, fence: string): boolean {
  const text = line.trim()
  return indentOf(line) < CODE_INDENT && text.length >= fence.length && text === fence[0]!.repeat(text.length)
}

/** Maximum length for Markdown, in characters. */
export const MARKDOWN_MOST = 150_000

/** Returns the parsed text; undefined if the text is too long. */
export function readMarkdown(text: string): Markdown[] | undefined {
  return text.length > MARKDOWN_MOST ? undefined : readBlocks(text.replace(/\r\n?/g, '\n').split('\n'))
}

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

/** Returns the block that starts at a line, if any, and the index of the line after the block. */
function blockAt(lines: readonly string[], at: number, reading: Reading): [Markdown | undefined, number] {
  const line = lines[at] as string
  if (isBlank(line) || isDefinition(line)) return [undefined, at + 1]
  if (indentOf(line) >= CODE_INDENT) return indentedAt(lines, at)
  const fence = FENCE.exec(line)
  if (fence !== null) return fencedAt(lines, at, fence)
  const formula = formulaAt(lines, at)
  if (formula !== undefined) return formula
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

/** Returns a TeX formula between two lines of delimiters, as preformatted text; undefined if there is none. */
function formulaAt(lines: readonly string[], at: number): [Markdown, number] | undefined {
  if (!FORMULA.test(lines[at] as string)) return undefined
  for (let end = at + 1; end < lines.length && end - at < MOST_FORMULA_LINES; end++) {
    if (!FORMULA_END.test(lines[end] as string)) continue
    return [{ tag: 'pre', text: lines.slice(at, end + 1).join('\n'), language: 'tex' }, end + 1]
  }
  return undefined
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

const TASK = /^\[([ xX])\](?=[ \t])/

interface Item {
  readonly lines: string[]
  /** Whether a blank line separates this item from the next. */
  isApart: boolean
}

type Read = (lines: readonly string[]) => Markdown[]

/**
 * Returns the list that starts at a line, and the index of the line after the list. The `read` callback parses an
 * item's blocks.
 */
function listAt(lines: readonly string[], at: number, read: Read): [Markdown, number] {
  const first = markerOf(lines[at] as string) as Marker
  const items: Item[] = []
  let end = at
  for (let marker: Marker | undefined = first; marker !== undefined; ) {
    const [item, next]: [Item, number] = itemAt(lines, end, marker)
    items.push(item)
    end = next
    const line: string | undefined = lines[next]
    const following: Marker | undefined = line === undefined ? undefined : markerOf(line)
    marker = following?.mark === first.mark ? following : undefined
    if (marker === undefined) item.isApart = false
  }
  const blocks = items.map(({ lines }) => itemOf(lines, read))
  const isLoose =
    items.some(({ isApart }) => isApart) || blocks.some(each => each.filter(node => isParagraph(node)).length > 1)
  const children = blocks.map((each): Markdown => ({ tag: 'li', children: isLoose ? each : each.flatMap(bare) }))
  return [first.start === undefined ? { tag: 'ul', children } : { tag: 'ol', start: first.start, children }, end]
}

/** Returns an item's lines without marker and indentation, and the index of the line after the item. */
function itemAt(lines: readonly string[], at: number, { column, mark, rest }: Marker): [Item, number] {
  const item: Item = { lines: [rest], isApart: false }
  let fence = fenceAfter(rest, undefined)
  let end = at + 1
  for (let i = end; i < lines.length; i++) {
    const line = lines[i] as string
    if (isBlank(line)) continue
    const gap = i - end
    const indent = indentOf(line)
    const marker = markerOf(line)
    // Two columns suffice for a nested list, because authors often indent by two even if the number is wider.
    const isWithin = indent >= column || (indent >= 2 && marker !== undefined && marker.mark !== mark)
    const goesOn = gap === 0 && marker === undefined && fence === undefined && rest !== '' && !endsParagraph(line)
    if (!isWithin && !goesOn) {
      item.isApart = gap > 0
      return [item, i]
    }
    for (let k = 0; k < gap; k++) item.lines.push('')
    const text = unindent(line, Math.min(indent, column))
    fence = fenceAfter(text, fence)
    item.lines.push(text)
    end = i + 1
  }
  return [item, lines.length]
}

function itemOf(lines: readonly string[], read: Read): Markdown[] {
  const [first = '', ...rest] = lines
  const box = TASK.exec(first)?.[1]
  if (box === undefined) return read(lines)
  return [{ tag: 'task', done: box !== ' ' }, ...read([first.slice(3).trimStart(), ...rest])]
}

const isParagraph = (node: Markdown): node is { tag: 'p'; children: readonly Markdown[] } =>
  typeof node !== 'string' && node.tag === 'p'

const bare = (node: Markdown): readonly Markdown[] => (isParagraph(node) ? node.children : [node])

interface Table {
  readonly titles: readonly string[]
  readonly rows: readonly (readonly string[])[]
  /** Index of the line after the table. */
  readonly end: number
}

/** Maximum number of cells. Larger tables are unreadable anyway. */
const MOST_CELLS = 10_000

/** GitHub tables: a header line, a line of dashes, then lines of cells. */
function tableAt(lines: readonly string[], at: number): Table | undefined {
  const [first, second] = [lines[at] as string, lines[at + 1]]
  if (second === undefined || !first.includes('|') || !/^[ \t|:-]+$/.test(second)) return undefined
  const titles = cellsOf(first)
  const dashes = cellsOf(second)
  if (titles.length !== dashes.length || !dashes.every(cell => /^:?-+:?$/.test(cell))) return undefined
  const rows: string[][] = []
  let end = at + 2
  for (; end < lines.length && (rows.length + 2) * titles.length <= MOST_CELLS; end++) {
    const line = lines[end] as string
    if (!line.includes('|')) break
    const cells = cellsOf(line)
    rows.push(titles.map((_, i) => cells[i] ?? ''))
  }
  return { titles, rows, end }
}

function readTable({ titles, rows }: Table, definitions: Definitions): Markdown {
  const row = (tag: 'th' | 'td', cells: readonly string[]): Markdown => ({
    tag: 'tr',
    children: cells.map(cell => ({ tag, children: readInline(cell, definitions) }))
  })
  return { tag: 'table', children: [row('th', titles), ...rows.map(cells => row('td', cells))] }
}

/** Splits a line into cells; `\|` is not a separator. */
function cellsOf(line: string): string[] {
  const cells: string[] = ['']
  const text = line.trim()
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '\\' && text[i + 1] === '|') {
      cells[cells.length - 1] = `${cells.at(-1)}|`
      i++
    } else if (text[i] === '|') cells.push('')
    else cells[cells.length - 1] = `${cells.at(-1)}${text[i]}`
  }
  if (cells[0]!.trim() === '' && cells.length > 1) cells.shift()
  if (cells.at(-1)!.trim() === '' && cells.length > 1) cells.pop()
  return cells.map(cell => cell.trim())
}
