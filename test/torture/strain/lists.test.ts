import type { Sql } from 'postgres'
import t from 'tap'
import { READER_SETTINGS } from '../../../lib/database/reader-settings.ts'
import { openSession } from '../../../lib/database/session/open-session.ts'
import { SCHEMA_NAMES } from '../../../lib/database/tables.ts'
import { edgeBelow, TRACE_ORDERS } from '../../../lib/store/lists/order.ts'
import { listScores, type ScoreQuery } from '../../../lib/store/lists/score-list.ts'
import { DEPTH, readDeep } from '../../../lib/store/lists/trace-depth.ts'
import { listTraces } from '../../../lib/store/lists/trace-list.ts'
import type { Start, TraceQuery } from '../../../lib/store/lists/trace-query.ts'
import { cutRanking, findFrequentLists, RANKINGS } from '../../../lib/store/rankings/rankings.ts'
import { fillProject } from '../../bench/reads/fill.ts'
import { isOnCluster, testDatabase } from '../../fixtures/database/database.ts'
import { searchHistories } from '../../fixtures/database/search-histories.ts'
import { seedProject } from '../../fixtures/database/seed.ts'
import { figure, isLong, longTest } from '../orders.ts'

const TRACES = isLong ? 1_000_000 : 10_000
/** Sizes of a ranking before and after it is cut, so small that positions in the middle are below the floors. */
const SIZE = { most: TRACES / 50, kept: TRACES / 200 }

interface Plan {
  readonly 'Node Type': string
  readonly 'Index Name'?: string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly Plan[]
  /** On a cluster, the plan of the only node that receives the query. */
  readonly 'Distributed Query'?: {
    readonly Job: { readonly Tasks: [{ readonly 'Remote Plan': [[{ readonly Plan: Plan }]] }] }
  }
}
interface Statement {
  readonly text: string
  readonly values: (string | number | null)[]
}

