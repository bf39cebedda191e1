/** Formats aligned tables for people. Scripts use --json. */
import { visible } from '../../lib/log-text.ts'

/** Returns a table with a heading and right-aligned numbers, or the string `nothing` if there are no rows. */
export function table(heading: readonly string[], rows: readonly (string | number)[][], nothing: string): string {
  if (rows.length === 0) return nothing
  return alignColumns([[...heading], ...rows]).join('\n')
}

/** Returns one line per row. Pads cells, except in the last column, to the width of the column's widest cell. */
export function alignColumns(cells: readonly (string | number)[][]): string[] {
  // A line break in a cell would let the cell's author forge a row.
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
