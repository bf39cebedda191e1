import { copyFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { migrate, readMigrations } from '../../lib/database/migrate.ts'
import { createLog } from '../../lib/log.ts'
import { ingestBody } from '../fixtures/bodies.ts'
import { testDatabase } from '../fixtures/database.ts'
import { testFolder } from '../fixtures/folder.ts'
import { testService } from '../fixtures/service.ts'
import { figure } from '../fixtures/torture.ts'

const SQL = new URL('../../../sql/', import.meta.url)

t.test('a migration waits for a long transaction without holding up the writers, and old servers go on', async t => {
  const database = await testDatabase(t)
  const service = await testService(t, { database })
  const record = (of = service) => of.call('POST', '/api/v1/traces', { body: ingestBody() })
  const migrations = await readMigrations()
  const folder = await testFolder(t)
  for (const { version, name } of migrations) {
    const file = `${String(version).padStart(4, '0')}-${name}.sql`
    await copyFile(new URL(file, SQL), join(folder, file))
  }
  const next = String(migrations.length + 1).padStart(4, '0')
  await writeFile(join(folder, `${next}-newer.sql`), 'alter table traces add column of_the_next_version int;\n')

  let isLong = true
  let finish = () => {}
  const transaction = database.pool.transaction(async sql => {
    await sql`select count(*) from traces`
    await new Promise<void>(resolve => {
      finish = resolve
    })
  })
  const migration = migrate(database, createLog('silent'), folder).finally(() => {
    isLong = false
  })
  const statuses = new Set<number>()
  let longest = 0
  const start = performance.now()
  while (isLong) {
    const asked = performance.now()
    statuses.add((await record()).status)
    longest = Math.max(longest, performance.now() - asked)
    if (performance.now() - start > 4000) finish()
  }
  await transaction
  t.same(await migration, [migrations.length + 1])
  t.same([...statuses], [201], 'every write was stored')
  figure('longest write beside a migration that waits for a transaction, ms', Math.round(longest))

  const second = await testService(t, { database })
  for (const one of [service, second]) {
    t.equal((await record(one)).status, 201, 'a server of the version before writes')
    t.equal((await one.call('GET', '/api/v1/traces?limit=200')).status, 200)
    t.equal((await one.call('GET', '/readyz', { key: null })).status, 200)
  }
})
