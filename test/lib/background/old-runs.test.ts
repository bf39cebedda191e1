/** Tests how the server decides which traces from before migration 17 are runs. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Sql } from 'postgres'
import t, { type Test } from 'tap'
import { OldRuns } from '../../../lib/background/old-runs.ts'
import { connectTo } from '../../../lib/database/connection.ts'
import { migrate, readMigrations } from '../../../lib/database/migrate.ts'
import { createLog } from '../../../lib/log.ts'
import { decideRuns, findUndecidedRuns, readRunsBelow } from '../../../lib/store/trace/runs.ts'
import { EMPTY, testDatabase } from '../../fixtures/database/database.ts'
import { testFolder } from '../../fixtures/folder.ts'
import { until } from '../../fixtures/until.ts'

const log = createLog('silent')
const PROJECTS = 3
const TRACES = 1_200
/** Traces with various span kinds and fields. `isRun` states whether a trace is a run. */
const SENT = [
  { kinds: ['custom'], model: null, costUsd: null, isRun: false },
  { kinds: [], model: null, costUsd: null, isRun: false },
  { kinds: ['custom', 'llm'], model: null, costUsd: null, isRun: true },
  { kinds: ['chain'], model: null, costUsd: null, isRun: false },
  { kinds: [], model: 'm', costUsd: null, isRun: true },
  { kinds: ['retriever'], model: null, costUsd: null, isRun: true },
  { kinds: [], model: null, costUsd: 0, isRun: true }
]
const sentOf = (seq: number) => SENT[seq % SENT.length]!

/** Creates and migrates a database with traces from before migration 17. The last project has no traces. */
async function migrated(t: Test) {
  const database = await testDatabase(t, EMPTY)
  const sql = connectTo(database.target)
  t.teardown(() => sql.end({ timeout: 1 }))
  const folder = await testFolder(t)
  for (const { name, text, version } of (await readMigrations()).slice(0, 16)) {
    await writeFile(join(folder, `${String(version).padStart(4, '0')}-${name}.sql`), text)
  }
  await migrate(database, log, folder)
  await sql`insert into accounts (name) values ('owner')`
  for (let id = 1; id <= PROJECTS; id++) {
    await sql`insert into projects (account_id, name, slug) values (1, ${`p${id}`}, ${`p${id}`})`
    if (id < PROJECTS) await insertTraces(sql, id)
  }
  await migrate(database, log)
  return { database, sql }
}

async function insertTraces(sql: Sql, projectId: number): Promise<void> {
  const seqs = Array.from({ length: TRACES }, (_, i) => i)
  const traces = seqs.map(seq => ({
    ...{ project_id: projectId, seq, version: seq, span_count: 0, error_count: 0, document_bytes: 1, name: 'n' },
    ...{ estimated_bytes: 1, id: seq.toString(16).padStart(32, '0'), status: 'ok', body_hash: Buffer.from('h') },
    ...{ started_at: '2026-01-01T00:00:00Z', family: 0, named_family: 0 },
    ...{ model: sentOf(seq).model, cost_usd: sentOf(seq).costUsd }
  }))
  await sql`insert into traces ${sql(traces)}`
  const spans = seqs.flatMap(seq =>
    sentOf(seq).kinds.map((kind, i) => ({
      ...{ trace_seq: seq, project_id: projectId, id: Buffer.from([i]), hash: Buffer.from('h'), name: 'n', kind },
      ...{ started_at: '2026-01-01T00:00:00Z', ended_at: '2026-01-01T00:00:00Z', status: 'ok' }
    }))
  )
  await sql`insert into spans ${sql(spans)}`
}

const countWrong = async (sql: Sql) => {
  const rows = await sql<{ seq: number; isRun: boolean }[]>`select seq, is_run as "isRun" from traces`
  return rows.filter(({ seq, isRun }) => isRun !== sentOf(seq).isRun).length
}

t.test('old traces count as runs until they are examined, newest first, in all projects', async t => {
  const { database, sql } = await migrated(t)
  const [{ runs }] = await sql<[{ runs: number }]>`select count(*)::int as runs from traces where is_run`
  t.equal(runs, 2 * TRACES, 'adding the column changes no row')
  const oldRuns = new OldRuns({ sql: database.sqlAccess, log, pauseMs: 10 })
  t.teardown(() => oldRuns.close())
  await until(async () => (await findUndecidedRuns(sql)) === undefined)
  t.equal(await countWrong(sql), 0)
})

t.test('each step decides some traces, and a trace that changes meanwhile is decided again', async t => {
  const { database, sql } = await migrated(t)
  const project = (await findUndecidedRuns(sql))!
  t.match(project, { projectId: 1, below: Number.MAX_SAFE_INTEGER })
  const next = await decideRuns(sql, project, 100)
  t.equal(next, TRACES - 100)
  t.equal(await readRunsBelow(sql, 1), TRACES - 100)
  const [{ looked }] = await sql<[{ looked: number }]>`
    select count(*)::int as looked from traces where project_id = 1 and not is_run and seq >= ${TRACES - 100}`
  t.equal(looked, Array.from({ length: 100 }, (_, i) => sentOf(TRACES - 100 + i)).filter(sent => !sent.isRun).length)

  // A writer adds a model call to a trace while the decision about that trace waits for the row.
  const [{ seq }] = await sql<[{ seq: number }]>`
    select max(seq) as seq from traces where project_id = 1 and seq < ${next!} and seq % ${SENT.length} = 1`
  const writer = connectTo(database.target)
  t.teardown(() => writer.end({ timeout: 1 }))
  await writer`begin`
  await writer`
    update traces set version = version + 1000000, is_run = is_run or true where project_id = 1 and seq = ${seq}`
  await writer`
    insert into spans (trace_seq, project_id, id, hash, name, kind, status, started_at, ended_at)
    values (${seq}, 1, '\\x09', '\\x00', 'n', 'llm', 'ok', now(), now())`
  const deciding = decideRuns(sql, { projectId: 1, below: next! }, 100)
  await until(async () => {
    const [row] = await writer`select exists (select from pg_locks where not granted) as waits`
    return row?.waits
  })
  await writer`commit`
  t.equal(await deciding, next, 'no progress')
  t.equal(await decideRuns(sql, { projectId: 1, below: next! }, 100), next! - 100)
  t.match(await sql`select is_run as "isRun" from traces where project_id = 1 and seq = ${seq}`, [{ isRun: true }])
})
