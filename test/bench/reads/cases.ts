/** The requests of the reads benchmark. */
import type { Sql } from 'postgres'
import { encodeCursor } from '../../../lib/store/lists/cursor.ts'
import { SCORE_ORDER, type Sort, TRACE_ORDERS } from '../../../lib/store/lists/order.ts'
import { SORT_COLUMNS } from '../../../lib/store/lists/trace-statement.ts'
import { CHARTS_END } from './fill.ts'

export interface ReadCase {
  readonly name: string
  /** Returns the address of the next request. Addresses differ if repeating one request would be unrepresentative. */
  path(): string
}

const LIST = '/api/v1/traces'
const SCORES = '/api/v1/scores'
/** Number of rows per page. */
export const PAGE = 50
const DEEP_PAGE = 1000
/** Number of different time windows that are requested again and again. */
const PLACES = 8
/**
 * Number of the deep page of scores. Scores fill fewer pages than traces, because only one trace in 30 has the frequent
 * score.
 */
const DEEP_SCORES = 60

/** Filters of the list, each a line of the report. fill.ts explains the values. */
const QUERIES: readonly (readonly [name: string, query: string])[] = [
  ['newest', ''],
  ['slowest', 'sort=slowest'],
  ['costliest', 'sort=costliest'],
  ['name: frequent', 'name=run-0'],
  ['name: rare', 'name=rare-run'],
  ['name: none', 'name=nobody'],
  ['model: frequent', 'model=model-0'],
  ['model: rare', 'model=model-rare'],
  ['model: none', 'model=nobody'],
  ['status: frequent', 'status=ok'],
  ['status: rare', 'status=running'],
  ['environment: frequent', 'environment=production'],
  ['environment: rare', 'environment=canary'],
  ['environment: none', 'environment=nobody'],
  ['tag: frequent', 'tag=v0'],
  ['tag: rare', 'tag=incident'],
  ['tag: rarest', 'tag=outage'],
  ['tag: none', 'tag=nobody'],
  ['user: frequent', 'userId=user-0'],
  ['user: none', 'userId=nobody'],
  ['session: none', 'sessionId=nobody'],
  ['name and its model', 'name=run-0&model=model-0'],
  ['name and another model', 'name=run-0&model=model-7'],
  ['status and environment', 'status=error&environment=staging'],
  ['frequent and rare', 'status=ok&name=rare-run'],
  ['rare and rare', 'status=running&model=model-rare'],
  ['tag and environment, often', 'tag=eval&environment=staging'],
  ['tag and environment, never', 'tag=eval&environment=production'],
  ['frequent tag, rare name', 'tag=v0&name=rare-run'],
  ['rare tag, frequent name', 'tag=incident&name=run-0'],
  ['user and status', 'userId=user-0&status=error'],
  ['user and rare environment', 'userId=user-0&environment=canary'],
  ['user and name', 'userId=user-0&name=run-0'],
  ['user and rare name', 'userId=user-0&name=rare-run'],
  ['user and frequent tag', 'userId=user-0&tag=v0'],
  ['user and rare tag', 'userId=user-0&tag=incident'],
  ['slowest, name: frequent', 'sort=slowest&name=run-0'],
  ['slowest, name: rare', 'sort=slowest&name=rare-run'],
  ['slowest, status: error', 'sort=slowest&status=error'],
  ['slowest, environment: rare', 'sort=slowest&environment=canary'],
  ['slowest, tag: frequent', 'sort=slowest&tag=v0'],
  ['slowest, tag: rare', 'sort=slowest&tag=incident'],
  ['slowest, tag: rarest', 'sort=slowest&tag=outage'],
  ['slowest, tag and environment, never', 'sort=slowest&tag=eval&environment=production'],
  ['slowest, rare tag, frequent name', 'sort=slowest&tag=incident&name=run-0'],
  ['slowest, frequent tag, rare name', 'sort=slowest&tag=v0&name=rare-run'],
  ['slowest, frequent tag and name', 'sort=slowest&tag=v0&name=run-0'],
  ['slowest, model: none', 'sort=slowest&model=nobody'],
  ['costliest, model: rare', 'sort=costliest&model=model-rare'],
  ['costliest, two filters', 'sort=costliest&status=error&environment=staging'],
  ['costliest, tag: rare', 'sort=costliest&tag=incident']
]

/**
 * Searches, each a line of the report. fill.ts stores no spans, so a search for a step examines everything and finds
 * nothing.
 */
