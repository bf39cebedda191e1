import type { Static } from 'typebox'
import type { FoundTrace } from '../../../lib/schema/history/search.ts'
import { LIMIT_FLAG, listLines, listPages, parseLimit, printList } from '../../asking/output.ts'
import { withAsker } from '../../asking/place.ts'
import { command } from '../../command.ts'
import { TRACE_TABLE } from '../../terminal/columns.ts'
import type { FittedColumn } from '../../terminal/fitted-table.ts'
import type { Line } from '../../terminal/lines.ts'
import { firstErrorLines } from '../history/span.ts'
import { oneOf } from './conditions.ts'
import { READ_FLAGS, TRACE_SORTS } from './read.ts'
import { readSelection, SEARCH, SELECTION_FLAGS, TRACE_PAGE } from './selection.ts'

type Found = Static<typeof FoundTrace>

const USUAL = 20
const MOST = 10_000

export default command({
  summary: 'Find traces by words, steps, errors, scores, durations, costs and tokens',
  parameters: ['WORDS'],
  lastIsOptional: true,
  lastIsText: true,
  flags: {
    ...SELECTION_FLAGS,
    sort: { type: 'string', value: 'S', about: `${TRACE_SORTS.join(', ')}; newest by default` },
    limit: LIMIT_FLAG(MOST),
    ...READ_FLAGS
  },
  details: [
    'All WORDS, and all phrases in double quotes (\'"delivery address"\'), must occur. To search for words, first turn',
    "on the project's index with `spoor project update SLUG --search on`. The other conditions need no index."
  ].join('\n'),
  examples: [
    `trace search '"delivery address"' --since 7d`,
    'trace search --step search-orders --step-status error --since today',
    "trace search --score 'helpfulness<0.5' --limit 5",
    'trace search refund --sort slowest --since 24h --json'
  ],
  async run(call) {
    const { parameters, flags, env, screen } = call
    const query = {
      q: parameters.WORDS || undefined,
      ...readSelection(flags).query,
      sort: oneOf('sort', flags.sort, TRACE_SORTS)
    }
    const limit = parseLimit('limit', flags.limit, USUAL, MOST)
    const columns = [...TRACE_TABLE, ...scoreColumns(flags.score ?? [])]
    await withAsker(flags, env, asker =>
      printList<Found>(
        call,
        listPages(asker, { path: SEARCH, query, member: 'traces', limit, pageSize: TRACE_PAGE }),
        (rows, end) => {
          const lines = listLines({ columns, rows, width: screen.columns }, end, {
            ...{ nouns: 'traces', limit, most: MOST }
          })
          const found = rows.length === 0 ? lines : lines.flatMap((line, i) => [line, ...whyFound(rows[i - 1])])
          return end.isIncomplete ? [...found, ['The search index is not complete yet.']] : found
        }
      )
    )
  }
})

/** Returns the first error and the excerpts of a found trace. */
function whyFound(trace: Found | undefined): Line[] {
  if (trace === undefined) return []
  const { firstError, excerpt, moreExcerpts } = trace
  const error = firstErrorLines(firstError)
  return excerpt === null ? error : [...error, ...[excerpt, ...moreExcerpts].map(excerptLine)]
}

/** Returns a column for each valid score name in the conditions. */
function scoreColumns(conditions: readonly string[]): FittedColumn<Found>[] {
  const names = conditions.flatMap(condition => /^\s*([\w-]+)/.exec(condition)?.[1] ?? [])
  return [...new Set(names)].map(name => ({
    title: name.toUpperCase(),
    of: ({ scores }) => (Object.hasOwn(scores, name) ? String(scores[name]!.value) : ''),
    least: 5
  }))
}

/** Returns an excerpt on one line, with the words that were found in bold. */
export function excerptLine({ place, role, text, marks }: Omit<NonNullable<Found['excerpt']>, 'spanId'>): Line {
  const line = (part: string) => part.replace(/[\s\p{Cc}]/gu, ' ')
  const ends = [0, ...marks.map(([, end]) => end)]
  const found = marks.flatMap(([start, end], i) => [
    line(text.slice(ends[i], start)),
    { text: line(text.slice(start, end)), style: 'bold' } as const
  ])
  const from = role === null ? place : `${place} (${line(role)})`
  return ['    ', { text: `${from}: `, style: 'dim' }, ...found, line(text.slice(ends.at(-1)))]
}
