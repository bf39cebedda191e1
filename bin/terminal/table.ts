/** Tables of aligned text for people. Scripts use --json. */
import { visible } from '../../lib/log-text.ts'

/** A table with a heading, and with numbers to the right. The text `nothing` if there are no rows. */
export function table(heading: readonly string[], rows: readonly (string | number)[][], nothing: string): string {
  if (rows.length === 0) return nothing
  return alignColumns([[...heading], ...rows]).join('\n')
}

/** One line for each row. Cells are padded to the widest of their column, except in the last column. */
export function alignColumns(cells: readonly (string | number)[][]): string[] {
  // A line break within a cell would let its author begin a row.
  const rows = cells.map(row => row.map(cell => (typeof cell === 'number' ? cell : visible(cell))))
  const widths: number[] = []
  for (const row of rows) {
    row.forEach((cell, i) => {
      widths[i] = Math.max(widths[i] ?? 0, String(cell).length)
    })
  }
  return rows.map(row =>
    row
      .map((cell, i) => (typeof cell === 'number' ? String(cell).padStart(widths[i]!) : cell.padEnd(widths[i]!)))
      .join('  ')
      .trimEnd()
  )
}
