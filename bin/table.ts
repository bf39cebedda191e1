/** Aligned columns of text for people; scripts use --json. */

/** A table with a heading, numbers to the right; `nothing` where there are no rows. */
export function table(heading: readonly string[], rows: readonly (string | number)[][], nothing: string): string {
  if (rows.length === 0) return nothing
  return alignColumns([[...heading], ...rows]).join('\n')
}

/** One line for each row, its cells padded to the widest of their column; the last column is not padded. */
export function alignColumns(rows: readonly (string | number)[][]): string[] {
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
