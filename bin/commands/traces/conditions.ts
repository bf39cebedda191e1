/** Defines the flags with which commands select traces, as one table that all of these commands share. */
import type { TraceConditions } from '../../../lib/store/trace/trace-conditions.ts'
import { parseEnvironment, UNASSIGNED } from '../../../lib/trace/environment.ts'
import { UsageError } from '../../command.ts'
import { parseEnd, parseMoment, TIME_FLAGS } from '../../terminal/times.ts'

const STATUSES: readonly string[] = ['ok', 'error', 'unset', 'running']

export const CONDITION_FLAGS = {
  since: TIME_FLAGS.from,
  from: { type: 'string', value: 'TIME', about: 'the same as --since' },
  to: TIME_FLAGS.to,
  before: { type: 'string', value: 'TIME', about: 'only traces that started before this time' },
  environment: { type: 'string', value: 'E', about: 'only traces of this environment, or `unassigned`' },
  tag: { type: 'string', value: 'T', about: 'only traces with this tag' },
  status: { type: 'string', value: 'S', about: `only traces with this status: ${STATUSES.join(', ')}` },
  errors: { type: 'boolean', about: 'only traces with the status error or with a failed step' },
  name: { type: 'string', value: 'N', about: 'only traces with exactly this name' },
  model: { type: 'string', value: 'M', about: 'only traces of this model' },
  session: { type: 'string', value: 'ID', about: 'only traces of this session' },
  user: { type: 'string', value: 'ID', about: 'only traces of this user' }
} as const

type Conditioned = typeof CONDITION_FLAGS
type ConditionFlags = {
  readonly [Name in keyof Conditioned]: Conditioned[Name]['type'] extends 'boolean' ? boolean : string | undefined
}

/** Validates the given conditions, and returns them with times in canonical form. */
export function readConditions(flags: ConditionFlags): TraceConditions {
  const { since, from, to, before } = flags
  if (since !== undefined && from !== undefined) throw new UsageError('--since and --from mean the same: use one')
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

export function parseText(flag: string, text: string | undefined): string | undefined {
  if (text !== '') return text
  throw new UsageError(`--${flag} must not be empty`)
}

export function readEnvironment(text: string | undefined): string | undefined {
  return text === undefined || text.toLowerCase() === UNASSIGNED ? text?.toLowerCase() : parseEnvironment(text)
}

/** Checks that the text is one of the values. */
export function oneOf(flag: string, text: string | undefined, values: readonly string[]): string | undefined {
  if (text === undefined || values.includes(text)) return text
  throw new UsageError(`--${flag} must be one of ${values.join(', ')}, but is ${JSON.stringify(text)}`)
}
