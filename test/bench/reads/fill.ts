/**
 * The traces of the reads benchmark: a year of history, with a realistic skew. A few names and models have most of the
 * traces, a model belongs to a name, tags and users have long tails, and 30 % of the traces have a cost. A rare value
 * belongs to one trace in a thousand, so that its traces fill a page in a project of 100,000 traces. The rarest value
 * belongs to one trace in 50,000.
 *
 * PostgreSQL itself generates the rows, after the indexes have been dropped, so that 10 million rows take only minutes.
 * Rankings are cut at the end. Traces below the floors are therefore found in the same way as after recording by a
 * server, and stay in the indexes.
 */
import type { Sql } from 'postgres'
import { countDeltas, DELTA_NAMES, deltaInSql, SUMS } from '../../../lib/store/analytics/rollups/deltas.ts'
import { foldDeltas } from '../../../lib/store/analytics/rollups/fold.ts'
import { makeFortnight } from '../../../lib/store/analytics/rollups/fortnights.ts'
import { countOneDay } from '../../../lib/store/analytics/rollups/recount.ts'
import { LISTS, TAG_LISTS } from '../../fixtures/database/lists.ts'
import { cutRankings } from '../copy/tables.ts'
import { UsageError } from '../options.ts'

const CHUNK = 250_000
const FOLDED_AT_ONCE = 20_000
/** Settings for data that can be generated again at any time. */
const FILL_SETTINGS = `set synchronous_commit = off; set wal_compression = off; set maintenance_work_mem = '2GB'; set work_mem = '256MB'`
/** Bytes of disk space that a trace takes, including its indexes, tags, scores and share of the WAL. */
export const BYTES_PER_TRACE = 2_000

/**
 * The charts' periods end at this time, in the middle of a day and near the end of a fortnight, so that charts must add
 * hours and many days to the sums over longer steps.
 */
export const CHARTS_END = Date.UTC(2026, 9, 30, 12)
/** Number of hours for which charts read the traces themselves. */
const CHART_HOURS = 7

export interface FillPlan {
  readonly projectId: number
  readonly traces: number
  /** The first number that is free for traces.seq. */
  readonly firstNumber: number
}

/**
 * Fills a project over several connections at once. Leaves the tables vacuumed and indexed. The tables must not be used
 * at the same time.
 */
export async function fillProject(
  connections: readonly Sql[],
  plan: FillPlan,
  onProgress: (what: string) => void
): Promise<void> {
  const { projectId, traces, firstNumber } = plan
  const sql = connections[0]!
  for (const each of connections) await each.unsafe(FILL_SETTINGS)
  const indexes = await dropIndexes(sql)
  const chunks = Array.from({ length: Math.ceil(traces / CHUNK) }, (_, i) => i * CHUNK)
  await share(connections, chunks, (sql, done) => {
    onProgress(`${(done / 1e6).toFixed(2)} of ${traces / 1e6} million traces`)
    return sql.unsafe(insertTraces(projectId, firstNumber, firstNumber + done, Math.min(CHUNK, traces - done), traces))
  })
  onProgress('tags and scores')
  await share(connections, insertBeside(projectId), (sql, insert) => sql.unsafe(insert))
  await share(connections, indexes, async (sql, { name, table, definition, constraint }) => {
    onProgress(name)
    await sql.unsafe(definition)
    if (constraint !== null)
      await sql.unsafe(`alter table ${table} add constraint ${name} ${constraint} using index ${name}`)
  })
  await share(connections, ['traces', 'trace_tags', 'trace_families', 'scores'], (sql, table) => {
    onProgress(`vacuum ${table}`)
    return sql.unsafe(`vacuum (analyze) ${table}`)
  })
  onProgress('sums over time')
  await countDays(sql, projectId, onProgress)
  onProgress('rankings')
  await cutRankings(sql, projectId)
  await addTotals(sql, plan)
}

/**
 * Fills a project with only the data that numbers over time need: the sums of the same traces, folded as the server
 * folds them, and the traces that ran or started in the few hours in which charts read traces. There are no users.
 */
export async function fillSums(
  connections: readonly Sql[],
  plan: FillPlan,
  onProgress: (what: string) => void
): Promise<void> {
  const { projectId, traces, firstNumber } = plan
  const sql = connections[0]!
  for (const each of connections) await each.unsafe(FILL_SETTINGS)
  const chunks = Array.from({ length: Math.ceil(traces / CHUNK) }, (_, i) => i * CHUNK)
  await share(connections, chunks, (sql, done) => {
    onProgress(`deltas of ${(done / 1e6).toFixed(2)} of ${traces / 1e6} million traces`)
    return sql.unsafe(insertDeltas(projectId, firstNumber, firstNumber + done, Math.min(CHUNK, traces - done), traces))
  })
  await sql.unsafe(insertFamilies(projectId))
  await sql`vacuum (analyze) traces, trace_families`
  await finishSums(sql, projectId, onProgress)
  await addTotals(sql, plan)
}

