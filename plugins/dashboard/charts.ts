/** Routes for charts and facets. Both count only traces that have ended. */
import type { Sql } from 'postgres'
import Type, { type Static } from 'typebox'
import type { App } from '../../lib/app.ts'
import { checkQueryTexts, refuseField } from '../../lib/http/refuse.ts'
import type { RequestOf } from '../../lib/http/route.ts'
import { WEIGHTS } from '../../lib/limits/large-reads.ts'
import { byTheHour, countSteps, type Period, periodBefore, startsOf } from '../../lib/rollups/period.ts'
import { seriesOf, totalOf } from '../../lib/rollups/series.ts'
import { readSplit, SPLIT_RULE } from '../../lib/rollups/usage.ts'
import { STATUSES } from '../../lib/schema/input.ts'
import { closed } from '../../lib/schema/object.ts'
import { Environment } from '../../lib/schema/query.ts'
import { readFacetCounts } from '../../lib/store/analytics/rollups/facet-counts.ts'
import { readSeries, readTotal } from '../../lib/store/analytics/rollups/read-series.ts'
import {
  type ChartFilters,
  countRunning,
  hasFewTraces,
  readCountedFrom
} from '../../lib/store/analytics/rollups/sums.ts'
import { readExactSeries, readSplitSums, type SplitAsked } from '../../lib/store/analytics/usage/split-sums.ts'
import { allAnswered } from '../../lib/store/transactions.ts'
import { readTimeQuery, TIME } from './asked-time.ts'
import { IN_PROJECT, readRoute } from './page-routes.ts'
import { FacetCountsReply, SeriesOrSplitReply } from './replies.ts'

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
  /** Requests groups, by a field that `GET /api/v1/usage` accepts. */
  by: Type.Optional(Type.String({ minLength: 1 })),
  compare: Type.Optional(Type.Enum(['1'])),
  /** Requests exact percentiles if the traces are few enough. Groups always have them. */
  exact: Type.Optional(Type.Enum(['1']))
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
    replies: { 200: SeriesOrSplitReply },
    async handler(request) {
      const { project, query } = request
      const { by } = query
      const split = by === undefined ? undefined : (readSplit(by) ?? refuseField('by', SPLIT_RULE))
      const filters = readFilters(query)
      checkQueryTexts({ by })
      const { period } = readTimeQuery(query, '24h')
      const asked = { period, filters, compares: query.compare !== undefined, isExact: query.exact !== undefined }
      const body = await read(
        async each =>
          split === undefined || by === undefined
            ? readWhole(each, project.id, asked)
            : { by, ...(await readGroups(each, project.id, { ...asked, split })) },
        request
      )
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

interface Asked {
  readonly period: Period
  readonly filters: ChartFilters
  readonly compares: boolean
}

async function readWhole(each: Sql, projectId: number, asked: Asked & { readonly isExact: boolean }) {
  const { filters, compares } = asked
  const exact = asked.isExact ? await readExactSeries(each, projectId, asked) : undefined
  const period = exact === undefined ? await readable(each, projectId, asked.period, compares) : asked.period
  const covered = await readCovered(each, projectId, period, filters)
  if (exact !== undefined) {
    const { series, before } = exact
    return { ...covered, approximate: false, groups: [series], before: compares ? before : null }
  }
  const series = readSeries(each, projectId, period, filters)
  const earlier = compares ? readTotal(each, projectId, periodBefore(period), filters) : undefined
  await allAnswered<unknown>(earlier === undefined ? [series] : [series, earlier])
  return {
    ...covered,
    approximate: true,
    groups: [seriesOf(await series, countSteps(period))],
    before: earlier === undefined ? null : totalOf(await earlier)
  }
}

async function readGroups(each: Sql, projectId: number, asked: SplitAsked) {
  const { period, ...sums } = await readSplitSums(each, projectId, asked)
  return { ...(await readCovered(each, projectId, period, asked.filters)), ...sums }
}

async function readCovered(each: Sql, projectId: number, period: Period, filters: ChartFilters) {
  const [running, countedFrom] = [countRunning(each, projectId, period, filters), readCountedFrom(each, projectId)]
  await allAnswered<unknown>([running, countedFrom])
  return {
    ...shown(period),
    countedFrom: await countedFrom,
    running: await running,
    starts: startsOf(period).map(isoOf)
  }
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
