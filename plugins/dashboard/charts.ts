/** Routes for charts and facets. Both count only traces that have ended. */
import type { Sql } from 'postgres'
import Type, { type Static } from 'typebox'
import type { App } from '../../lib/app.ts'
import { checkQueryTexts } from '../../lib/http/refuse.ts'
import type { RequestOf } from '../../lib/http/route.ts'
import { WEIGHTS } from '../../lib/limits/large-reads.ts'
import { byTheHour, countSteps, type Period, periodBefore, startsOf } from '../../lib/rollups/period.ts'
import { groupsOf, seriesOf, totalOf } from '../../lib/rollups/series.ts'
import { STATUSES } from '../../lib/schema/input.ts'
import { closed } from '../../lib/schema/object.ts'
import { Environment } from '../../lib/schema/query.ts'
import { readFacetCounts } from '../../lib/store/analytics/rollups/facet-counts.ts'
import { readSeries, readTotal, readTotals, SPLITS } from '../../lib/store/analytics/rollups/read-series.ts'
import {
  type ChartFilters,
  countRunning,
  hasFewTraces,
  readCountedFrom
} from '../../lib/store/analytics/rollups/sums.ts'
import { allAnswered } from '../../lib/store/transactions.ts'
import { readTimeQuery, TIME } from './asked-time.ts'
import { IN_PROJECT, readRoute } from './page-routes.ts'
import { FacetCountsReply, SeriesOrTotalsReply } from './replies.ts'

const text = Type.Optional(Type.String({ minLength: 1 }))

const FILTERS = {
  ...TIME,
  env: Type.Optional(Environment),
  name: text,
  model: text,
  status: Type.Optional(Type.Enum([...STATUSES, 'running']))
}
const FacetQuery = closed(FILTERS)
const SeriesQuery = closed({
  ...FILTERS,
  /** Requests groups instead of steps: `starts` is empty, and each group has its key and its total. */
  by: Type.Optional(Type.Enum([...SPLITS])),
  compare: Type.Optional(Type.Enum(['1']))
})
type ChartQuery = Static<typeof FacetQuery>

export default function charts(app: App): void {
  /** Runs a read when it is the project's turn, because chart queries can be slow. */
  const read = <T>(
    work: (each: Sql) => Promise<T>,
    request: Pick<RequestOf<unknown>, 'project' | 'signal' | 'party'>
  ) =>
    app.largeReads.run(request.project.id, () => app.sql.read(work, request), {
      weight: WEIGHTS.analysis,
      client: request
    })

  readRoute(app, `${IN_PROJECT}/series`, {
    query: SeriesQuery,
    replies: { 200: SeriesOrTotalsReply },
    async handler(request) {
      const { project, query } = request
      const filters = readFilters(query)
      const { period: asked } = readTimeQuery(query, '24h')
      const body = await read(async each => {
        const period = await readable(each, project.id, asked, query.compare !== undefined)
        const before = query.compare === undefined ? undefined : periodBefore(period)
        const [series, totals, earlier, running, countedFrom] = [
          query.by === undefined ? readSeries(each, project.id, period, filters) : undefined,
          query.by && readTotals(each, project.id, period, query.by, filters),
          before && readTotal(each, project.id, before, filters),
          countRunning(each, project.id, period, filters),
          readCountedFrom(each, project.id)
        ]
        const statements = [series, totals, earlier, running, countedFrom]
        await allAnswered<unknown>(statements.filter(each => each !== undefined))
        const groups = await totals
        return {
          ...shown(period),
          countedFrom: await countedFrom,
          running: await running,
          starts: groups ? [] : startsOf(period).map(isoOf),
          groups: groups ? groupsOf(groups.rows) : [seriesOf((await series) ?? [], countSteps(period))],
          other: groups?.others ?? 0,
          before: earlier === undefined ? null : totalOf(await earlier)
        }
      }, request)
      return { body }
    }
  })

  readRoute(app, `${IN_PROJECT}/facet-counts`, {
    query: FacetQuery,
    replies: { 200: FacetCountsReply },
    async handler(request) {
      const { project, query } = request
      const filters = readFilters(query)
      const { period: asked } = readTimeQuery(query, '24h')
      const body = await read(async each => {
        const period = await readable(each, project.id, asked)
        const countedFrom = await readCountedFrom(each, project.id)
        return { ...(await readFacetCounts(each, project.id, period, filters)), countedFrom }
      }, request)
      return { body }
    }
  })
}

/**
 * Falls back to hourly steps if the period has too many traces, including the traces of the preceding period if
 * `compares` is true.
 */
async function readable(each: Sql, projectId: number, period: Period, compares = false): Promise<Period> {
  if (period.step !== 'minute5') return period
  const all = compares ? { ...period, from: periodBefore(period).from } : period
  return (await hasFewTraces(each, projectId, all)) ? period : byTheHour(period)
}

const isoOf = (ms: number): string => new Date(ms).toISOString()

const shown = ({ from, to, step, offset }: Period) => ({ from: isoOf(from), to: isoOf(to), step, offset })

function readFilters({ env, name, model, status }: ChartQuery): ChartFilters {
  checkQueryTexts({ name, model })
  return { environment: env?.toLowerCase(), name, model, status }
}
