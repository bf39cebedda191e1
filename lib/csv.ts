/** Cells of tables, and their representation in CSV files. */

/** A value of a table. In a string, each character is one byte of UTF-8. */
export type Cell = string | number | null

/** A `json` cell contains a value as JSON; it is null for a missing text, {} or []. */
export type CellType = 'text' | 'integer' | 'number' | 'time' | 'json'

/** Matches text that a spreadsheet would treat as the start of a formula. */
const FORMULA = /^[=+\-@\t\r\n]/
const QUOTED = /[",\r\n]/

/**
 * Returns a cell of a CSV file (RFC 4180). A text that a spreadsheet would run as a formula gets a leading apostrophe.
 * JSON needs none, because JSON that begins with a minus is a number.
 */
export function csvCell(cell: Cell, type: CellType): string {
  if (cell === null) return ''
  if (typeof cell === 'number') return String(cell)
  const safe = type === 'text' && FORMULA.test(cell) ? `'${cell}` : cell
  return QUOTED.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
