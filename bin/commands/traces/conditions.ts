/** Defines the flags with which commands select traces. */
import { UsageError } from '../../command.ts'
import { parseMoment } from '../../terminal/times.ts'

const STATUSES: readonly string[] = ['ok', 'error', 'unset', 'running']

export const CONDITION_FLAGS = {
  before: {
    type: 'string',
    value: 'TIME',
    about: 'only traces that started before this time, or before a number of days ago, such as 90d'
  },
  from: { type: 'string', value: 'TIME', about: 'only traces that started at this time or later' },
  environment: { type: 'string', value: 'E', about: 'only traces of this environment, or `unassigned`' },
  tag: { type: 'string', value: 'T', about: 'only traces with this tag' },
  status: { type: 'string', value: 'S', about: `only traces with this status: ${STATUSES.join(', ')}` },
  name: { type: 'string', value: 'N', about: 'only traces with exactly this name' }
} as const

type ConditionFlags = { readonly [Name in keyof typeof CONDITION_FLAGS]: string | undefined }

/** Validates the given conditions, and returns them with times in canonical form. */
export function readConditions({ before, from, environment, tag, status, name }: ConditionFlags) {
  return {
    environment,
    tag: parseText('tag', tag),
    name: parseText('name', name),
    status: parseStatus(status),
    from: parseMoment('from', from),
    before: parseMoment('before', before)
  }
}

export function parseText(flag: string, text: string | undefined): string | undefined {
  if (text !== '') return text
  throw new UsageError(`--${flag} must not be empty`)
}

function parseStatus(text: string | undefined): string | undefined {
  if (text === undefined || STATUSES.includes(text)) return text
  throw new UsageError(`--status must be one of ${STATUSES.join(', ')}, but is ${JSON.stringify(text)}`)
}
