/** `npm run bench -- search`: measures searches over many traces, and the speed of indexing. */
import { availableParallelism, tmpdir } from 'node:os'
import type { Sql } from 'postgres'
import { connectTo } from '../../../lib/database/connection.ts'
import { READER_SETTINGS } from '../../../lib/database/reader-settings.ts'
import { readWanted } from '../../../lib/search/wanted.ts'
import type { TraceQuery } from '../../../lib/store/lists/trace-query.ts'
import { fillBack, indexNews } from '../../../lib/store/search/indexing.ts'
import { dropIndex } from '../../../lib/store/search/state.ts'
import { findWords } from '../../../lib/store/search/trace-search.ts'
import type { Service } from '../machine/service.ts'
import { readArguments, UsageError } from '../options.ts'
import type { Progress } from '../progress.ts'
import { fillTexts } from './fill.ts'

export interface SearchOptions {
  readonly traces: number
  readonly requests: number
  readonly folder: string
  /** Folder in which the filled database is kept for the next run. */
  readonly kept: string | undefined
  readonly profile: undefined
  readonly help: boolean
}

const FLAGS = {
  traces: { type: 'string' },
  requests: { type: 'string' },
  folder: { type: 'string' },
  data: { type: 'string' },
  help: { type: 'boolean' }
} as const

export const SEARCH_HELP = `Measures searches by words: npm run bench -- search [flags]

  --traces N     how many are searched (default: 1000000; 1.5 kB of disk each)
  --requests N   of each search (default: 30)
  --folder DIR   where the database is put for the time (default: ${tmpdir()})
  --data DIR     where the filled database is kept, and found by the next run
  --help         print this

This machine has ${availableParallelism()} cores. Give it nothing else to do meanwhile.
`

export function readSearchOptions(parameters: readonly string[]): SearchOptions {
  const { values } = readArguments(parameters, FLAGS)
  const count = (flag: 'traces' | 'requests', fallback: number) => {
    const value = values[flag] === undefined ? fallback : Number(values[flag])
    if (Number.isInteger(value) && value > 0) return value
    throw new UsageError(`--${flag} takes a whole number above 0, not ${JSON.stringify(values[flag])}`)
  }
  return {
    traces: count('traces', 1_000_000),
    requests: count('requests', 30),
    folder: values.folder ?? tmpdir(),
    kept: values.data,
    profile: undefined,
    help: values.help ?? false
  }
}

/** The searches, each with its name in the report's table, its words, and its other filters. */
const SEARCHES: readonly (readonly [name: string, words: string, filters?: Partial<TraceQuery>])[] = [
  ['a word in every tenth trace', 'tenth'],
  ['in every hundredth', 'hundredth'],
  ['in 1 of 10,000', 'seldom'],
  ['in 1 of 200,000', 'hardly'],
  ['of none', 'nowhere'],
  ['two words, in a tenth and a hundredth, never together', 'tenth hundredth'],
  ['two words, one of them rare', 'eaea0 seldom'],
  ['a word in a tenth, with an error in 1 of 1,000', 'tenth', { status: 'error' }],
  ['two Chinese characters', '世丕'],
  ['two Chinese characters, rarely adjacent', '丞丟'],
  ['one Chinese character', '丟']
]

export interface SearchResult {
  readonly name: string
  /** Number of rows on the first page, at most 50. */
  readonly rows: number
  readonly isStopped: boolean
  readonly p50: number
  readonly worst: number
}

export interface SearchResults {
  readonly traces: number
  /** Undefined if the traces were indexed before. */
  readonly indexedPerSecond: number | undefined
  readonly indexBytes: number
  readonly searches: readonly SearchResult[]
}

