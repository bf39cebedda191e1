import type { Static } from 'typebox'
import type { SessionDetail, SessionList } from '../../../lib/schema/history/groups.ts'
import { type Asker, requestPath } from '../../asking/asker.ts'
import {
  jsonLine,
  LIMIT_FLAG,
  listLines,
  listPages,
  OUTPUT_FLAGS,
  parseLimit,
  printList,
  refuseBoth
} from '../../asking/output.ts'
import { ASKING_FLAGS, withAsker } from '../../asking/place.ts'
import { command } from '../../command.ts'
import { TRACE_TABLE } from '../../terminal/columns.ts'
import { type FittedColumn, fitTable } from '../../terminal/fitted-table.ts'
import type { Line } from '../../terminal/lines.ts'
import { count, counted, duration, longClock, money, shortClock } from '../../terminal/words.ts'
import { CONDITION_FLAGS, parseText, readEnvironment } from '../traces/conditions.ts'
import { firstErrorLines } from './span.ts'

type Session = Static<typeof SessionList>['sessions'][number]
type Detail = Static<typeof SessionDetail>

const SESSIONS = '/api/v1/sessions'
const USUAL = 50
const MOST = 100_000
const PAGE = 100
const TRACES_PAGE = 200

const COLUMNS: readonly FittedColumn<Session>[] = [
  { title: 'SESSION', of: ({ id }) => ({ text: id, style: 'cyan' }) },
  { title: 'LAST TRACE (UTC)', of: ({ lastStartedAt }) => shortClock(lastStartedAt), rank: 2 },
  { title: 'FIRST', of: ({ firstStartedAt }) => shortClock(firstStartedAt), rank: 5 },
  { title: 'TRACES', of: ({ traceCount, partial }) => `${count(traceCount)}${partial ? '+' : ''}`, isNumber: true },
  { title: 'ERRORS', of: errorsOf, isNumber: true },
  {
    title: 'TOKENS',
    of: ({ inputTokens, outputTokens }) => count(inputTokens + outputTokens),
    isNumber: true,
    rank: 4
  },
  { title: 'COST', of: ({ costUsd }) => money(costUsd), isNumber: true, rank: 3 }
]

function errorsOf({ errorCount }: Session) {
  return errorCount === 0 ? '0' : ({ text: count(errorCount), style: 'red' } as const)
}

export const sessionList = command({
  summary: 'List sessions, ordered by their newest traces',
  flags: {
    user: { type: 'string', value: 'ID', about: 'only sessions with a trace by this user' },
    environment: { ...CONDITION_FLAGS.environment, about: 'only sessions with a trace in this environment' },
    prefix: { type: 'string', value: 'P', about: 'only sessions with ids that begin with this text' },
    limit: LIMIT_FLAG(MOST),
    ...ASKING_FLAGS,
    ...OUTPUT_FLAGS
  },
  examples: ['session list', 'session list --user user-42 --limit 5', 'session list --project default --ndjson'],
  async run(call) {
    const { flags, env, screen } = call
    const query = {
      userId: parseText('user', flags.user),
      environment: readEnvironment(flags.environment),
      prefix: parseText('prefix', flags.prefix)
    }
    const limit = parseLimit('limit', flags.limit, USUAL, MOST)
    await withAsker(flags, env, asker =>
      printList<Session>(
        call,
        listPages(asker, { path: SESSIONS, query, member: 'sessions', limit, pageSize: PAGE }),
        (rows, end) =>
          listLines({ columns: COLUMNS, rows, width: screen.columns }, end, { nouns: 'sessions', limit, most: MOST })
      )
    )
  }
})

export const sessionShow = command({
  summary: 'Show a session and its traces, oldest first',
  parameters: ['SESSION'],
  flags: { limit: LIMIT_FLAG(MOST), ...ASKING_FLAGS, ...OUTPUT_FLAGS },
  details: 'With --json, the output has the fields `session` and `traces`. With --ndjson, each line is a trace.',
  examples: ['session show chat-7', 'session show chat-7 --project default --json'],
  async run(call) {
    const { parameters, flags, env, screen, stream } = call
    refuseBoth(call)
    const limit = parseLimit('limit', flags.limit, USUAL, MOST)
    const found = await withAsker(flags, env, asker => readSession(asker, parameters.SESSION, limit))
    const { session, traces, hasMore } = found
    const { stringifyExact } = await import('../../../lib/trace/json/exact-json.ts')
    if (call.json) await stream(jsonLine(stringifyExact({ session, traces })))
    else if (flags.ndjson) await stream(traces.map(trace => jsonLine(stringifyExact(trace))).join(''))
    else {
      const more = hasMore ? [[`More traces follow: --limit ${Math.min(MOST, limit * 4)} shows more.`]] : []
      const [heading = [], ...rows] = fitTable(TRACE_TABLE, traces, screen.columns)
      const turns = rows.flatMap((row, i) => [row, ...firstErrorLines(traces[i]!.firstError)])
      await screen.page([...factLines(session), [], heading, ...turns, ...more])
    }
  }
})

async function readSession(asker: Asker, id: string, limit: number) {
  const path = `${SESSIONS}/${encodeURIComponent(id)}`
  // Loaded here because --help does not need this module.
  const { parseExact } = await import('../../../lib/trace/json/exact-json.ts')
  const traces: Detail['traces'] = []
  let after: string | undefined
  for (;;) {
    const asked = requestPath(path, { limit: Math.min(limit - traces.length, TRACES_PAGE), after })
    const answer = parseExact(await asker.ask('GET', asked)) as Detail
    traces.push(...answer.traces)
    after = answer.nextCursor ?? undefined
    const isDone = after === undefined || traces.length >= limit
    if (isDone) return { session: answer.session, traces, hasMore: after !== undefined }
  }
}

function factLines(session: Detail['session']): Line[] {
  const { traceCount, partial, errorCount, runningCount, users } = session
  const facts: [string, string][] = [
    ['started', `${longClock(session.firstStartedAt)} UTC`],
    ['last trace', `${longClock(session.lastStartedAt)} UTC`],
    [
      'traces',
      `${counted(traceCount, 'trace')}${partial ? ' and older ones' : ''}, ${count(errorCount)} with status error`
    ],
    ['running', runningCount === 0 ? '' : count(runningCount)],
    ['duration', duration(session.durationMs)],
    ['tokens', `${count(session.inputTokens)} in, ${count(session.outputTokens)} out`],
    ['cost', money(session.costUsd)],
    ['users', users.join(', ')]
  ]
  return [
    [{ text: session.id, style: 'bold' }],
    ...facts.flatMap(([name, value]): Line[] =>
      value === '' ? [] : [[{ text: name.padEnd(13), style: 'dim' }, value]]
    )
  ]
}
