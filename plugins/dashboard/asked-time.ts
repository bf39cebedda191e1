/**
 * The time that a query is about: a range up to now, or its two ends. Charts of traces and charts of scores have the
 * same days.
 */
import Type from 'typebox'
import { refuseField } from '../../lib/http/refuse.ts'
import {
  MOST_DAYS,
  type Period,
  periodBetween,
  periodOf,
  RANGES,
  type Range,
  STEPS,
  ZONES
} from '../../lib/rollups/period.ts'
import { Timestamp } from '../../lib/schema/input.ts'
import { readTime } from '../paging.ts'

const instant = Type.Optional(Timestamp)

export const TIME = {
  range: Type.Optional(Type.Enum(Object.keys(RANGES) as Range[])),
  from: instant,
  to: instant,
  /** Minutes east of UTC: whose midnights begin days. */
  offset: Type.Optional(Type.Integer({ minimum: ZONES.west, maximum: ZONES.east }))
}

interface TimeQuery {
  readonly range?: Range
  readonly from?: string
  readonly to?: string
  readonly offset?: number
}

/** Milliseconds since 1970: the time as it was asked for, and the steps that it touches. */
export interface AskedTime {
  readonly from: number
  readonly to: number
  readonly period: Period
}

/** Before it PostgreSQL has no times in the form of ISO 8601. */
const YEAR_1 = Date.parse('0001-01-01T00:00:00Z')

/** Without `to` a time ends now; without `from` it is as long as the range, `usual` if there is none either. */
export function readTimeQuery({ range, from, to, offset }: TimeQuery, usual: Range): AskedTime {
  const now = Date.now()
  if (from === undefined && to === undefined) {
    const period = periodOf(range ?? usual, now, offset)
    return { from: period.from, to: now, period }
  }
  if (range !== undefined) refuseField('range', 'cannot be combined with from and to')
  const end = read('to', to) ?? now
  const begin = read('from', from) ?? Math.max(YEAR_1, end - RANGES[usual])
  if (end <= begin)
    refuseField('to', to === undefined ? 'must be given where from is not past' : 'must be later than from')
  if (end - begin > MOST_DAYS * STEPS.day) refuseField('from', `must be at most ${MOST_DAYS} days before to`)
  return { from: begin, to: end, period: periodBetween(begin, end, offset) }
}

function read(name: string, text: string | undefined): number | undefined {
  const time = readTime(name, text)
  return time === undefined ? undefined : Date.parse(time)
}