export async function measureSearch(
  { traces, requests }: SearchOptions,
  service: Service,
  progress: Progress
): Promise<SearchResults> {
  const { sql, projectId, target } = service
  const [{ found }] = await sql<[{ found: number }]>`select count(*)::int as found from traces`
  if (found > traces) throw new UsageError(`--data has ${found} traces already`)
  if (found < traces) {
    await dropIndex(sql, projectId)
    await fillTexts(sql, projectId, { found, traces }, done => {
      progress.step = `filling: ${(done / 1e6).toFixed(2)} of ${traces / 1e6} million traces`
    })
  }
  progress.step = 'indexing'
  const start = performance.now()
  const indexed = await indexAll(sql, projectId, done => {
    progress.step = `indexing: ${(done / 1e6).toFixed(2)} million traces`
  })
  const indexedPerSecond = indexed === 0 ? undefined : (indexed / (performance.now() - start)) * 1000
  const [{ bytes }] = await sql<[{ bytes: number }]>`
    select pg_total_relation_size('search_postings') + pg_total_relation_size('search_segments') as bytes`
  const reader = connectTo(target, { settings: READER_SETTINGS })
  try {
    const searches: SearchResult[] = []
    for (const [name, words, filters = {}] of SEARCHES) {
      progress.step = name
      searches.push(await measureOne(reader, projectId, { name, words, filters, requests }))
    }
    return { traces, indexedPerSecond, indexBytes: bytes, searches }
  } finally {
    await reader.end({ timeout: 1 })
  }
}

/** Number of newest traces that are not yet in segments: nearly as many as the server allows. */
const NEWEST = 2000

/**
 * Indexes the traces, because the server would not do it this early. Returns the number of traces that were not
 * indexed.
 */
async function indexAll(sql: Sql, projectId: number, onProgress: (done: number) => void): Promise<number> {
  await sql`
    insert into search_fills (project_id, begun_at) values (${projectId}, now() + interval '1 day')
    on conflict (project_id) do update set begun_at = excluded.begun_at`
  await sql`update projects set search = true where id = ${projectId}`
  let done = 0
  for (;;) {
    const count = await fillBack(sql, projectId, async () => {}, { settleMs: -2 * 86_400_000 })
    if (count === undefined) break
    done += count
    onProgress(done)
  }
  if (done > 0) await indexNewest(sql, projectId)
  return done
}

async function indexNewest(sql: Sql, projectId: number): Promise<void> {
  await sql`
    insert into search_news (project_id, seq, version)
    select project_id, seq, version from traces where project_id = ${projectId} order by started_at desc limit ${NEWEST}`
  while ((await indexNews(sql, projectId, async () => {}, NEWEST + 1)) > 0);
  await sql.unsafe('vacuum (analyze) search_terms')
  await sql.unsafe('vacuum (analyze) search_postings')
}

interface Asked {
  readonly name: string
  readonly words: string
  readonly filters: Partial<TraceQuery>
  readonly requests: number
}

async function measureOne(
  sql: Sql,
  projectId: number,
  { name, words, filters, requests }: Asked
): Promise<SearchResult> {
  const times: number[] = []
  let rows = 0
  let isStopped = false
  for (let i = 0; i < requests; i++) {
    const start = performance.now()
    const page = await findWords(sql, projectId, readWanted(words)!, { sort: 'newest', limit: 50, ...filters })
    times.push(performance.now() - start)
    rows = page.matches.length
    isStopped = page.stop !== undefined
  }
  times.sort((a, b) => a - b)
  return { name, rows, isStopped, p50: times[Math.floor(times.length / 2)]!, worst: times.at(-1)! }
}

export function renderSearch({ traces, indexedPerSecond, indexBytes, searches }: SearchResults): string {
  const lines = searches.map(
    ({ name, rows, isStopped, p50, worst }) =>
      `| ${name} | ${rows}${isStopped ? ', stopped' : ''} | ${p50.toFixed(1)} | ${worst.toFixed(1)} |`
  )
  return [
    `${traces} traces${indexedPerSecond === undefined ? '' : `, indexed at ${Math.round(indexedPerSecond)} a second without pauses`}; the index takes ${Math.round(indexBytes / traces)} bytes of each.`,
    '',
    '| search | rows | p50 ms | worst ms |',
    '| --- | ---: | ---: | ---: |',
    ...lines,
    ''
  ].join('\n')
}
