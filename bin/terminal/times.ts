/** Parses times as people write them, and defines the flags `--from` and `--to`. */
import { parseTimestamp } from '../../lib/trace/timestamp.ts'
import { UsageError } from '../command.ts'

/** Description of a time in the help of a flag. */
const FORMS = 'a time such as 2026-01-31 or 2026-01-31T12:00Z, or an age such as 90m, 12h or 7d'

export const TIME_FLAGS = {
  from: { type: 'string', value: 'TIME', about: `only traces that started at this time or later: ${FORMS}` },
  to: {
    type: 'string',
    value: 'TIME',
    about: 'only traces that started at this time or earlier; a date includes that day'
  }
} as const

interface Times {
  readonly from: string | undefined
  readonly to: string | undefined
}

export function parseTimes({ from, to }: Times): Times {
  return { from: parseMoment('from', from), to: parseEnd('to', to) }
}

/** Parses the value of a flag into canonical form. A date means its first moment. */
export function parseMoment(flag: string, text: string | undefined, now = Date.now()): string | undefined {
  return text === undefined ? undefined : (readMoments(text, now)?.first ?? refuse(flag, text))
}

/** Like `parseMoment`, but a date means its last moment, so that `--to 2026-01-31` includes that day. */
export function parseEnd(flag: string, text: string | undefined, now = Date.now()): string | undefined {
  return text === undefined ? undefined : (readMoments(text, now)?.last ?? refuse(flag, text))
}

function refuse(flag: string, text: string): never {
  const form =
    'an ISO 8601 date or time, such as 2026-11-21 or 2026-11-21T12:00:00Z, `today`, `yesterday`, or an age such as ' +
    '30m, 12h or 90d'
  throw new UsageError(`--${flag} must be ${form}, not ${JSON.stringify(text)}`)
}

const DAY_MS = 86_400_000
const UNIT_MS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: DAY_MS,
  w: 7 * DAY_MS
}

interface Period {
  readonly first: string
  readonly last: string
}

/**
 * Reads a date, a date and time, `now`, `today`, `yesterday`, or a time ago (`90d`, `1h30m`). A missing zone means UTC,
 * as in the API. Returns the first and last moment of a day, or the same moment twice.
 */
export function readMoments(text: string, now: number): Period | undefined {
  const ms = readDuration(text)
  if (ms !== undefined) return now - ms < YEAR_ONE_MS ? undefined : moment(new Date(now - ms).toISOString())
  const word = text.toLowerCase()
  if (word === 'now') return moment(new Date(now).toISOString())
  if (word === 'today') return day(new Date(now).toISOString().slice(0, 10))
  if (word === 'yesterday') return day(new Date(now - DAY_MS).toISOString().slice(0, 10))
  if (/^\d{4}-\d\d-\d\d$/.test(text)) return day(text)
  const [, minutes, zone] = /^(\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d)([Zz]|[+-][\d:]+)?$/.exec(text) ?? []
  return moment(parseTimestamp(minutes === undefined ? text : `${minutes}:00${zone ?? ''}`))
}

/** 0001-01-01T00:00:00Z, the earliest time that spoor stores. */
const YEAR_ONE_MS = -62_135_596_800_000

const moment = (time: string | undefined): Period | undefined => (time && { first: time, last: time }) || undefined

function day(date: string): Period | undefined {
  const first = parseTimestamp(`${date}T00:00:00.000Z`)
  return (first && { first, last: `${date}T23:59:59.999999Z` }) || undefined
}

/** Reads a duration such as `90d`, `12h` or `1h30m` as milliseconds. */
export function readDuration(text: string): number | undefined {
  if (!/^(?:\d{1,9}(?:\.\d{1,3})?(?:min|[smhdw]))+$/i.test(text)) return undefined
  const parts = text.toLowerCase().matchAll(/([\d.]+)([a-z]+)/g)
  return Array.from(parts, ([, amount, unit]) => Number(amount) * UNIT_MS[unit!]!).reduce((sum, part) => sum + part, 0)
}

/** Parses `30d` as 30; undefined if the string is not a number of days. */
export function parseDays(text: string | undefined): number | undefined {
  const days = /^(\d{1,5})d$/.exec(text ?? '')?.[1]
  return days === undefined ? undefined : Number(days)
}
