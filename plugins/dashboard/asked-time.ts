/**
 * Reads a query's time range, which is either relative to now or has explicit bounds. Trace charts and score charts
 * both use this module, so that both kinds of charts cover the same days.
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
  /** Time zone offset in minutes east of UTC. Days start at midnight in this zone. */
  offset: Type.Optional(Type.Integer({ minimum: ZONES.west, maximum: ZONES.east }))
}

interface TimeQuery {
  readonly range?: Range
  readonly from?: string
  readonly to?: string
  readonly offset?: number
}

/** The requested time range in milliseconds since 1970, and the chart steps that overlap the range. */
export interface AskedTime {
  readonly from: number
  readonly to: number
  readonly period: Period
}

/** PostgreSQL cannot express earlier times in ISO 8601. */
export const YEAR_1 = Date.parse('0001-01-01T00:00:00Z')

/**
 * `to` defaults to now. Without `from`, the parameter `range` gives the length, or the default `usual` if `range` is
 * missing too. Throws `invalid_request`.
 */
export function readTimeQuery({ range, from, to, offset }: TimeQuery, usual: Range): AskedTime {
  const now = Date.now()
  if (from === undefined && to === undefined) {
    const period = periodOf(range ?? usual, now, offset)
    return { from: period.from, to: now, period }
  }
  if (range !== undefined) refuseField('range', 'cannot be combined with `from` and `to`')
  const end = read('to', to) ?? now
  const begin = read('from', from) ?? Math.max(YEAR_1, end - RANGES[usual])
  if (end <= begin)
    refuseField('to', to === undefined ? 'is required if `from` is in the future' : 'must be later than `from`')
  if (end - begin > MOST_DAYS * STEPS.day) refuseField('from', `must be at most ${MOST_DAYS} days before \`to\``)
  return { from: begin, to: end, period: periodBetween(begin, end, offset) }
}

function read(name: string, text: string | undefined): number | undefined {
  const time = readTime(name, text)
  return time === undefined ? undefined : Date.parse(time)
}
