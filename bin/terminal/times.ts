/** The flags `--from` and `--to`. They take the same forms of time as the API, and days. */
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
  return { from: parseMoment('from', from), to: parseMoment('to', to) }
}

const DAY_MS = 86_400_000

/** A time as the API takes it, or a number of days ago (`90d`), in canonical form. */
export function parseMoment(flag: string, text: string | undefined, now = Date.now()): string | undefined {
  const days = parseDays(text)
  if (days !== undefined) return new Date(now - days * DAY_MS).toISOString()
  const time = text === undefined ? undefined : parseTimestamp(text)
  if (time !== undefined || text === undefined) return time
  const form = 'an ISO 8601 date and time, such as 2026-11-21T12:00:00Z, or days ago, such as 90d'
  throw new UsageError(`--${flag} must be ${form}, but is ${JSON.stringify(text)}`)
}

/** `30d` is 30; undefined if the text is no number of days. */
export function parseDays(text: string | undefined): number | undefined {
  const days = /^(\d{1,5})d$/.exec(text ?? '')?.[1]
  return days === undefined ? undefined : Number(days)
}