const SEARCHES: readonly (readonly [name: string, query: string])[] = [
  ['newest', ''],
  ['slowest of one user', 'sort=slowest&userId=user-0'],
  ['errors', 'errors=true'],
  ['errors, name: rare', 'errors=true&name=rare-run'],
  ['errors of one user', 'errors=true&userId=user-0'],
  ['score: frequent', `score=${encodeURIComponent('quality<2')}`],
  ['score: rare', `score=${encodeURIComponent('rare-score<2')}`],
  ['score: never', `score=${encodeURIComponent('quality>20')}`],
  ['not annotated', 'annotated=false'],
  ['annotated: none', 'annotated=true'],
  ['duration: rare', 'minDurationMs=150000'],
  ['tokens: rare', 'minTotalTokens=26000'],
  ['step: none', 'step=nobody'],
  ['two tags', 'tag=v0&tag=eval'],
  ['slowest, not annotated', 'sort=slowest&annotated=false']
]
const SEARCH = '/api/v1/search'

/** Returns the cases for a project with this number of traces. Cursors and ids are read in advance. */
export async function makeCases(sql: Sql, projectId: number, traces: number): Promise<ReadCase[]> {
  /** Returns the length in hours of a window that contains about `size` traces, whatever the project's total. */
  const hours = (size: number) => (365 * 24 * size) / traces
  const window = (size: number) => timeWindow(Math.floor(Math.random() * PLACES) / PLACES, hours(size))
  const newWindow = (size: number) => timeWindow(Math.random(), hours(size))
  const fixed = (name: string, path: string): ReadCase => ({ name, path: () => path })
  const deep = async (name: string, sort: Sort, parameter: 'after' | 'before', filter = ''): Promise<ReadCase> => {
    const cursor = await readCursorAt(sql, projectId, sort)
    return fixed(name, `${LIST}?sort=${sort}&${parameter}=${cursor}${filter}`)
  }
  return [
    ...QUERIES.map(([name, query]) => fixed(name, `${LIST}?${query}`)),
    { name: 'user: any of 100', path: () => `${LIST}?userId=user-${Math.floor(Math.random() * 100)}` },
    await deep(`newest, page ${DEEP_PAGE}`, 'newest', 'after'),
    await deep(`newest, back from page ${DEEP_PAGE}`, 'newest', 'before'),
    await deep(`slowest, page ${DEEP_PAGE}`, 'slowest', 'after'),
    await deep(`slowest by name, back from page ${DEEP_PAGE}`, 'slowest', 'before', '&name=run-0'),
    await deep(`name, from page ${DEEP_PAGE}`, 'newest', 'after', '&name=run-0'),
    await deep(`tag, back from page ${DEEP_PAGE}`, 'newest', 'before', '&tag=incident'),
    await deep(`two filters, back from page ${DEEP_PAGE}`, 'newest', 'before', '&status=error&environment=staging'),
    { name: 'a period of 300 traces', path: () => `${LIST}?${window(300)}` },
    { name: 'a different period of 300 traces', path: () => `${LIST}?${newWindow(300)}` },
    { name: 'a period of 500, by name', path: () => `${LIST}?name=run-0&${window(500)}` },
    {
      name: 'a period of 20,000, two filters',
      path: () => `${LIST}?status=error&environment=staging&${window(20_000)}`
    },
    ...SEARCHES.map(([name, query]) => fixed(`search: ${name}`, `${SEARCH}?${query}`)),
    { name: 'search: slowest in a time of 2,000', path: () => `${SEARCH}?sort=slowest&${window(2000)}` },
    { name: 'search: slowest in a time of 20,000', path: () => `${SEARCH}?sort=slowest&${window(20_000)}` },
    { name: 'search: slowest in a time of 100,000', path: () => `${SEARCH}?sort=slowest&${window(100_000)}` },
    fixed('scores', SCORES),
    fixed('scores: name', `${SCORES}?name=rare-score`),
    fixed(`scores: name, page ${DEEP_SCORES}`, `${SCORES}?name=quality&after=${await readScoreCursor(sql, projectId)}`),
    { name: 'scores: name, a time of 2,000', path: () => `${SCORES}?name=quality&${window(2000)}` },
    fixed('scores: name, environment', `${SCORES}?name=quality&environment=canary`),
    fixed('project', '/api/v1/project'),
    // fill.ts stores no spans, so these walk as far as a request is allowed to.
    fixed('spans: all', '/api/v1/spans'),
    fixed('spans: failed tools', '/api/v1/spans?kind=tool&status=error'),
    fixed('spans: slow', '/api/v1/spans?kind=llm&minDurationMs=30000'),
    fixed('errors', '/api/v1/errors?from=2000-01-01T00:00:00Z'),
    fixed('errors of traces', '/api/v1/errors?from=2000-01-01T00:00:00Z&kind=trace'),
    // This case shows the overhead of the machine and node:http.
    fixed('health', '/healthz')
  ]
}

