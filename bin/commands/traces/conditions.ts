/** Defines the flags with which commands select traces, as one table that all of these commands share. */
import type { TraceConditions } from '../../../lib/store/trace/trace-conditions.ts'
import { parseEnvironment, UNASSIGNED } from '../../../lib/trace/environment.ts'
import { epochMs, isBefore, microsOf, timestampOf } from '../../../lib/trace/timestamp.ts'
import type { QueryMembers } from '../../asking/asker.ts'
import { UsageError } from '../../command.ts'
import { parseEnd, parseMoment, readDuration, TIME_FLAGS } from '../../terminal/times.ts'

const STATUSES: readonly string[] = ['ok', 'error', 'unset', 'running']

export const CONDITION_FLAGS = {
  since: TIME_FLAGS.from,
  from: { type: 'string', value: 'TIME', about: 'the same as --since' },
  to: TIME_FLAGS.to,
  before: { type: 'string', value: 'TIME', about: 'only traces that started before this time' },
  environment: { type: 'string', value: 'E', about: 'only traces in this environment, or `unassigned`' },
  tag: { type: 'string', value: 'T', about: 'only traces with this tag' },
  status: { type: 'string', value: 'S', about: `only traces with this status: ${STATUSES.join(', ')}` },
  errors: { type: 'boolean', about: 'only traces with status error or a failed step' },
  name: { type: 'string', value: 'N', about: 'only traces with this exact name' },
  model: { type: 'string', value: 'M', about: 'only traces that use this model' },
  session: { type: 'string', value: 'ID', about: 'only traces in this session' },
  user: { type: 'string', value: 'ID', about: 'only traces by this user' }
} as const

type Conditioned = typeof CONDITION_FLAGS
type ConditionFlags = {
  readonly [Name in keyof Conditioned]: Conditioned[Name]['type'] extends 'boolean' ? boolean : string | undefined
}

/** Validates the given conditions, and returns them with times in canonical form. */
export function readConditions(flags: ConditionFlags): TraceConditions {
  const { since, from, to, before } = flags
  if (since !== undefined && from !== undefined) throw new UsageError('--since and --from mean the same: use only one')
  return {
    environment: readEnvironment(flags.environment),
    tag: parseText('tag', flags.tag),
    status: oneOf('status', flags.status, STATUSES),
    errors: flags.errors || undefined,
    name: parseText('name', flags.name),
    model: parseText('model', flags.model),
    sessionId: parseText('session', flags.session),
    userId: parseText('user', flags.user),
    from: parseMoment(since === undefined ? 'from' : 'since', since ?? from),
    to: parseEnd('to', to),
    before: parseMoment('before', before)
  }
}

/** Returns the conditions as a query of the trace list or of the search. */
export function queryOf({ before, to, ...same }: TraceConditions): QueryMembers {
  const last = before === undefined ? undefined : justBefore(before)
  return { ...same, to: last !== undefined && (to === undefined || isBefore(last, to)) ? last : to }
}

const shifted = (time: string, micros: number): string => timestampOf(epochMs(time) * 1000 + microsOf(time) + micros)
const justBefore = (time: string): string => shifted(time, -1)
export const justAfter = (time: string): string => shifted(time, 1)

export function parseText(flag: string, text: string | undefined): string | undefined {
  if (text !== '') return text
  throw new UsageError(`--${flag} must not be empty`)
}

export function readEnvironment(text: string | undefined): string | undefined {
  return text === undefined || text.toLowerCase() === UNASSIGNED ? text?.toLowerCase() : parseEnvironment(text)
}

/** Parses a duration as milliseconds. */
export function parseDuration(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const [, millis] = /^(\d{1,12}) ?ms$/.exec(text) ?? []
  const ms = millis === undefined ? readDuration(text) : Number(millis)
  if (ms !== undefined) return Math.round(ms)
  throw new UsageError(`--${flag} must be a duration, such as 500ms, 2s or 1m30s, not ${JSON.stringify(text)}`)
}

/** Checks that the text is one of the values. */
export function oneOf(flag: string, text: string | undefined, values: readonly string[]): string | undefined {
  if (text === undefined || values.includes(text)) return text
  throw new UsageError(`--${flag} must be one of ${values.join(', ')}, not ${JSON.stringify(text)}`)
}
