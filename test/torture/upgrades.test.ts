import { copyFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { migrate, readMigrations } from '../../lib/database/migrate.ts'
import { createLog } from '../../lib/log.ts'
import { ingestBody } from '../fixtures/bodies.ts'
import { testDatabase } from '../fixtures/database.ts'
import { testFolder } from '../fixtures/folder.ts'
import { testService } from '../fixtures/service.ts'
import { figure, isLong } from '../fixtures/torture.ts'
import { until } from '../fixtures/until.ts'

const ROWS = isLong ? 200_000 : 20_000

const SQL = new URL('../../../sql/', import.meta.url)

/** The migrations of this version, and one more. */
async function folderWith(t: Test, text: string) {
  const migrations = await readMigrations()
  const folder = await testFolder(t)
  const fileOf = (version: number, name: string) => `${String(version).padStart(4, '0')}-${name}.sql`
  for (const { version, name } of migrations) {
    const file = fileOf(version, name)
    await copyFile(new URL(file, SQL), join(folder, file))
  }
  const version = migrations.length + 1
  await writeFile(join(folder, fileOf(version, 'newer')), text)
  return { folder, version }
}

t.test('a migration waits for a long transaction without holding up the writers, and old servers go on', async t => {
  const database = await testDatabase(t)
  const service = await testService(t, { database })
  const record = (of = service) => of.call('POST', '/api/v1/traces', { body: ingestBody() })
  const { folder, version } = await folderWith(t, 'alter table traces add column of_the_next_version int;\n')

  let isWaiting = true
  let finish = () => {}
  const transaction = database.pool.transaction(async sql => {
    await sql`select count(*) from traces`
    await new Promise<void>(resolve => {
      finish = resolve
    })
  })
  const migration = migrate(database, createLog('silent'), folder).finally(() => {
    isWaiting = false
  })
  const statuses = new Set<number>()
  let longest = 0
  const start = performance.now()
  while (isWaiting) {
    const asked = performance.now()
    statuses.add((await record()).status)
    longest = Math.max(longest, performance.now() - asked)
    if (performance.now() - start > 4000) finish()
  }
  await transaction
  t.same(await migration, [version])
  t.same([...statuses], [201], 'every write was stored')
  figure('longest write beside a migration that waits for a transaction, ms', Math.round(longest))

  const second = await testService(t, { database })
  for (const one of [service, second]) {
    t.equal((await record(one)).status, 201, 'a server of the version before writes')
    t.equal((await one.call('GET', '/api/v1/traces?limit=200')).status, 200)
    t.equal((await one.call('GET', '/readyz', { key: null })).status, 200)
  }
})

t.test('an index is built on a large table beside its writers, and again where that was interrupted', async t => {
  const database = await testDatabase(t)
  const service = await testService(t, { database })
  const { pool } = database
  await pool.run(
    sql => sql`
      insert into traces (project_id, span_count, error_count, seq, version, started_at, document_bytes, estimated_bytes,
        id, name, status, body_hash)
      select 1000, 0, 0, n, n, now(), 0, 0, gen_random_uuid(), 'old', 'ok', '' from generate_series(1, ${ROWS}::int) n`
  )
  const index = 'create index concurrently if not exists traces_newer on traces (project_id, span_count, id);\n'
  const { folder, version } = await folderWith(t, `--! no-transaction\n${index}`)
  const validity = () =>
    pool.run(async sql => {
      const [row] = await sql`select indisvalid as valid from pg_index where indexrelid = to_regclass('traces_newer')`
      return row?.valid
    })

  // It waits for this transaction, as for any writer, with the index half built, and is ended there.
  let finish = () => {}
  const transaction = pool.transaction(async sql => {
    await sql`lock table traces in row exclusive mode`
    await new Promise<void>(resolve => {
      finish = resolve
    })
  })
  t.teardown(() => finish())
  const interrupted = migrate(database, createLog('silent'), folder).then(
    () => 'done',
    () => 'interrupted'
  )
  await until(async () => (await validity()) === false)
  await pool.run(
    sql => sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and query like '%create index concurrently%'`
  )
  t.equal(await interrupted, 'interrupted')
  t.equal(await validity(), false, 'half an index is left')
  finish()
  await transaction

  let isBuilding = true
  const again = migrate(database, createLog('silent'), folder).finally(() => {
    isBuilding = false
  })
  const statuses = new Set<number>()
  let longest = 0
  while (isBuilding) {
    const asked = performance.now()
    statuses.add((await service.call('POST', '/api/v1/traces', { body: ingestBody() })).status)
    longest = Math.max(longest, performance.now() - asked)
  }
  t.same(await again, [version])
  t.equal(await validity(), true, 'the index is whole')
  t.same([...statuses], [201], 'every write was stored')
  figure(`longest write while an index is built on ${ROWS} rows, ms`, Math.round(longest))
})
