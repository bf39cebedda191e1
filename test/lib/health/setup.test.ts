import { cp, mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { migrateSchema } from '../../../lib/cluster/distribution.ts'
import type { Database } from '../../../lib/database/database.ts'
import { Setup } from '../../../lib/health/setup.ts'
import { createLog } from '../../../lib/log.ts'
import { isOnCluster, runOn, testDatabase } from '../../fixtures/database/database.ts'
import { testRelay } from '../../fixtures/database/relay.ts'
import { testFolder } from '../../fixtures/folder.ts'
import { until } from '../../fixtures/until.ts'

const SQL = fileURLToPath(new URL('../../../../sql', import.meta.url))

/** Creates a folder with all existing migrations and one more. */
async function withMigration(t: Test, text: string): Promise<string> {
  const folder = join(await testFolder(t), 'sql')
  await mkdir(folder)
  await cp(SQL, folder, { recursive: true })
  const next = String((await readdir(folder)).length + 1).padStart(4, '0')
  await writeFile(join(folder, `${next}-more.sql`), text)
  return folder
}

/** Creates a Setup that has checked once and keeps checking until the test ends. */
async function setUp(t: Test, database: Database, autoMigrate = true, migrations?: string): Promise<Setup> {
  const setup = new Setup(database, autoMigrate, createLog('silent'), migrations)
  t.teardown(() => setup.stop())
  await setup.start()
  return setup
}
const isReady = ({ lacking, obstacle }: Setup) => lacking === undefined && obstacle === undefined

t.test("a database with the code's schema and the keys' secret lacks nothing", async t => {
  const database = await testDatabase(t)
  t.ok(isReady(await setUp(t, database)))
  t.match(await setUp(t, { ...database, digestSecret: undefined }), { lacking: 'KEY_DIGEST_SECRET is not set' })
  const { lacking } = await setUp(t, { ...database, digestSecret: 'another secret' })
  t.match(lacking, /^KEY_DIGEST_SECRET differs from/)
})

t.test('an old schema is migrated, or reported until somebody migrates it', async t => {
  const database = await testDatabase(t)
  const migrations = await withMigration(t, 'create table more (id int);')
  const waits = await setUp(t, database, false, migrations)
  t.match(waits.lacking, /^the schema is at \d+, but \d+ is required: run `spoor migrate`$/)
  t.equal(waits.obstacle, undefined)
  t.ok(isReady(await setUp(t, database, true, migrations)))
  await until(() => isReady(waits))
  t.strictSame([...(await database.pool.run(sql => sql`select * from more`))], [])
})

t.test('a newer schema is served, and reported once', async t => {
  const database = await testDatabase(t)
  await database.pool.run(
    sql => sql`insert into schema_migrations (version, name, sha256) values (9999, 'from-the-future', '')`
  )
  const lines: string[] = []
  const log = createLog('info', { write: line => lines.push(line) })
  // A server creates a second Setup when its PostgreSQL is in recovery.
  for (const setup of [new Setup(database, true, log), new Setup(database, true, log)]) {
    t.teardown(() => setup.stop())
    await setup.start()
    await setup.start()
    t.ok(isReady(setup))
  }
  t.equal(lines.length, 1)
  t.match(
    lines[0],
    /"level":"warn".*the schema is at version 9999, but this version of spoor supports up to \d+; continuing/
  )
})

t.test('a table that is not distributed, while traces are, is reported', async t => {
  const database = await testDatabase(t)
  if (isOnCluster()) await runOn(database.target, `select undistribute_table('user_sums')`)
  const { lacking } = await setUp(t, database)
  if (isOnCluster()) t.match(lacking, /^the table user_sums is not distributed.*spoor migrate --distributed --apply/)
  else t.equal(lacking, undefined, 'on a single PostgreSQL, no table is')
})

t.test('a migration that cannot be applied is reported', async t => {
  const setup = await setUp(t, await testDatabase(t), true, await withMigration(t, 'create table traces (id int);'))
  t.match(setup.lacking, /^the schema cannot be applied: .*"traces" already exists/)
})

t.test('the server waits for an unreachable database, and reports nothing missing', async t => {
  const database = await testDatabase(t)
  const relay = await testRelay(t, database.target)
  relay.cut()
  const setup = await setUp(t, { ...database, connect: relay.connect })
  t.strictSame([setup.obstacle, setup.lacking], ['the database cannot be reached', undefined])
  relay.mend()
  await until(() => isReady(setup))
})

t.test('a passed check is repeated on demand', async t => {
  const database = await testDatabase(t)
  const setup = await setUp(t, database)
  await database.pool.run(sql => sql`update key_digest_secret set fingerprint = sha256(fingerprint)`)
  t.ok(isReady(setup), 'no check has run')
  setup.lookAgain()
  await until(() => !isReady(setup))
  t.match(setup.lacking, /^KEY_DIGEST_SECRET differs from/)
})

t.test('a server waits while a server from before 1.0.0 is connected, and says which one to stop', async t => {
  const database = await testDatabase(t)
  const old = database.connect()
  await old.unsafe("set application_name = 'spoor[4711] reader'")
  const setup = await setUp(t, database)
  t.match(
    setup.lacking,
    /^a version of spoor before 1\.0\.0 is connected .* must be stopped first: process 4711 on \S+/
  )
  await t.rejects(migrateSchema(database, createLog('silent')), { message: /process 4711/ })
  await old.unsafe("set application_name = 'spoor[4711/1] reader'")
  await until(() => isReady(setup))
  t.same(await migrateSchema(database, createLog('silent')), [], 'servers of later versions continue')
  await old.end()
})
