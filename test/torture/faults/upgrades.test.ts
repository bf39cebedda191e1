import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, copyFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { prepareFirstStart } from '../../../lib/admin/first-start.ts'
import { migrate, readMigrations, readSchemaState } from '../../../lib/database/migrate.ts'
import { createLog } from '../../../lib/log.ts'
import { ingestBody } from '../../fixtures/bodies/bodies.ts'
import { backupOf, fullInstance, inPieces, instanceRows } from '../../fixtures/database/backups.ts'
import { type TestDatabase, testDatabase } from '../../fixtures/database/database.ts'
import { embeddedRows, makeOldFolder, oldRows } from '../../fixtures/database/old-cluster.ts'
import { countOrphans, NO_ORPHANS } from '../../fixtures/database/seed.ts'
import { testFolder } from '../../fixtures/folder.ts'
import { type TestService, testService } from '../../fixtures/service/service.ts'
import { runSpoor, serve, start, stop, tryKey } from '../../fixtures/service/spoor.ts'
import { until } from '../../fixtures/until.ts'
import { checkLoad, startLoad } from '../load/load.ts'
import { figure, isLong, longTest } from '../orders.ts'

const ROWS = isLong ? 200_000 : 5000

const SQL = new URL('../../../../sql/', import.meta.url)

/** Creates a folder with this version's migrations and additional ones, like the next version's folder. */
async function folderWith(t: Test, ...texts: string[]) {
  const migrations = await readMigrations()
  const folder = await testFolder(t)
  const fileOf = (version: number, name: string) => `${String(version).padStart(4, '0')}-${name}.sql`
  for (const { version, name } of migrations) {
    const file = fileOf(version, name)
    await copyFile(new URL(file, SQL), join(folder, file))
  }
  const versions = texts.map((_, i) => migrations.length + 1 + i)
  for (const [i, version] of versions.entries()) await writeFile(join(folder, fileOf(version, 'newer')), texts[i]!)
  return { folder, versions }
}

/** Stores traces in a project without keys. */
async function fillTraces({ pool }: TestDatabase): Promise<void> {
  await pool.run(
    sql => sql`
      insert into traces (project_id, span_count, error_count, seq, version, started_at, document_bytes, estimated_bytes,
        id, name, status, body_hash, family, named_family)
      select 1000, 0, 0, n, n, now(), 0, 0, gen_random_uuid(), 'old', 'ok', '', 0, 0 from generate_series(1, ${ROWS}::int) n`
  )
}

t.test('a migration waits for a long transaction without blocking writers, and old servers continue', async t => {
  const database = await testDatabase(t)
  const service = await testService(t, { database })
  const record = (of = service) => of.call('POST', '/api/v1/traces', { body: ingestBody() })
  const { folder, versions } = await folderWith(t, 'alter table traces add column of_the_next_version int;\n')

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
  t.same(await migration, versions)
  t.same([...statuses], [201], 'every write was stored')
  figure('longest write during a migration that waits for a transaction, ms', Math.round(longest))

  const second = await testService(t, { database })
  for (const one of [service, second]) {
    t.equal((await record(one)).status, 201, 'a server of the previous version writes')
    t.equal((await one.call('GET', '/api/v1/traces?limit=200')).status, 200)
    t.equal((await one.call('GET', '/readyz', { key: null })).status, 200)
  }
})

t.test('an index is built on a large table during writes, and rebuilt after an interruption', async t => {
  const database = await testDatabase(t)
  const service = await testService(t, { database })
  const { pool } = database
  await fillTraces(database)
  const index = 'create index concurrently if not exists traces_newer on traces (project_id, span_count, id);\n'
  const { folder, versions } = await folderWith(t, `--! no-transaction\n${index}`)
  const validity = () =>
    pool.run(async sql => {
      const [row] = await sql`select indisvalid as valid from pg_index where indexrelid = to_regclass('traces_newer')`
      return row?.valid
    })

  // When the index is half built, the migration waits for this transaction, as it would for any writer, and is killed.
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
  t.equal(await validity(), false, 'half of an index remains')
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
  t.same(await again, versions)
  t.equal(await validity(), true, 'the index is complete')
  t.same([...statuses], [201], 'every write was stored')
  figure(`longest write while an index is built on ${ROWS} rows, ms`, Math.round(longest))
})

const TABLES = [
  'traces',
  'spans',
  'scores',
  'trace_tags',
  'trace_families',
  'ranking_floors',
  'project_totals',
  'api_keys',
  'projects'
]
const COLUMNS = TABLES.map(table => `alter table ${table} add column of_the_next_version int not null default 0;\n`)
const INDEX = `--! no-transaction
create index concurrently if not exists traces_newer on traces (project_id, of_the_next_version, id);
`

