/** Route that finds traces by conditions that the trace list lacks, such as failed steps, scores and words. */

import type { Sql } from 'postgres'
import type { App } from '../lib/app.ts'
import type { Client } from '../lib/database/pooled/cancellation.ts'
import { SCHEMA_NAMES, type TableNames } from '../lib/database/tables.ts'
import { checkQueryTexts, refuseField } from '../lib/http/refuse.ts'
import { JsonText, type Reply } from '../lib/http/route.ts'
import { WEIGHTS } from '../lib/limits/large-reads.ts'
import { readScoreCondition, type ScoreCondition } from '../lib/schema/history/score-condition.ts'
import { TraceSearchPage, TraceSearchQuery } from '../lib/schema/history/search.ts'
import { pageSizeOf } from '../lib/schema/query.ts'
import { readWanted } from '../lib/search/wanted.ts'
import { errorWords, type StepConditions } from '../lib/store/finding/conditions.ts'
import { type FindBounds, type FoundPage, findTracePage, type TraceSearch } from '../lib/store/finding/find-traces.ts'
import { readFoundSummaries } from '../lib/store/finding/found-summaries.ts'
import { type EmptyResult, explainEmpty } from '../lib/store/hints/explain-empty.ts'
import { type Edge, encodeCursor } from '../lib/store/lists/cursor.ts'
import { type ListOrder, type Sort, TRACE_ORDERS } from '../lib/store/lists/order.ts'
import { isSearched, readSearchState } from '../lib/store/search/state.ts'
import { readCursor, readTime } from './paging.ts'

const ORDERS = {
  newest: { ...TRACE_ORDERS.newest, name: 'search:newest' },
  slowest: { ...TRACE_ORDERS.slowest, name: 'search:slowest' },
  costliest: { ...TRACE_ORDERS.costliest, name: 'search:costliest' }
} as const satisfies Record<Sort, ListOrder>

export default function search(app: App): void {
  app.route({
    method: 'GET',
    path: '/api/v1/search',
    operation: 'searchTraces',
    access: 'traces:read',
    summary: 'Search traces',
    description:
      'Finds traces by all filters of the trace list, and by steps, errors, scores, durations, costs, tokens and ' +
      'words, in any combination and with any sort. Summaries include the first error and the beginning of the input ' +
      'and output. If no index supports the conditions, a call examines up to 5,000 traces and stops after 300 ms, ' +
      'so its page may be short or empty; `reached` shows how far it got. Continue with nextCursor.',
    query: TraceSearchQuery,
    replies: { 200: TraceSearchPage },
    links: { getTrace: { traceId: '/traces/0/id' } },
    handler(request) {
      const { projectId } = request.key
      const asked = readSearch(request.query)
      return runSearch(app, projectId, asked, request, (sql, names) => answerSearch(sql, projectId, asked, names))
    }
  })
}

/** Runs the statements of a search when it is the project's turn. */
export function runSearch<T>(
  { sql, largeReads }: App,
  projectId: number,
  { wanted }: TraceSearch,
  client: Client,
  work: (sql: Sql, names: TableNames) => Promise<T>
): Promise<T> {
  // The index of words may be stored on a different database server than the traces.
  const read = () =>
    wanted === undefined ? sql.readOf(projectId, work, client) : sql.read(each => work(each, SCHEMA_NAMES), client)
  const weight = wanted === undefined ? WEIGHTS.analysis : WEIGHTS.search
  return largeReads.run(projectId, read, { weight, client })
}

/** Responds with a page. `more` returns further members of the response. */
export async function answerSearch(
  sql: Sql,
  projectId: number,
  asked: TraceSearch,
  names: TableNames,
  more: (page: FoundPage) => object | Promise<object> = () => ({})
): Promise<Reply> {
  const { query, wanted } = asked
  const page = await findPageOf(sql, projectId, asked, names)
  const index = wanted === undefined ? null : await readSearchState(sql, projectId, names)
  const traces = await readFoundSummaries(sql, projectId, page.found, names, asked.conditions.step)
  const isNothing = page.found.length === 0 && query.after === undefined && query.before === undefined
  const stopped = page.next === undefined ? undefined : { examined: page.examined }
  const hint = isNothing ? await explainEmpty(sql, projectId, { ...emptyOf(asked), stopped }, names) : null
  const rest = {
    nextCursor: searchCursor(query.sort, page.next),
    pageSize: query.limit,
    examined: page.examined,
    reached: page.reached === undefined ? null : reachedOf(query.sort, page.reached),
    hint,
    index,
    ...(await more(page))
  }
  return { body: new JsonText(`{"traces":${traces},${JSON.stringify(rest).slice(1)}`) }
}

