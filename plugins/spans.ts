/** Routes for steps across traces: their list, and failures in groups. */
import type { App } from '../lib/app.ts'
import type { ProjectRead } from '../lib/database/sql-access.ts'
import { checkQueryTexts, refuseField } from '../lib/http/refuse.ts'
import { JsonText, type RequestOf } from '../lib/http/route.ts'
import { WEIGHTS } from '../lib/limits/large-reads.ts'
import {
  FAILURE_DAYS,
  FailureList,
  FailureListQuery,
  MOST_STEPS,
  MOST_WITH_TEXTS,
  SpanList,
  SpanListQuery
} from '../lib/schema/history/span-list.ts'
import { pageSizeOf } from '../lib/schema/query.ts'
import { plain, text } from '../lib/store/answers/json-text.ts'
import { FAILURE_ORDER, type FailureQuery, groupFailures, TRACE_KIND } from '../lib/store/failures/read-failures.ts'
import { renderGroup, renderStep } from '../lib/store/failures/render-group.ts'
import type { WalkedTraces } from '../lib/store/finding/trace-portions.ts'
import { explainEmpty } from '../lib/store/hints/explain-empty.ts'
import { listSpans, SLOWEST_ORDER, SPAN_ORDER, type SpanQuery } from '../lib/store/spans/span-list.ts'
import { parseTimestamp } from '../lib/trace/timestamp.ts'
import { readCursor, readTime, renderCursor } from './paging.ts'

const DAY_MS = 86_400_000

export default function spans(app: App): void {
  app.route({
    method: 'GET',
    path: '/api/v1/spans',
    operation: 'listSpans',
    access: 'traces:read',
    summary: 'List spans across traces',
    description:
      'Lists spans of the newest traces first and, within a trace, the newest spans first, unless `sort=slowest`. ' +
      'Filters combine with AND. A request examines up to 5,000 traces, and stops after 300 ms, so any page may be ' +
      "short or empty: continue until nextCursor is null. Without `texts=true`, only the sizes of a span's texts are " +
      'returned.',
    query: SpanListQuery,
    replies: { 200: SpanList },
    links: { getTrace: { traceId: '/spans/0/traceId' } },
    handler: request => answerSpanList(app, request.key.projectId, request.query, request)
  })

  app.route({
    method: 'GET',
    path: '/api/v1/errors',
    operation: 'listErrors',
    access: 'traces:read',
    summary: 'Group failures',
    description:
      'Groups failed steps by name, error type and message. Ids, paths, times, numbers and quoted names in messages ' +
      'are ignored. A trace with status `error` but no failed step is itself counted as a failure. By default, the ' +
      `last ${FAILURE_DAYS} days are included. A request examines up to 5,000 traces, newest first, and stops after ` +
      '300 ms. `complete` says whether it examined them all, and `reached` how far it got.',
    query: FailureListQuery,
    replies: { 200: FailureList },
    links: { getTrace: { traceId: '/errors/0/example/traceId' } },
    async handler(request) {
      const { projectId } = request.key
      const asked = readFailureQuery(request.query)
      const limit = pageSizeOf(request.query)
      const found = await inTurn(app, projectId, request, WEIGHTS.search, async (sql, names) => {
        const failures = await groupFailures(sql, projectId, asked, names)
        const isEmpty = failures.count === 0 && asked.after === undefined
        const { kind, name, model: stepModel, trace } = asked
        const own = kind === TRACE_KIND ? { name: name ?? trace.name } : { step: name }
        const stopped = failures.next && {}
        const empty = { sought: 'failure', values: { ...hintValues(trace), ...own, stepModel }, stopped }
        return { ...failures, hint: isEmpty ? await explainEmpty(sql, projectId, empty, names) : null }
      })
      const { groups, steps, count, next, reached, hint } = found
      const rest =
        `"steps":[${steps.slice(0, MOST_STEPS).map(renderStep).join(',')}],"failureCount":${count},"groupCount":${groups.length},"complete":${next === undefined},` +
        `"reached":${plain(reached ?? null)},"nextCursor":${renderCursor(FAILURE_ORDER, next)},"hint":${text(hint)},` +
        `"pageSize":${limit}`
      const shown = groups.slice(0, limit).map(renderGroup).join(',')
      return {
        body: new JsonText(`{"from":"${asked.trace.from}","to":"${asked.trace.to}","errors":[${shown}],${rest}}`)
      }
    }
  })
}