const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)]
/** Returns the number of rows that a node has examined. */
const seenBy = (node: Plan) =>
  Math.floor((node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'])

/** Returns the statements that `work` runs. */
async function statementsOf(sql: Sql, work: (sql: Sql) => Promise<unknown>): Promise<Statement[]> {
  const statements: Statement[] = []
  const watched = new Proxy(sql, {
    get(target, property) {
      if (property !== 'unsafe') return Reflect.get(target, property)
      return (text: string, values: (string | number | null)[] = [], options = {}) => {
        if (/^\s*(select|with)/.test(text)) statements.push({ text, values: [...values] })
        return target.unsafe(text, values, options)
      }
    }
  })
  await work(watched)
  return statements
}

const literalOf = (value: string | number | null) =>
  value === null ? 'null' : `'${String(value).replaceAll("'", "''")}'`

/**
 * Returns the plan without values, as on the readers' connections. On a cluster, returns the plan with values, because
 * the coordinator sends the values to the project's node each time.
 */
async function explain(sql: Sql, { text, values }: Statement, options: string): Promise<Plan[]> {
  const literals = values.map(literalOf)
  const asked = isOnCluster()
    ? text.replace(/\$(\d+)/g, (_, n) => literals[n - 1]!)
    : `execute explained (${literals.join(', ')})`
  if (!isOnCluster()) await sql.unsafe(`prepare explained as ${text}`)
  const [row] = await sql.unsafe<[{ 'QUERY PLAN': string }]>(`explain (format json, ${options}) ${asked}`)
  if (!isOnCluster()) await sql.unsafe('deallocate explained')
  const plan: Plan = JSON.parse(row['QUERY PLAN'])[0].Plan
  return nodesOf(plan['Distributed Query']?.Job.Tasks[0]['Remote Plan'][0][0].Plan ?? plan)
}

type Asked = Omit<TraceQuery, 'limit' | 'sort'> & { readonly sort?: TraceQuery['sort'] }

/** Queries for the list. Their values exist in the benchmark's traces. */
const QUERIES: readonly Asked[] = [
  {},
  { sort: 'slowest' },
  { sort: 'costliest' },
  ...['run-0', 'rare-run', 'nobody'].map(name => ({ name })),
  ...['model-0', 'model-rare', 'nobody'].map(model => ({ model })),
  ...['ok', 'running'].map(status => ({ status })),
  ...['production', 'canary', 'nobody'].map(environment => ({ environment })),
  ...['v0', 'incident', 'outage', 'nobody'].map(tag => ({ tag })),
  { userId: 'user-0' },
  { userId: 'nobody' },
  { sessionId: 'nobody' },
  { userId: 'user-0', status: 'error' },
  ...['rare-run', 'nobody'].map(name => ({ userId: 'user-0', name })),
  { name: 'run-0', model: 'model-0' },
  { name: 'run-0', model: 'model-7' },
  { name: 'rare-run', status: 'ok' },
  { status: 'error', environment: 'staging' },
  { status: 'running', model: 'model-rare', environment: 'canary' },
  ...['staging', 'production'].map(environment => ({ tag: 'eval', environment })),
  { tag: 'v0', name: 'rare-run' },
  { tag: 'incident', name: 'run-0' },
  ...['run-0', 'rare-run', 'nobody'].map(name => ({ sort: 'slowest' as const, name })),
  ...['v0', 'incident', 'outage', 'nobody'].map(tag => ({ sort: 'slowest' as const, tag })),
  { sort: 'slowest', status: 'error' },
  ...['staging', 'production'].map(environment => ({ sort: 'slowest' as const, tag: 'eval', environment })),
  { sort: 'slowest', tag: 'v0', name: 'rare-run' },
  { sort: 'slowest', tag: 'incident', name: 'run-0' },
  { sort: 'slowest', tag: 'v0', name: 'run-0' },
  { sort: 'costliest', tag: 'v0', name: 'nobody', status: 'error' },
  { sort: 'costliest', environment: 'canary' },
  { sort: 'costliest', status: 'error', environment: 'staging' },
  { from: '2026-05-01T00:00:00.000Z', to: '2026-05-02T00:00:00.000Z' },
  { name: 'run-0', from: '2026-05-01T00:00:00.000Z', to: '2026-05-02T00:00:00.000Z' },
  { status: 'error', environment: 'staging', to: '2026-05-02T00:00:00.000Z' }
]

/** Returns the query for the first page, and for the pages after and before a position in the middle. */
function walksOf({ sort = 'newest', ...query }: Asked): TraceQuery[] {
  const key = { newest: '2026-04-01T00:00:00.000Z', slowest: '60', costliest: '0.01' }[sort]
  const edge = { key, tie: TRACE_ORDERS[sort].highestTie, inclusive: false }
  const asked = { sort, limit: 50, ...query }
  return [asked, { ...asked, after: edge }, { ...asked, before: edge }]
}

/** Returns the start of the page that a query asks for. */
function startOf({ sort, after, before, limit }: TraceQuery): Start {
  const edge = before ?? edgeBelow(TRACE_ORDERS[sort], after, undefined)
  return { edge, down: before === undefined, isCursor: (after ?? before) !== undefined, limit }
}

const SCORE_QUERIES: readonly Omit<ScoreQuery, 'limit'>[] = [
  {},
  { name: 'rare-score' },
  { environment: 'canary' },
  { name: 'quality', environment: 'canary' },
  { from: '2026-05-01T00:00:00.000Z', to: '2026-05-02T00:00:00.000Z' },
  { name: 'quality', from: '2026-05-01T00:00:00.000Z' }
]

/** Returns the query for the first page, and for the page after a position in the middle. */
function scoreWalksOf(query: Omit<ScoreQuery, 'limit'>): ScoreQuery[] {
  const after = { key: '2026-06-01T00:00:00.000Z', tie: '500', inclusive: false }
  return [
    { limit: 50, ...query },
    { limit: 50, ...query, after }
  ]
}

/**
 * Maximum number of rows that a step of a plan may examine: enough to merge families and pages, but not to scan a
 * project.
 */
const MOST_ROWS = 3000

/** Lists the faults of a plan's node. */
function faultsOf(node: Plan): string[] {
  const what = `${node['Node Type']} ${node['Index Name'] ?? node['Relation Name'] ?? ''}`
  const faults: string[] = []
  // A cluster's node plans each statement anew, and scans a table that it knows to be small.
  if (/Seq Scan|Bitmap/.test(what) && !isOnCluster()) faults.push(what)
  if (seenBy(node) > MOST_ROWS) faults.push(`${what} looks at ${seenBy(node)} rows`)
  return faults
}

const titleOf = (query: object) => JSON.stringify(query)
/** Returns the indexes that a plan reads, and how it reads them. */
const shapeOf = (plan: readonly Plan[]) =>
  plan.flatMap(node => (node['Index Name'] === undefined ? [] : `${node['Node Type']} ${node['Index Name']}`)).sort()

t.test('no list sorts or scans a project', async t => {
  const database = await testDatabase(t)
  const sql = database.connect({ settings: READER_SETTINGS })
  await openSession(sql)
  t.teardown(() => sql.end())
  const projectId = await seedProject(sql)
  const reads = [
    ...QUERIES.flatMap(walksOf).map(query => ({
      title: titleOf(query),
      read: (sql: Sql) => listTraces(sql, projectId, query)
    })),
    ...SCORE_QUERIES.flatMap(scoreWalksOf).map(query => ({
      title: `scores ${titleOf(query)}`,
      read: (sql: Sql) => listScores(sql, projectId, query)
    }))
  ]
  // The plans that PostgreSQL makes while nothing is stored, as on a newly installed server.
  const early = new Map<string, string[]>()
  for (const { read } of reads) {
    for (const each of await statementsOf(sql, read))
      early.set(each.text, shapeOf(await explain(sql, each, 'costs off')))
  }
  for (const query of QUERIES.flatMap(walksOf).filter(({ sort }) => sort !== 'newest')) {
    for (const depth of [DEPTH, { near: 0, few: -1 }]) {
      for (const each of await statementsOf(sql, sql =>
        readDeep({ sql, projectId, query, start: startOf(query), names: SCHEMA_NAMES }, depth)
      ))
        early.set(each.text, shapeOf(await explain(sql, each, 'costs off')))
    }
  }
  await fillProject([sql], { projectId, traces: TRACES, firstNumber: 1 }, () => {})
  for (const list of await findFrequentLists(sql, projectId)) {
    for (const ranking of RANKINGS) await cutRanking(sql, projectId, list, ranking, SIZE)
  }
  await sql`analyze ranking_floors`

  let most = 0
  for (const { title, read } of reads) {
    await t.test(title, async t => {
      for (const statement of await statementsOf(sql, read)) {
        const plan = await explain(sql, statement, 'analyze, timing off')
        most = Math.max(most, ...plan.map(seenBy))
        t.same(plan.flatMap(faultsOf), [], 'no part of the project is sorted or scanned')
        if (!isOnCluster())
          t.same(shapeOf(plan), early.get(statement.text), 'the same plan as before anything was stored')
      }
    })
  }
  figure(`most rows that a step of a plan looks at, of ${TRACES} traces`, most)
})

longTest('a search finds traces with all words, after hundreds of histories', t => searchHistories(t, 500))