const lastDays = (days: number) =>
  `from=${new Date(CHARTS_END - days * 86_400_000).toISOString()}&to=${new Date(CHARTS_END).toISOString()}`

const PAGES = '/app/api/p/default'

/** The requests for numbers over time that the overview and the list send for a signed-in person. */
export const CHART_CASES: readonly ReadCase[] = [
  ...[1, 7, 30, 90, 365].flatMap(days => [
    [`series: ${days} d`, `series?${lastDays(days)}&compare=1`],
    [`series: ${days} d, by model`, `series?${lastDays(days)}&by=model`],
    [`series: ${days} d, by name`, `series?${lastDays(days)}&by=name`],
    [`facet counts: ${days} d`, `facet-counts?${lastDays(days)}`]
  ]),
  ['series: an hour', `series?${lastDays(1 / 24)}`],
  ...[7, 90, 365].flatMap(days =>
    [
      ['environment', 'env=production'],
      ['status', 'status=ok'],
      ['model', 'model=model-0'],
      ['name', 'name=run-0'],
      ['name and model', 'name=run-0&model=model-0']
    ].flatMap(([filter, query]) => [
      [`series: ${days} d of a ${filter}`, `series?${lastDays(days)}&${query}&compare=1`],
      [`series: ${days} d of a ${filter}, by name`, `series?${lastDays(days)}&${query}&by=name`],
      [`facet counts: ${days} d of a ${filter}`, `facet-counts?${lastDays(days)}&${query}`]
    ])
  )
].map(([name, query]) => ({ name: name as string, path: () => `${PAGES}/${query}` }))

/**
 * The first pages of sessions, users and scores. Their time ranges end now, so a range of a year includes most of the
 * traces.
 */
export const GROUP_CASES: readonly ReadCase[] = [
  ['sessions', 'sessions'],
  ['sessions: environment', 'sessions?env=canary'],
  ['session', 'session?id=session-1000'],
  ['users: 30 d', 'users?range=30d'],
  ['users: a year', 'users?range=1y'],
  ['user: a year', 'user?id=user-0&range=1y'],
  ['scores over time: a year', 'score-series?range=1y'],
  ['scores over time: a year of a name', 'score-series?range=1y&name=quality'],
  ['score disagreement: a year', 'score-disagreement?range=1y&name=quality']
].map(([name, query]) => ({ name: name as string, path: () => `${PAGES}/${query}` }))

/** The cases for the small project in the same tables. */
export const NEIGHBOUR_CASES: readonly ReadCase[] = [
  ['newest', ''],
  ['slowest', 'sort=slowest'],
  ['name', 'name=run-0'],
  ['tag', 'tag=v0'],
  ['slowest, rare tag', 'sort=slowest&tag=incident'],
  ['two filters', 'status=error&environment=staging']
].map(([name, query]) => ({ name: `small project: ${name}`, path: () => `${LIST}?${query}` }))

/** Returns the cursor after the last trace of the deep page. */
async function readCursorAt(sql: Sql, projectId: number, sort: Sort): Promise<string> {
  const column = SORT_COLUMNS[sort]
  const [row] = await sql.unsafe<[{ key: string | number; tie: string }]>(
    `select ${column} as key, id as tie from traces where project_id = $1 and ${column} is not null
    order by ${column} desc, id desc offset $2 limit 1`,
    [projectId, DEEP_PAGE * PAGE - 1]
  )
  return encodeCursor(TRACE_ORDERS[sort], { key: String(row.key), tie: row.tie, inclusive: false })
}

/** Returns the cursor after the last score of the deep page, for the frequent name. */
async function readScoreCursor(sql: Sql, projectId: number): Promise<string> {
  const [row] = await sql<[{ key: string; tie: number }]>`
    select created_at as key, seq as tie from scores where project_id = ${projectId} and name = 'quality'
    order by created_at desc, seq desc offset ${DEEP_SCORES * PAGE - 1} limit 1`
  return encodeCursor(SCORE_ORDER, { key: row.key, tie: String(row.tie), inclusive: false })
}

/** Returns a window of `hours` hours in the year that fill.ts fills, at the position `place` from 0 to 1. */
function timeWindow(place: number, hours: number): string {
  const from = Date.UTC(2025, 10, 1) + place * (364 * 24 - hours) * 3_600_000
  const time = (ms: number) => encodeURIComponent(new Date(ms).toISOString())
  return `from=${time(from)}&to=${time(from + hours * 3_600_000)}`
}
