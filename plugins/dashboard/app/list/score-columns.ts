/**
 * The score columns of a CSV file of traces: one per name, with the newest value. Columns have the same names and
 * values as in `spoor export` (lib/moving/tables/columns.ts).
 */
import { csvCell } from '../../../../lib/csv.ts'

/** A line of the file without its scores, and the newest value of each score. */
export interface TableRow {
  readonly cells: string
  readonly scores: Readonly<Record<string, string | number | boolean>>
}

/** Returns the file's lines. A name is a column if any of the rows has such a score; columns are in order of names. */
export function linesOf(head: string, rows: readonly TableRow[]): string[] {
  const names = [...new Set(rows.flatMap(({ scores }) => Object.keys(scores)))].sort()
  const line = (cells: readonly string[]) => `${cells.join(',')}\r\n`
  return [
    line([head, ...names.map(name => `score:${name}`)]),
    ...rows.map(({ cells, scores }) => line([cells, ...names.map(name => cellOf(scores, name))]))
  ]
}

function cellOf(scores: TableRow['scores'], name: string): string {
  if (!Object.hasOwn(scores, name)) return ''
  const value = scores[name]!
  return csvCell(typeof value === 'boolean' ? String(value) : value, 'text')
}
