/** Recognises Markdown blocks by the start of a line. */

/** Columns of indentation that make a line code. */
export const CODE_INDENT = 4
export const FENCE = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})[ \t]*([^\s`]*)/
export const HEADING = /^ {0,3}(#{1,6})(?=[ \t]|$)/
export const RULE = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/
export const QUOTE = /^ {0,3}> ?/
const MARKER = /^ {0,3}(?:([-*+])|(\d{1,9})([.)]))(?=[ \t]|$)/

export function isBlank(line: string): boolean {
  return line.trim() === ''
}

/** Returns the number of columns of leading whitespace. A tab advances to the next multiple of four. */
export function indentOf(line: string): number {
  let columns = 0
  for (let i = 0; i < line.length; i++) {
    if (line[i] === ' ') columns++
    else if (line[i] === '\t') columns += 4 - (columns % 4)
    else break
  }
  return columns
}

/** Removes up to `columns` columns of leading whitespace. */
export function unindent(line: string, columns: number): string {
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

export interface Marker {
  /** A different mark starts a new list: `-`, `*`, `+`, `.` or `)`. */
  readonly mark: string
  /** The number in a numbered list. */
  readonly start: number | undefined
  /** Column where the item's text starts. */
  readonly column: number
  readonly rest: string
}

export function markerOf(line: string): Marker | undefined {
  const match = MARKER.exec(line)
  if (match === null || RULE.test(line)) return undefined
  const [marks, bullet, number, end] = match
  const after = line.slice(marks.length)
  const space = indentOf(after)
  // With five or more columns of space, the item starts with indented code, and the marker takes one column.
  const width = space >= 1 && space <= 4 ? space : 1
  return {
    mark: bullet ?? (end as string),
    start: number === undefined ? undefined : Number(number),
    column: marks.length + (isBlank(after) ? 1 : width),
    rest: isBlank(after) ? '' : unindent(after, width)
  }
}

/** Returns whether a line starts a new block rather than continuing a paragraph. */
export function endsParagraph(line: string): boolean {
  if (indentOf(line) >= CODE_INDENT) return false
  const marker = markerOf(line)
  const startsList = marker !== undefined && marker.rest !== '' && (marker.start === undefined || marker.start === 1)
  return startsList || FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line)
}

/** Returns the fence that is open after a line, given the fence open before it, if any. */
export function fenceAfter(line: string, open: string | undefined): string | undefined {
  const [, fence] = FENCE.exec(line) ?? []
  if (open === undefined) return fence
  return isClosing(line, open) ? undefined : open
}

export function isClosing(line: string, fence: string): boolean {
  const text = line.trim()
  return indentOf(line) < CODE_INDENT && text.length >= fence.length && text === fence[0]!.repeat(text.length)
}
