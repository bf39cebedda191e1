import { FIELD_VALUES } from '../../lib/schema/field-values.ts'
import type { ScoreOutput } from '../../lib/schema/output.ts'
import {
  LIMIT_FLAG,
  type ListEnd,
  listLines,
  listPages,
  OUTPUT_FLAGS,
  parseId,
  parseLimit,
  printAnswer,
  printList
} from '../asking/output.ts'
import { ASKING_FLAGS, withAsker } from '../asking/place.ts'
import { command, UsageError } from '../command.ts'
import { SCORE_TABLE } from '../terminal/columns.ts'
import type { Line } from '../terminal/lines.ts'
import { CONDITION_FLAGS, parseText, queryOf, readConditions } from './traces/conditions.ts'

const USUAL = 50
const MOST = 100_000
const PAGE = 500
type DataType = (typeof FIELD_VALUES.dataType)[number]

const { since, from, to, before, environment } = CONDITION_FLAGS

export const scoreList = command({
  summary: 'List scores, newest first',
  flags: {
    trace: { type: 'string', value: 'TRACE', about: "only this trace's scores" },
    name: { type: 'string', value: 'N', about: 'only scores with this exact name' },
    since: { ...since, about: since.about.replace('traces that started', 'scores added') },
    from,
    to: { ...to, about: 'only scores added at this time or earlier' },
    before: { ...before, about: 'only scores added before this time' },
    environment: { ...environment, about: 'only scores of traces in this environment, or `unassigned`' },
    limit: LIMIT_FLAG(MOST),
    ...ASKING_FLAGS,
    ...OUTPUT_FLAGS
  },
  examples: [
    'score list --name helpfulness --since 7d',
    'score list --trace 4bf92f3577b34da6a3ce929d0e0e4736',
    'score list --project default --ndjson'
  ],
  async run(call) {
    const { flags, env, screen } = call
    const limit = parseLimit('limit', flags.limit, USUAL, MOST)
    const none = { tag: undefined, status: undefined, model: undefined, session: undefined, user: undefined }
    const conditions = readConditions({ ...flags, ...none, errors: false })
    const describe = (rows: readonly ScoreOutput[], end: ListEnd): Line[] =>
      listLines({ columns: SCORE_TABLE, rows, width: screen.columns }, end, { nouns: 'scores', limit, most: MOST })
    await withAsker(flags, env, async asker => {
      if (flags.trace === undefined) {
        const request = { path: '/api/v1/scores', query: queryOf(conditions), member: 'scores', limit, pageSize: PAGE }
        return printList(call, listPages<ScoreOutput>(asker, request), describe)
      }
      const { name, ...others } = conditions
      if (Object.values(others).some(value => value !== undefined)) {
        throw new UsageError('--trace can be combined only with --name and --limit')
      }
      const path = `/api/v1/traces/${parseId('--trace', flags.trace, 32)}/scores`
      const { scores } = JSON.parse(await asker.ask('GET', path)) as { scores: ScoreOutput[] }
      const fitting = scores.filter(score => name === undefined || score.name === name)
      const pages = (async function* () {
        yield fitting.slice(0, limit)
        return { hasMore: fitting.length > limit }
      })()
      return printList(call, pages, describe)
    })
  }
})

export const scoreAdd = command({
  summary: 'Add a score to a trace',
  parameters: ['TRACE', 'NAME', 'VALUE'],
  flags: {
    type: {
      type: 'string',
      value: 'T',
      about: `${FIELD_VALUES.dataType.join(', ')}; derived from VALUE by default`
    },
    comment: { type: 'string', value: 'C', about: 'a comment on the score' },
    step: { type: 'string', value: 'STEP', about: 'the id of the step to score; the whole trace by default' },
    ...ASKING_FLAGS,
    ...OUTPUT_FLAGS
  },
  details: [
    'VALUE is a number, `true` or `false`, or a category. Put two dashes before a negative number: `-- -1`. If the',
    'trace already has a score with this name, the new score becomes its newest.'
  ].join('\n'),
  examples: [
    'score add 4bf92f3577b34da6a3ce929d0e0e4736 helpfulness 0.8',
    'score add 4bf92f3577b34da6a3ce929d0e0e4736 correct false --comment "names another city"',
    'score add 4bf92f3577b34da6a3ce929d0e0e4736 topic billing --project default'
  ],
  async run(call) {
    const { parameters, flags, env } = call
    const id = parseId('TRACE', parameters.TRACE, 32)
    const spanId = flags.step === undefined ? undefined : parseId('--step', flags.step, 16)
    const comment = parseText('comment', flags.comment)
    const judged = readValue(parameters.VALUE, readType(flags.type))
    const body = { name: parameters.NAME, ...judged, ...(comment && { comment }), ...(spanId && { spanId }) }
    const text = await withAsker(flags, env, asker => asker.ask('POST', `/api/v1/traces/${id}/scores`, body))
    await printAnswer<{ score: ScoreOutput }>(call, text, ({ score }) => [
      [`added score ${score.name} = ${score.value} (${score.dataType}) to trace ${score.traceId}`]
    ])
  }
})

function readType(text: string | undefined): DataType | undefined {
  const type = FIELD_VALUES.dataType.find(type => type === text)
  if (type !== undefined || text === undefined) return type
  throw new UsageError(`--type must be one of ${FIELD_VALUES.dataType.join(', ')}, not ${JSON.stringify(text)}`)
}

const NUMBER = /^-?(?:\d+(?:\.\d+)?|\.\d+)(?:e[+-]?\d+)?$/i

/** Returns the value and its type: the specified type, or the type inferred from the text. */
export function readValue(text: string, type?: DataType): { dataType: DataType; value: string | number | boolean } {
  const isBoolean = text === 'true' || text === 'false'
  const isNumber = NUMBER.test(text) && Number.isFinite(Number(text))
  const dataType = type ?? (isBoolean ? 'boolean' : isNumber ? 'numeric' : 'categorical')
  if (dataType === 'boolean' && !isBoolean) throw new UsageError(`VALUE must be true or false, not ${shown(text)}`)
  if (dataType === 'numeric' && !isNumber) throw new UsageError(`VALUE must be a number, not ${shown(text)}`)
  if (text === '') throw new UsageError('VALUE must not be empty')
  return { dataType, value: dataType === 'boolean' ? text === 'true' : dataType === 'numeric' ? Number(text) : text }
}

const shown = (text: string): string => JSON.stringify(text)
