/** Splits a period into as few pieces as possible: hours and days at its ends, fortnights in between. */
import { type Period, STEPS } from './period.ts'

const DAY = STEPS.day
export const FORTNIGHT = 14 * DAY
/** Fortnights begin at multiples of their length from this time. */
export const ORIGIN_MS = Date.UTC(2000, 0, 1)

/** Part of a period summed from rows of one length. Times are in milliseconds since 1970; `to` is excluded. */
export interface PeriodPiece {
  readonly length: 'hour' | 'day' | 'fortnight'
  readonly from: number
  readonly to: number
}

/** Splits a period of hours or days into pieces. */
export function piecesOf({ from, to }: Pick<Period, 'from' | 'to'>): PeriodPiece[] {
  return split(from, to, 'hour', (from, to) =>
    split(from, to, 'day', (from, to) => [{ length: 'fortnight', from, to }])
  )
}

const LONGER = { hour: DAY, day: FORTNIGHT } as const

/** Splits a time range into the longer steps wholly within it, and the remainders before and after. */
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