/** Counts days as the server does for traces that are older than its rollups. */
async function countDays(sql: Sql, projectId: number, onProgress: (what: string) => void): Promise<void> {
  await sql`insert into rollup_history (project_id, uncounted) values (${projectId}, 'infinity') on conflict do nothing`
  while (await countOneDay(sql, projectId)) await foldDeltas(sql, projectId, 5 * FOLDED_AT_ONCE)
  await finishSums(sql, projectId, onProgress)
}

/** Completes the sums in the same way as the server. If the server folds at the same time, a fold here does nothing. */
async function finishSums(sql: Sql, projectId: number, onProgress: (what: string) => void): Promise<void> {
  for (let left = await countDeltas(sql); left > 0; left = await countDeltas(sql)) {
    onProgress(`folding: ${left} delta rows`)
    await foldDeltas(sql, projectId, FOLDED_AT_ONCE)
  }
  while (await makeFortnight(sql, projectId)) {}
  await sql`vacuum (analyze) rollups, rollup_news`
}

/** Adds a small project to tables that have their indexes. */
export async function addProject(sql: Sql, plan: FillPlan): Promise<void> {
  const { projectId, traces, firstNumber } = plan
  await sql.unsafe(insertTraces(projectId, firstNumber, firstNumber, traces, traces))
  for (const insert of insertBeside(projectId)) await sql.unsafe(insert)
  await addTotals(sql, plan)
}

/** Writes the totals last, because they mark the project as complete. */
async function addTotals(sql: Sql, { projectId, traces, firstNumber }: FillPlan): Promise<void> {
  await sql`select setval('trace_numbers', ${firstNumber + traces})`
  await sql`
    insert into project_totals (project_id, slot, traces, spans, bytes)
    select ${projectId}, 0, count(*), 0, sum(estimated_bytes) from traces where project_id = ${projectId}`
}

/**
 * Returns whether the project has been filled: its totals, which are written last, must exist. Throws if filling was
 * interrupted.
 */
export async function isFilled(sql: Sql, projectId: number): Promise<boolean> {
  const [row] = await sql<[{ begun: boolean; done: boolean }]>`
    select exists (select from traces where project_id = ${projectId}) as begun,
      exists (select from project_totals where project_id = ${projectId}) as done`
  if (row.begun && !row.done) throw new UsageError('filling was broken off: remove the folder')
  return row.done
}

/** Gives each connection the next item when the connection has finished the previous item. */
async function share<T>(
  connections: readonly Sql[],
  items: readonly T[],
  work: (sql: Sql, item: T) => Promise<unknown>
) {
  const left = [...items]
  const worker = async (sql: Sql) => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(sql, item)
  }
  await Promise.all(connections.map(worker))
}

/** An index and the statement that recreates it. */
interface DroppedIndex {
  readonly name: string
  readonly table: string
  readonly definition: string
  /** The kind of constraint that the index enforces; null if it enforces none. */
  readonly constraint: 'primary key' | 'unique' | null
}

async function dropIndexes(sql: Sql): Promise<DroppedIndex[]> {
  const indexes = await sql<DroppedIndex[]>`
    select i.indexrelid::regclass::text as name, i.indrelid::regclass::text as table,
      pg_get_indexdef(i.indexrelid) as definition,
      case c.contype when 'p' then 'primary key' when 'u' then 'unique' end as constraint
    from pg_index i left join pg_constraint c on c.conindid = i.indexrelid
    where i.indrelid in ('traces'::regclass, 'trace_tags'::regclass, 'scores'::regclass)
    order by pg_relation_size(i.indrelid) desc`
  for (const { name, table, constraint } of indexes) {
    await sql.unsafe(constraint === null ? `drop index ${name}` : `alter table ${table} drop constraint ${name}`)
  }
  return indexes
}

const insertTraces = (projectId: number, ...chunk: Chunk): string =>
  `${insertInto(projectId)} from (${madeTraces(...chunk)}) made`

/**
 * Returns the deltas of a chunk's traces, summed by hour, family and name, and the deltas of the traces that charts read
 * themselves.
 */
