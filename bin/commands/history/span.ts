import type { Static } from 'typebox'
import { FIELD_VALUES } from '../../../lib/schema/field-values.ts'
import type { FirstError } from '../../../lib/schema/history/search.ts'
import type { ListedSpan, SpanList } from '../../../lib/schema/history/span-list.ts'
import { type Asker, type QueryMembers, requestPath } from '../../asking/asker.ts'
import {
  LIMIT_FLAG,
  type ListEnd,
  listLines,
  listPages,
  OUTPUT_FLAGS,
  parseId,
  parseLimit,
  printList
} from '../../asking/output.ts'
import { ASKING_FLAGS, withAsker } from '../../asking/place.ts'
import { command } from '../../command.ts'
import { statusPiece } from '../../terminal/columns.ts'
import type { FittedColumn } from '../../terminal/fitted-table.ts'
import type { Line } from '../../terminal/lines.ts'
import { count, duration, money, shortClock } from '../../terminal/words.ts'
import { oneOf, parseDuration, parseText } from '../traces/conditions.ts'
import { PERIOD_FLAGS, periodQuery, TRACE_FILTER_FLAGS, traceFilters } from './period.ts'

const USUAL = 50
const SPANS = '/api/v1/spans'
/** Maximum number of requests for the slowest steps. Each examines tens of thousands of traces. */
const MOST_REQUESTS = 20
const SPAN_SORTS = ['newest', 'slowest']
const MOST = 100_000
const PAGE = 200
/** The API returns fewer steps per page if they include their texts. */
const PAGE_WITH_TEXTS = 20

type Listed = Static<typeof ListedSpan>

const COLUMNS: readonly FittedColumn<Listed>[] = [
  { title: 'TRACE', of: ({ traceId }) => ({ text: traceId, style: 'cyan' }) },
  { title: 'STARTED (UTC)', of: ({ startedAt }) => shortClock(startedAt), rank: 4 },
  { title: 'STEP', of: ({ name }) => name, least: 16 },
  { title: 'KIND', of: ({ kind }) => kind, rank: 5 },
  { title: 'STATUS', of: ({ status }) => statusPiece(status) },
  { title: 'DURATION', of: ({ durationMs }) => duration(durationMs), isNumber: true },
  { title: 'TOKENS', of: ({ usage }) => (usage === null ? '' : count(usage.totalTokens)), isNumber: true, rank: 6 },
  { title: 'COST', of: ({ costUsd }) => money(costUsd), isNumber: true, rank: 7 },
  { title: 'MODEL', of: ({ model }) => model ?? '', least: 8, rank: 8 },
  { title: 'IN TRACE', of: ({ traceName }) => traceName, least: 8, rank: 9 }
]

/** Returns the type and the message of an error on one line. */
export const errorText = (error: { readonly type: string | null; readonly message: string | null } | null): string =>
  [error?.type, error?.message].filter(Boolean).join(': ').replace(/\s+/g, ' ')

function errorLine(error: Listed['error']): Line[] {
  const reason = errorText(error)
  return reason === '' ? [] : [['    ', { text: reason, style: 'red' }]]
}

/** Returns a line for the step that failed first, if any. */
export function firstErrorLines(error: Static<typeof FirstError> | null): Line[] {
  if (error === null) return []
  const reason = errorText(error)
  return [['    ', { text: `✗ ${error.step}`, style: 'red' }, reason === '' ? '' : `: ${reason}`]]
}

