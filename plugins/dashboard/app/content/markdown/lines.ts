/** Recognizes blocks of Markdown by the beginning of a line. */

/** A line that is indented this far is code. */
export const CODE_INDENT = 4
export const FENCE = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})[ \t]*([^\s`]*)/
export const HEADING = /^ {0,3}(#{1,6})(?=[ \t]|$)/
export const RULE = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/
export const QUOTE = /^ {0,3}> ?/
const MARKER = /^ {0,3}(?:([-*+])|(\d{1,9})([.)]))(?=[ \t]|$)/

export function isBlank(line: string): boolean {
  return line.trim() === ''
}

/** How many columns of space a line begins with; a tab goes to the next column of four. */
export function indentOf(line: string): number {
  let columns = 0
  for (let i = 0; i < line.length; i++) {
    if (line[i] === ' ') columns++
    else if (line[i] === '\t') columns += 4 - (columns % 4)
    else break
  }
  return columns
}

/** A line without that many columns of space, as far as it has them. */
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

/** The mark of an item of a list. */
export interface Marker {
  /** Lists end where another mark begins: `-`, `*`, `+`, `.` or `)`. */
  readonly mark: string
  /** The number of a numbered item. */
  readonly start: number | undefined
  /** The column of the text. */
  readonly column: number
  readonly rest: string
}

/** The mark of an item at the beginning of a line. */
export function markerOf(line: string): Marker | undefined {
  const match = MARKER.exec(line)
  if (match === null || RULE.test(line)) return undefined
  const [marks, bullet, number, end] = match
  const after = line.slice(marks.length)
  const space = indentOf(after)
  // Code, if it is that much; then one column belongs to the mark.
  const width = space >= 1 && space <= 4 ? space : 1
  return {
    mark: bullet ?? (end as string),
    start: number === undefined ? undefined : Number(number),
    column: marks.length + (isBlank(after) ? 1 : width),
    rest: isBlank(after) ? '' : unindent(after, width)
  }
}

/** Whether a line begins something else than the paragraph it would belong to. */
export function endsParagraph(line: string): boolean {
  if (indentOf(line) >= CODE_INDENT) return false
  const marker = markerOf(line)
  const startsList = marker !== undefined && marker.rest !== '' && (marker.start === undefined || marker.start === 1)
  return startsList || FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line)
}

/** Whether a fence is open after a line, where one was before it or not. */
export function fenceAfter(line: string, open: string | undefined): string | undefined {
  const [, fence] = FENCE.exec(line) ?? []
  if (open === undefined) return fence
  return isClosing(line, open) ? undefined : open
}

export function isClosing(line: string, fence: string): boolean {
  const text = line.trim()
  return indentOf(line) < CODE_INDENT && text.length >= fence.length && text === fence[0]!.repeat(text.length)
}
