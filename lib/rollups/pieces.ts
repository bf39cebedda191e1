/** A time in as few pieces as there are: hours and days at its ends, fortnights between. */
import { type Period, STEPS } from './period.ts'

const DAY = STEPS.day
export const FORTNIGHT = 14 * DAY
/** Fortnights begin at multiples of their length from here. */
export const ORIGIN_MS = Date.UTC(2000, 0, 1)

/** All of a time that is added up from rows of this length. Milliseconds since 1970; `to` is no part of it. */
export interface PeriodPiece {
  readonly length: 'hour' | 'day' | 'fortnight'
  readonly from: number
  readonly to: number
}

/** The pieces of a period by hours or days. */
export function piecesOf({ from, to }: Pick<Period, 'from' | 'to'>): PeriodPiece[] {
  return split(from, to, 'hour', (from, to) =>
    split(from, to, 'day', (from, to) => [{ length: 'fortnight', from, to }])
  )
}

const LONGER = { hour: DAY, day: FORTNIGHT } as const

/** Splits a time into the longer steps that are wholly in it, and the rest before and after them. */
function split(
  from: number,
  to: number,
  length: keyof typeof LONGER,
  between: (from: number, to: number) => PeriodPiece[]
): PeriodPiece[] {
  const longer = LONGER[length]
  const first = Math.ceil((from - ORIGIN_MS) / longer) * longer + ORIGIN_MS
  const last = Math.floor((to - ORIGIN_MS) / longer) * longer + ORIGIN_MS
  if (first >= last) return [{ length, from, to }]
  return [{ length, from, to: first }, ...between(first, last), { length, from: last, to }].filter(
    (piece): piece is PeriodPiece => piece.from < piece.to
  )
}
