/** Defines the flags `--from` and `--to`, which accept the API's time formats or a number of days ago. */
import { parseTimestamp } from '../../lib/trace/timestamp.ts'
import { UsageError } from '../command.ts'

export const TIME_FLAGS = {
  from: { type: 'string', value: 'TIME', about: 'only traces that started at this time or later' },
  to: { type: 'string', value: 'TIME', about: 'only traces that started at this time or earlier' }
} as const

interface Times {
  readonly from: string | undefined
  readonly to: string | undefined
}

export function parseTimes({ from, to }: Times): Times {
  return { from: parseMoment('from', from), to: parseMoment('to', to) }
}

const DAY_MS = 86_400_000

/** Parses a time in the API's format, or a number of days ago (`90d`), into canonical form. */
export function parseMoment(flag: string, text: string | undefined, now = Date.now()): string | undefined {
  const days = parseDays(text)
  if (days !== undefined) return new Date(now - days * DAY_MS).toISOString()
  const time = text === undefined ? undefined : parseTimestamp(text)
  if (time !== undefined || text === undefined) return time
  const form = 'an ISO 8601 date and time, such as 2026-11-21T12:00:00Z, or days ago, such as 90d'
  throw new UsageError(`--${flag} must be ${form}, but is ${JSON.stringify(text)}`)
}

/** Parses `30d` as 30; undefined if the string is not a number of days. */
export function parseDays(text: string | undefined): number | undefined {
  const days = /^(\d{1,5})d$/.exec(text ?? '')?.[1]
  return days === undefined ? undefined : Number(days)
}
