import type { Static } from 'typebox'
import { FIELD_VALUES } from '../../../lib/schema/field-values.ts'
import type { FoundTrace } from '../../../lib/schema/history/search.ts'
import { LIMIT_FLAG, listLines, listPages, parseLimit, printList } from '../../asking/output.ts'
import { withAsker } from '../../asking/place.ts'
import { command, UsageError } from '../../command.ts'
import { TRACE_TABLE } from '../../terminal/columns.ts'
import type { FittedColumn } from '../../terminal/fitted-table.ts'
import type { Line } from '../../terminal/lines.ts'
import { firstErrorLines, parseDuration } from '../history/span.ts'
import { CONDITION_FLAGS, oneOf, parseText, readConditions } from './conditions.ts'
import { queryOf, READ_FLAGS, TRACE_SORTS } from './read.ts'

type Found = Static<typeof FoundTrace>

const USUAL = 20
const MOST = 10_000
const PAGE = 200

const { tag, ...CONDITIONS } = CONDITION_FLAGS
const duration = (about: string) => ({ type: 'string', value: 'D', about }) as const
const amount = (value: string, about: string) => ({ type: 'string', value, about }) as const

export default command({
  summary: 'Find traces by words, steps, errors, scores, durations, costs and tokens',
  parameters: ['WORDS'],
  lastIsOptional: true,
  lastIsText: true,
  flags: {
    ...CONDITIONS,
    tag: { ...tag, repeats: true, about: `${tag.about}; may be repeated` },
    'runs-only': { type: 'boolean', about: 'only traces with a cost, or with a model, agent, tool or retriever call' },
    step: { type: 'string', value: 'N', about: 'only traces with a step of exactly this name' },
    'step-kind': { type: 'string', value: 'K', about: `the kind of that step: ${FIELD_VALUES.spanKind.join(', ')}` },
    'step-status': { type: 'string', value: 'S', about: `the status of that step: ${FIELD_VALUES.status.join(', ')}` },
    error: { type: 'string', value: 'E', about: 'the type of the error of that step, or words of its message' },
    score: {
      type: 'string',
      value: 'C',
      repeats: true,
      about: "a condition on the newest score of a name, such as 'helpfulness<0.5' or grounded=true; may be repeated"
    },
    annotated: { type: 'string', value: 'yes|no', about: 'only traces with, or without, a score from the dashboard' },
    'min-duration': duration('only traces that took at least this long, such as 2s or 500ms'),
    'max-duration': duration('only traces that took at most this long'),
    'min-cost': amount('USD', 'only traces that cost at least this much'),
    'max-cost': amount('USD', 'only traces that cost at most this much'),
    'min-tokens': amount('N', 'only traces with at least this many tokens'),
    'max-tokens': amount('N', 'only traces with at most this many tokens'),
    sort: { type: 'string', value: 'S', about: `${TRACE_SORTS.join(', ')}; newest by default` },
    limit: LIMIT_FLAG(MOST),
    ...READ_FLAGS
  },
  details: [
    "WORDS and phrases in double quotes ('\"delivery address\"') must all occur. They need the project's index of",
    'words, which `spoor project update SLUG --search on` turns on. The other conditions need no index.'
  ].join('\n'),
  examples: [
    `trace search '"delivery address"' --since 7d`,
    'trace search --step search-orders --step-status error --since today',
    "trace search --score 'helpfulness<0.5' --limit 5",
    'trace search refund --sort slowest --since 24h --json'
  ],
  async run(call) {
    const { parameters, flags, env, screen } = call
    const { tag: tags, score: scores } = flags
    if ([...(tags ?? []), ...(scores ?? [])].includes('')) throw new UsageError('--tag and --score must not be empty')
    const { tag: _, ...conditions } = queryOf(readConditions({ ...flags, tag: undefined }))
    const query = {
      q: parameters.WORDS || undefined,
      ...conditions,
      tag: tags,
      runsOnly: flags['runs-only'] || undefined,
      step: parseText('step', flags.step),
      stepKind: oneOf('step-kind', flags['step-kind'], FIELD_VALUES.spanKind),
      stepStatus: oneOf('step-status', flags['step-status'], FIELD_VALUES.status),
      error: parseText('error', flags.error),
      score: scores,
      annotated: readSwitch(flags.annotated),
      minDurationMs: parseDuration('min-duration', flags['min-duration']),
      maxDurationMs: parseDuration('max-duration', flags['max-duration']),
      minCostUsd: parseAmount('min-cost', flags['min-cost']),
      maxCostUsd: parseAmount('max-cost', flags['max-cost']),
      minTotalTokens: parseAmount('min-tokens', flags['min-tokens']),
      maxTotalTokens: parseAmount('max-tokens', flags['max-tokens']),
      sort: oneOf('sort', flags.sort, TRACE_SORTS)
    }
    const limit = parseLimit('limit', flags.limit, USUAL, MOST)
    const columns = [...TRACE_TABLE, ...scoreColumns(scores ?? [])]
    await withAsker(flags, env, asker =>
      printList<Found>(
        call,
        listPages(asker, { path: '/api/v1/search', query, member: 'traces', limit, pageSize: PAGE }),
        (rows, end) => {
          const lines = listLines({ columns, rows, width: screen.columns }, end, {
            ...{ nouns: 'traces', limit, most: MOST }
          })
          const found = rows.length === 0 ? lines : lines.flatMap((line, i) => [line, ...whyFound(rows[i - 1])])
          return end.isIncomplete ? [...found, ['The index of words is not complete yet.']] : found
        }
      )
    )
  }
})

/** Returns the first error and the excerpt of a found trace. */
function whyFound(trace: Found | undefined): Line[] {
  if (trace === undefined) return []
  const { firstError, excerpt } = trace
  const error = firstErrorLines(firstError)
  return excerpt === null ? error : [...error, excerptLine(excerpt)]
}

/** Returns columns with the values of the scores that the conditions name, as far as the names are valid. */
function scoreColumns(conditions: readonly string[]): FittedColumn<Found>[] {
  const names = conditions.flatMap(condition => /^\s*([\w-]+)/.exec(condition)?.[1] ?? [])
  return [...new Set(names)].map(name => ({
    title: name.toUpperCase(),
    of: ({ scores }) => (Object.hasOwn(scores, name) ? String(scores[name]!.value) : ''),
    least: 5
  }))
}

/** Returns an excerpt on one line, with the words that were found in bold. */
export function excerptLine({ place, text, marks }: NonNullable<Found['excerpt']>): Line {
  const line = (part: string) => part.replace(/[\s\p{Cc}]/gu, ' ')
  const ends = [0, ...marks.map(([, end]) => end)]
  const found = marks.flatMap(([start, end], i) => [
    line(text.slice(ends[i], start)),
    { text: line(text.slice(start, end)), style: 'bold' } as const
  ])
  return ['    ', { text: `${place}: `, style: 'dim' }, ...found, line(text.slice(ends.at(-1)))]
}

function readSwitch(text: string | undefined): boolean | undefined {
  const value = oneOf('annotated', text, ['yes', 'no'])
  return value === undefined ? undefined : value === 'yes'
}

function parseAmount(flag: string, text: string | undefined): string | undefined {
  if (text === undefined || /^\d{1,15}(?:\.\d{1,12})?$/.test(text)) return text
  throw new UsageError(`--${flag} must be a number of 0 or more, but is ${JSON.stringify(text)}`)
}
