/** The flags `--from` and `--to`. They take the same forms of time as the API. */
import { parseTimestamp } from '../lib/trace/timestamp.ts'
import { UsageError } from './command.ts'

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

function parseTime(flag: string, text: string | undefined): string | undefined {
  const time = text === undefined ? undefined : parseTimestamp(text)
  if (time !== undefined || text === undefined) return time
  const form = 'an ISO 8601 date and time, such as 2026-11-21T12:00:00Z'
  throw new UsageError(`--${flag} must be ${form}, but is ${JSON.stringify(text)}`)
}
