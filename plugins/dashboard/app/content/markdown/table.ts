/** GitHub tables: a header line, a line of dashes, then lines of cells. */
import { readInline } from './inline.ts'
import type { Definitions } from './link.ts'
import type { Markdown } from './nodes.ts'

export interface Table {
  readonly titles: readonly string[]
  readonly rows: readonly (readonly string[])[]
  /** Index of the line after the table. */
  readonly end: number
}

/** Maximum number of cells. Larger tables are unreadable anyway. */
const MOST_CELLS = 10_000

export function tableAt(lines: readonly string[], at: number): Table | undefined {
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

export function readTable({ titles, rows }: Table, definitions: Definitions): Markdown {
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
