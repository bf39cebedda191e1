/** The flags `--from` and `--to`. They take the same forms of time as the API. */
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

/** The times in canonical form. */
export function parseTimes({ from, to }: Times): Times {
  return { from: parseTime('from', from), to: parseTime('to', to) }
}

/** One time in canonical form. */
export function parseTime(flag: string, text: string | undefined): string | undefined {
  const time = text === undefined ? undefined : parseTimestamp(text)
  if (time !== undefined || text === undefined) return time
  const form = 'an ISO 8601 date and time, such as 2026-11-21T12:00:00Z'
  throw new UsageError(`--${flag} must be ${form}, but is ${JSON.stringify(text)}`)
}

const DAY_MS = 86_400_000

/** A time as above, or so many days ago: `90d`. In canonical form. */
export function parseMoment(flag: string, text: string | undefined, now = Date.now()): string | undefined {
  const days = parseDays(text)
  return days === undefined ? parseTime(flag, text) : new Date(now - days * DAY_MS).toISOString()
}

/** `30d` is 30; undefined if the text is no number of days. */
export function parseDays(text: string | undefined): number | undefined {
  const days = /^(\d{1,5})d$/.exec(text ?? '')?.[1]
  return days === undefined ? undefined : Number(days)
}