export const spanList = command({
  summary: 'List steps across traces, newest first',
  flags: {
    kind: { type: 'string', value: 'K', about: `only steps of this kind: ${FIELD_VALUES.spanKind.join(', ')}` },
    name: { type: 'string', value: 'N', about: 'only steps with this exact name' },
    status: { type: 'string', value: 'S', about: `only steps with this status: ${FIELD_VALUES.status.join(', ')}` },
    model: { type: 'string', value: 'M', about: 'only steps that use this model' },
    trace: { type: 'string', value: 'TRACE', about: 'only steps of this trace' },
    'min-duration': { type: 'string', value: 'D', about: 'only steps with at least this duration, such as 2s' },
    'no-cost': { type: 'boolean', about: 'only steps with no known cost, such as calls to models without a price' },
    ...TRACE_FILTER_FLAGS,
    ...PERIOD_FLAGS,
    sort: { type: 'string', value: 'S', about: `${SPAN_SORTS.join(', ')}; newest by default` },
    texts: { type: 'boolean', about: 'also show inputs, outputs, attributes and events' },
    limit: LIMIT_FLAG(MOST),
    ...ASKING_FLAGS,
    ...OUTPUT_FLAGS
  },
  examples: [
    'span list --kind tool --status error --since today',
    'span list --kind llm --sort slowest --since 7d',
    'span list --user user-42 --min-duration 10s',
    'span list --kind llm --no-cost --since 7d',
    'span list --name search-orders --texts --limit 3'
  ],
  async run(call) {
    const { flags, env, screen } = call
    const query = {
      ...periodQuery(flags),
      ...traceFilters(flags),
      sort: oneOf('sort', flags.sort, SPAN_SORTS),
      kind: oneOf('kind', flags.kind, FIELD_VALUES.spanKind),
      name: parseText('name', flags.name),
      status: oneOf('status', flags.status, FIELD_VALUES.status),
      model: parseText('model', flags.model),
      traceId: flags.trace === undefined ? undefined : parseId('--trace', flags.trace, 32),
      minDurationMs: parseDuration('min-duration', flags['min-duration']),
      withoutCost: flags['no-cost'] || undefined,
      texts: flags.texts || undefined
    }
    const pageSize = flags.texts ? PAGE_WITH_TEXTS : PAGE
    const most = query.sort === 'slowest' ? pageSize : MOST
    const limit = parseLimit('limit', flags.limit, flags.texts ? PAGE_WITH_TEXTS : USUAL, most)
    // Loaded here because --help does not need this module.
    const { TEXTS, valueLines } = await import('../../terminal/trace-lines.ts')
    const textLines = (span: Listed) => (flags.texts ? TEXTS.flatMap(name => valueLines(name, span[name], '    ')) : [])
    await withAsker(flags, env, asker =>
      printList<Listed>(
        call,
        query.sort === 'slowest'
          ? readSlowest(asker, query, limit)
          : listPages<Listed>(asker, { path: SPANS, query, member: 'spans', limit, pageSize }),
        (rows, end) => {
          const lines = listLines({ columns: COLUMNS, rows, width: screen.columns }, end, {
            ...{ nouns: 'steps', limit, most }
          })
          return lines.flatMap((line, i) => {
            const span = rows[i - 1]
            return span === undefined ? [line] : [line, ...errorLine(span.error), ...textLines(span)]
          })
        }
      )
    )
  }
})

/** Yields the slowest steps. Each request covers different traces. */
async function* readSlowest(asker: Asker, query: QueryMembers, limit: number): AsyncGenerator<Listed[], ListEnd> {
  // Loaded here because --help does not need this module.
  const { parseExact } = await import('../../../lib/trace/json/exact-json.ts')
  let found: Listed[] = []
  let page: Static<typeof SpanList> | undefined
  let hint: string | null = null
  for (let requests = 0; requests === 0 || (page?.nextCursor != null && requests < MOST_REQUESTS); requests++) {
    const asked = requestPath(SPANS, { ...query, limit, after: page?.nextCursor ?? undefined })
    page = parseExact(await asker.ask('GET', asked)) as Static<typeof SpanList>
    hint ??= page.hint
    found = [...found, ...page.spans].sort((a, b) => b.durationMs - a.durationMs).slice(0, limit)
  }
  yield found
  return { hasMore: page?.nextCursor != null, reached: page?.reached ?? undefined, hint }
}