/** Responds with a list of a project's spans, for the API and the dashboard. */
export async function answerSpanList(
  app: App,
  projectId: number,
  query: SpanListQuery,
  request: InTurn
): Promise<{ readonly body: JsonText }> {
  const asked = readSpanQuery(query)
  const { spans, next, reached, hint } = await inTurn(app, projectId, request, WEIGHTS.analysis, async (sql, names) => {
    const page = await listSpans(sql, projectId, asked, names)
    const isEmpty = page.spans === '[]' && asked.after === undefined
    const { name: step, model: stepModel, traceId, trace } = asked
    const stopped = page.next && {}
    const empty = { sought: 'span', values: { ...hintValues(trace), step, stepModel, traceId }, stopped }
    return { ...page, hint: isEmpty ? await explainEmpty(sql, projectId, empty, names) : null }
  })
  const rest = `"reached":${plain(reached ?? null)},"hint":${text(hint)},"pageSize":${asked.limit}`
  return { body: new JsonText(`{"spans":${spans},"nextCursor":${renderCursor(orderOf(asked), next)},${rest}}`) }
}

type InTurn = Pick<RequestOf<unknown>, 'signal' | 'party'>

/** Reads when it is the project's turn, because walks can be slow. */
const inTurn = <T>(app: App, projectId: number, request: InTurn, weight: number, work: ProjectRead<T>): Promise<T> =>
  app.largeReads.run(projectId, () => app.sql.readOf(projectId, work, request), { weight, client: request })

const orderOf = ({ sort }: Pick<SpanQuery, 'sort'>) => (sort === 'slowest' ? SLOWEST_ORDER : SPAN_ORDER)

/** Reads the parameters and checks rules that their schema cannot express. */
export function readSpanQuery(query: SpanListQuery): SpanQuery {
  const { texts = false, limit, traceId, after, kind, name, status, model, minDurationMs, withoutCost, sort } = query
  checkQueryTexts(query)
  if (texts && limit !== undefined && limit > MOST_WITH_TEXTS) {
    refuseField('limit', `must be at most ${MOST_WITH_TEXTS} with \`texts=true\``)
  }
  return {
    ...{ kind, name, status, model, minDurationMs, texts, sort },
    withoutCost: withoutCost || undefined,
    traceId: traceId?.toLowerCase(),
    trace: { ...traceFilters(query), from: readTime('from', query.from), to: readTime('to', query.to) },
    limit: limit ?? (texts ? MOST_WITH_TEXTS : pageSizeOf(query)),
    after: readCursor('after', orderOf(query), after)
  }
}

export function readFailureQuery(query: FailureListQuery): FailureQuery {
  const { kind, name, model, after } = query
  checkQueryTexts(query)
  const to = readTime('to', query.to) ?? new Date().toISOString()
  return {
    kind,
    name,
    model,
    trace: { ...traceFilters(query), from: readTime('from', query.from) ?? daysBefore(to), to },
    after: readCursor('after', FAILURE_ORDER, after)
  }
}

const traceFilters = ({ environment, traceName, tag, userId, sessionId }: SpanListQuery | FailureListQuery) => ({
  environment: environment?.toLowerCase(),
  name: traceName,
  tag,
  userId,
  sessionId
})

/** Returns the filters as values that a hint explains. */
const hintValues = ({ tag, ...filters }: WalkedTraces) => ({ ...filters, tags: tag === undefined ? [] : [tag] })

/** Returns the time FAILURE_DAYS before a canonical time, which may have six fraction digits. */
function daysBefore(time: string): string {
  const rest = time.length > 24 ? time.slice(23) : 'Z'
  const before = new Date(Date.parse(time) - FAILURE_DAYS * DAY_MS).toISOString()
  return parseTimestamp(`${before.slice(0, 23)}${rest}`) ?? '0001-01-01T00:00:00.000Z'
}