/** Finds a page. Throws `invalid_request` if words cannot be searched, or may match too many traces to sort. */
export async function findPageOf(
  sql: Sql,
  projectId: number,
  asked: TraceSearch,
  names: TableNames,
  bounds?: FindBounds
): Promise<FoundPage> {
  if (asked.wanted !== undefined && !(await isSearched(sql, projectId))) {
    refuseField(
      'q',
      "cannot be used: search is off for this project; turn it on in the project's settings, or with " +
        '`spoor project update SLUG --search on`'
    )
  }
  const page = await findTracePage(sql, projectId, asked, names, bounds)
  if (page !== undefined) return page
  return refuseField(
    'q',
    `may match too many traces to sort by ${asked.query.sort}; add \`from\` and \`to\`, or use rarer words`
  )
}

export const searchCursor = (sort: Sort, edge: Edge | undefined): string | null =>
  edge === undefined ? null : encodeCursor(ORDERS[sort], edge)

/** Returns the values that the hint of an empty page explains. */
function emptyOf({ query, conditions }: TraceSearch): EmptyResult {
  const { name, model, environment, userId, sessionId, tag, from, to } = query
  const tags = [...(tag === undefined ? [] : [tag]), ...conditions.tags]
  const scores = conditions.scores.map(score => score.name)
  const step = conditions.step?.name
  const values = { name, model, environment, userId, sessionId, tags, scores, step, from, to }
  return { sought: 'trace', values }
}

const reachedOf = (sort: Sort, { key }: Edge): string | number => (sort === 'newest' ? key : Number(key))

/**
 * Reads the parameters and checks rules that their schema cannot express. Only the dashboard requests previous pages.
 * Throws `invalid_request`.
 */
export function readSearch(query: TraceSearchQuery & { readonly before?: string }): TraceSearch {
  const { sort = 'newest', tag: tags = [], score = [], environment, from, to, after, before, q } = query
  checkQueryTexts(query)
  if (after !== undefined && before !== undefined) refuseField('before', 'cannot be combined with `after`')
  for (const each of tags) checkQueryTexts({ tag: each })
  for (const each of score) checkQueryTexts({ score: each })
  const { status, model, name, sessionId, userId, runsOnly, annotated, errors = false, withoutCost = false } = query
  if (withoutCost) refuseCosts(query)
  const [tag, ...otherTags] = new Set(tags)
  return {
    query: {
      status,
      model,
      name,
      tag,
      sessionId,
      userId,
      runsOnly,
      environment: environment?.toLowerCase(),
      from: readTime('from', from),
      to: readTime('to', to),
      sort,
      limit: pageSizeOf(query),
      after: readCursor('after', ORDERS[sort], after),
      before: readCursor('before', ORDERS[sort], before)
    },
    conditions: {
      tags: otherTags,
      step: readStep(query),
      errors,
      scores: score.map(readScore),
      annotated,
      withoutCost,
      durationMs: { min: query.minDurationMs, max: query.maxDurationMs },
      costUsd: { min: query.minCostUsd, max: query.maxCostUsd },
      totalTokens: { min: query.minTotalTokens, max: query.maxTotalTokens }
    },
    wanted: q === undefined ? undefined : (readWanted(q) ?? refuseField('q', 'must contain a letter or a digit'))
  }
}

/** Rejects parameters that select or sort by cost together with withoutCost, because such a search finds nothing. */
function refuseCosts({ sort, minCostUsd, maxCostUsd }: TraceSearchQuery): void {
  const others = { minCostUsd, maxCostUsd, 'sort=costliest': sort === 'costliest' || undefined }
  const [other] = Object.entries(others).find(([, value]) => value !== undefined) ?? []
  if (other !== undefined) refuseField('withoutCost', `cannot be combined with \`${other}\``)
}

function readStep({ step, stepKind, stepStatus, error }: TraceSearchQuery): StepConditions | undefined {
  if ([step, stepKind, stepStatus, error].every(each => each === undefined)) return undefined
  if (error !== undefined && stepStatus !== undefined && stepStatus !== 'error') {
    refuseField(
      'error',
      `cannot be combined with \`stepStatus=${stepStatus}\`, because only failed steps have an error`
    )
  }
  return {
    name: step,
    kind: stepKind,
    status: stepStatus,
    error: error === undefined ? undefined : errorWords(error)
  }
}

function readScore(text: string): ScoreCondition {
  const condition = readScoreCondition(text)
  return typeof condition === 'string' ? refuseField('score', condition) : condition
}
