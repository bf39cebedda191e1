/** Lays out tables of recorded data so that each row fits on one line of the terminal. */
import { visible } from '../../lib/log-text.ts'
import { cutTo, type Line, type LinePiece, pieceText, widthOf } from './lines.ts'

export interface FittedColumn<Row> {
  readonly title: string
  of(row: Row): string | LinePiece
  /** Whether cells are right-aligned, as numbers are. */
  readonly isNumber?: true
  /** Width to which the column may be cut; undefined if the column is never cut. */
  readonly least?: number
  /**
   * Order in which columns are dropped if the table is too wide: the highest rank first. A column without a rank stays.
   */
  readonly rank?: number
}

const GAP = '  '

/**
 * Returns the heading and one line per row. If the table is wider than `width`, columns are cut first, and then
 * dropped. Empty columns are always dropped.
 */
export function fitTable<Row>(columns: readonly FittedColumn<Row>[], rows: readonly Row[], width: number): Line[] {
  const all = columns.map(column => {
    const cells = rows.map(row => {
      const cell = column.of(row)
      const style = typeof cell === 'string' ? undefined : cell.style
      return { text: visible(pieceText(cell)), style }
    })
    const widest = cells.reduce((most, { text }) => Math.max(most, widthOf(text)), 0)
    return { column, cells, isEmpty: widest === 0, natural: Math.max(widest, column.title.length) }
  })
  let shown = all.filter(({ isEmpty, column }) => !isEmpty || column.rank === undefined)
  let widths = widthsFor(shown, width)
  while (widths === undefined) {
    const last = shown.reduce((most, each) => ((each.column.rank ?? -1) > (most?.column.rank ?? -1) ? each : most))
    if (last.column.rank === undefined) break
    shown = shown.filter(each => each !== last)
    widths = widthsFor(shown, width)
  }
  const final = widths ?? shown.map(leastOf)
  const lineOf = (cells: readonly LinePiece[]): Line =>
    cells.flatMap((cell, i) => {
      const text = cutTo(cell.text, final[i]!)
      const padding = ' '.repeat(final[i]! - widthOf(text))
      const gap = i === 0 ? '' : GAP
      const piece = { text, style: cell.style }
      return shown[i]!.column.isNumber ? [gap + padding, piece] : [gap, piece, padding]
    })
  const heading: LinePiece[] = shown.map(({ column }) => ({ text: column.title, style: 'dim' }))
  return [lineOf(heading), ...rows.map((_, row) => lineOf(shown.map(({ cells }) => cells[row]!)))]
}

interface Sized {
  readonly column: Pick<FittedColumn<never>, 'least'>
  readonly natural: number
}

const leastOf = ({ column: { least }, natural }: Sized): number => Math.min(natural, least ?? natural)

/** Returns the columns' widths, cut where necessary; undefined if the columns do not fit. */
function widthsFor(columns: readonly Sized[], width: number): number[] | undefined {
  const widths = columns.map(({ natural }) => natural)
  const gaps = GAP.length * (columns.length - 1)
  let over = widths.reduce((sum, each) => sum + each, gaps) - width
  while (over > 0) {
    // The widest column is cut first, down to the width of the next.
    const open = widths.flatMap((each, i) => (each > leastOf(columns[i]!) ? [{ each, i }] : []))
    const widest = open.reduce((most, { each }) => Math.max(most, each), 0)
    const cut = open.filter(({ each }) => each === widest)
    if (cut.length === 0) return undefined
    const next = open.reduce((most, { each }) => (each < widest ? Math.max(most, each) : most), 0)
    for (const { i } of cut) {
      if (over <= 0) break
      const by = Math.min(over, widest - Math.max(next, leastOf(columns[i]!)))
      widths[i]! -= by
      over -= by
    }
  }
  return widths
}