longTest('servers of adjacent versions run side by side under load, before, during and after a migration', async t => {
  const database = await testDatabase(t)
  await fillTraces(database)
  const { folder, versions } = await folderWith(t, ...COLUMNS, INDEX)
  const old = await testService(t, { database })
  const loads = [old].map(({ url, key }) => startLoad(url, key))
  t.teardown(() => Promise.all(loads.map(load => load.stop())))
  const untilAllAnswered = async (more: number) => {
    const enough = loads.map(load => load.answered() + more)
    await until(() => loads.every((load, i) => load.answered() >= enough[i]!))
  }
  const reads = new Set<number>()
  let isParsedName = true
  const reading = (async () => {
    const { traceId } = loads[0]!.told[0]!
    while (isParsedName) {
      for (const path of [
        '/api/v1/traces?limit=200',
        `/api/v1/traces/${traceId}`,
        '/api/v1/scores',
        '/api/v1/project'
      ]) {
        reads.add((await old.call('GET', path)).status)
      }
    }
  })()
  const status = async ({ call }: TestService, path: string) => (await call('GET', path)).status

  await untilAllAnswered(40)
  const waiting = await testService(t, { database, migrations: folder, config: { autoMigrate: false } })
  t.equal(await status(waiting, '/api/v1/key'), 500, 'newer code does not serve on an older schema')
  t.equal(await status(waiting, '/readyz'), 503)
  await untilAllAnswered(40)

  const next = await testService(t, { database, migrations: folder })
  t.equal(await status(next, '/api/v1/key'), 200, 'it serves after migrating')
  t.equal((await database.pool.run(sql => readSchemaState(sql, folder))).version, versions.at(-1))
  await until(async () => (await status(waiting, '/api/v1/key')) === 200)
  await until(async () => (await status(waiting, '/readyz')) === 200)

  const again = await testService(t, { database })
  t.equal(await status(again, '/readyz'), 200, 'older code starts on a newer schema')
  t.same(await prepareFirstStart(database, 'spoor'), { key: undefined, obstacle: undefined }, 'and reports no problem')
  for (const { url } of [next, waiting, again]) loads.push(startLoad(url, old.key))
  await untilAllAnswered(400)
  isParsedName = false
  await reading
  await Promise.all(loads.map(load => load.stop()))
  t.ok(
    [...reads].every(code => code === 200 || code === 404),
    `reads got ${[...reads]}: the load deletes what it reads`
  )
  await checkLoad(t, next.url, old.key, loads)
  t.same(await database.pool.run(countOrphans), NO_ORPHANS)
  figure(
    '2xx answers of servers of two versions, three of them after the migration',
    loads.map(load => load.answered()).join(', ')
  )
})

/**
 * Number of traces in the database that is upgraded, and number of points at which the upgrade is killed.
 */
const OLD_TRACES = 1500
const KILLS = 8

// This test downloads earlier PostgreSQL versions. `npm test` covers only the decisions (test/lib/moving/upgrade).
longTest('an embedded database is upgraded to another PostgreSQL completely, however often that is killed', async t => {
  const original = await fullInstance(t)
  for (let n = 0; n < OLD_TRACES; n++) {
    const { status } = await original.call('POST', '/api/v1/traces', {
      body: ingestBody({ input: 'x'.repeat(5000) })
    })
    if (status !== 201) throw new Error(`answered ${status}`)
  }
  const rows = await instanceRows(original.database)
  const backup = await backupOf(original.database)
  const folder = await testFolder(t)
  await chmod(folder, 0o755)
  for (const major of [15, 16, 17]) {
    const made = join(folder, `made-${major}`)
    const programs = await makeOldFolder(made, major, inPieces(backup, 100_000))
    const args = ['upgrade', '--json', '--programs', programs]
    const envOf = (dataDir: string) => ({ DATA_DIR: dataDir, KEY_DIGEST_SECRET: original.database.digestSecret })
    const copyOf = (name: string): NodeJS.ProcessEnv & { DATA_DIR: string } => {
      const dataDir = join(folder, `${name}-${major}`)
      // The copy keeps the files' owners.
      spawnSync('cp', ['-a', made, dataDir])
      return envOf(dataDir)
    }
    const isUpgraded = async ({ DATA_DIR }: { DATA_DIR: string }) =>
      (await readdir(join(DATA_DIR, 'postgres'))).includes('postgresql-18')

    const whole = copyOf('whole')
    const began = performance.now()
    const finished = await runSpoor(args, whole)
    const took = performance.now() - began
    t.match(finished, { code: 0 }, finished.err)
    t.match(JSON.parse(finished.out), { from: major, to: 18, upgraded: true, traces: OLD_TRACES + 34 })
    t.same(await embeddedRows(whole.DATA_DIR), rows)
    const { serving, address } = await serve(t, whole)
    t.equal(await tryKey(address, original.key), 200, 'keys work')
    await stop(serving)
    figure(`seconds for ${OLD_TRACES} traces from PostgreSQL ${major}`, (took / 1000).toFixed(1))
    if (major !== 16) continue

    const interrupted = copyOf('interrupted')
    const child = start(args, interrupted)
    await delay(took / 2)
    child.kill('SIGINT')
    const [code] = await once(child, 'close')
    t.equal(code, 130)
    t.same(await readdir(join(interrupted.DATA_DIR, 'postgres')), ['data'], 'nothing is left')

    const killed = copyOf('killed')
    let kills = 0
    for (let place = 1; place <= KILLS; place++) {
      const child = start(args, killed)
      const closed = once(child, 'close')
      await delay((took * place) / (KILLS + 1))
      child.kill('SIGKILL')
      const [, signal] = await closed
      if (signal === 'SIGKILL') kills++
      if (await isUpgraded(killed)) break
      const said = await runSpoor(['status'], killed)
      t.match(said, { code: 1 })
      t.same(await oldRows(killed.DATA_DIR, programs), rows, 'an earlier spoor can continue')
    }
    figure(`kills of an upgrade`, kills)
    t.ok(kills > KILLS / 2)
    const again = await runSpoor(args, killed)
    t.match(again, { code: 0 }, again.err)
    t.same(await embeddedRows(killed.DATA_DIR), rows)
    const dropped = await runSpoor(['upgrade', '--drop-old'], killed)
    t.match(dropped, { code: 0 }, dropped.err)
    t.same(await readdir(join(killed.DATA_DIR, 'postgres')), ['postgresql-18'])
    t.same(await embeddedRows(killed.DATA_DIR), rows)
  }
})