const insertDeltas = (projectId: number, ...chunk: Chunk): string => `
  with made as materialized (${madeTraces(...chunk)}), kept as (
    ${insertInto(projectId)} from made where status = 'running' or at between
      to_timestamp(${CHARTS_END / 1000}) - interval '${CHART_HOURS} h' and to_timestamp(${CHARTS_END / 1000})
  )
  insert into rollup_news (project_id, ${DELTA_NAMES.join(', ')})
  select ${projectId}, started_at, family, name, user_id, ${SUMS} from (
    select ${deltaInSql('t', 1)} from (
      select at as started_at, ${LISTS.family} as family, name, null as user_id, status, tokens as input_tokens,
        tokens / 3 as output_tokens, ${COST} as cost_usd, ms as duration_ms
      from made where status <> 'running'
    ) t
  ) deltas group by started_at, family, name, user_id`

const COST = 'case when costs then round(tokens * 0.0000031, 8)::float8 end'

const insertInto = (projectId: number): string => `
  insert into traces (project_id, span_count, error_count, score_count, seq, version, started_at, ended_at, duration_ms,
    ingested_at, input_tokens, output_tokens, total_tokens, cost_usd, document_bytes, estimated_bytes, id, name, status,
    environment, provider, model, session_id, user_id, key_id, tags, body_hash, input, output, metadata,
    ${Object.keys(LISTS).join(', ')})
  select ${projectId}, 0, (status = 'error')::int, (n % 20 = 0)::int, n, n, at,
    case when status <> 'running' then at + ms * interval '1 ms' end, case when status <> 'running' then ms end,
    at + interval '2 s', tokens, tokens / 3, tokens + tokens / 3,
    ${COST}, 700, 700, gen_random_uuid(), name, status,
    environment, 'openai', model, 'session-' || n / 8, user_id, 'bench',
    case when random() < 0.8 then array_remove(array[
      'v' || floor(6 * power(random(), 2))::int,
      case when environment = 'staging' then 'eval' end,
      case when random() < 0.1 then 'customer-' || floor(1000 * random())::int end,
      case when n % 1000 = 3 then 'incident' end,
      case when n % 50000 = 4 then 'outage' end], null) end,
    decode(repeat('ab', 32), 'hex'), '{"question":"where is my order, and when will it be here?"}',
    '{"answer":"it is on its way and will be with you before noon"}', '{"app":"assistant","release":"4.12.0"}',
    ${Object.values(LISTS).join(', ')}`

/** `first` is the number of the chunk's first trace, `start` the number of the project's first trace. */
type Chunk = readonly [start: number, first: number, count: number, traces: number]
const madeTraces = (...[start, first, count, traces]: Chunk): string => `
    select n, timestamptz '2025-11-01Z' + (n - ${start} + random()) * interval '${(365 * 86_400) / traces} s' as at,
      floor(20 * exp(9 * random() * random()))::bigint as ms, floor(100 + 20000 * random() * random())::bigint as tokens,
      random() < 0.3 as costs, case when n % 1000 = 7 then 'rare-run' else 'run-' || kind end as name,
      case when n % 1000 = 11 then 'model-rare' when random() < 0.85 then 'model-' || kind % 9
        else 'model-' || floor(9 * power(random(), 2))::int end as model,
      case when state < 0.04 then 'error' when state < 0.1 then 'unset' when state < 0.101 then 'running' else 'ok' end as status,
      case when n % 1000 = 13 then 'canary' when place < 0.7 then 'production' when place < 0.9 then 'staging'
        else 'unassigned' end as environment, 'user-' || floor(20000 * power(random(), 3))::int as user_id
    from (
      select n, floor(60 * power(random(), 3))::int as kind, random() as state, random() as place
      from generate_series(${first}::bigint, ${first + count - 1}) n
    ) drawn`

/** Inserts every possible family, even families without traces in a small project, because a filter reads them all. */
const insertFamilies = (projectId: number): string => `
  with seen as (select distinct status, environment, model from traces where project_id = ${projectId})
  insert into trace_families (project_id, family, status, environment, model)
  select ${projectId}, ${LISTS.family}, *
  from (select distinct status from seen) s, (select distinct environment from seen) e, (select distinct model from seen) m`

const insertBeside = (projectId: number): string[] => [
  insertFamilies(projectId),
  `insert into trace_tags (project_id, named_family, family, started_at, duration_ms, cost_usd, id, user_id, tag,
    ${Object.keys(TAG_LISTS).join(', ')})
  select project_id, named_family, family, started_at, duration_ms, cost_usd, id, user_id, tag,
    ${Object.values(TAG_LISTS).join(', ')}
  from traces, unnest(tags) as own (tag) where project_id = ${projectId}`,
  `insert into scores (project_id, trace_seq, created_at, id, name, data_type, value, source)
  select project_id, seq, started_at + interval '1 minute', int8send(seq),
    case when seq % 1000 = 0 then 'rare-score' when seq % 60 = 0 then 'helpfulness' else 'quality' end, 'numeric',
    (seq % 11)::text::json, 'api'
  from traces where project_id = ${projectId} and score_count > 0`
]
