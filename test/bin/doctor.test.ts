import t from 'tap'
import { testDatabase } from '../fixtures/database/database.ts'
import { configurationFor, runHere } from '../fixtures/service/spoor.ts'

t.test('doctor examines the configured database, and fails for settings that lose data', async t => {
  const database = await testDatabase(t)
  const env = configurationFor(database)
  const { code, out, err } = await runHere(['doctor'], env)
  t.match(out, /^ok +version +PostgreSQL \d+.* is supported\.\n/)
  t.match(out, /\nok +rights +The role \S+ can read and write spoor's tables\.\n/)
  t.match(out, /\nok +schema +The schema is current\.\n/)
  // The servers of tests run without fsync.
  t.match(out, /\nFAILED +safety +PostgreSQL is running with .*fsync.* = off/)
  t.equal(code, 1)
  t.match(err, /^spoor: 1 check failed: see above\n$/)
  await database.pool.run(sql => sql`delete from schema_migrations`)
  t.match(await runHere(['doctor', '--json'], env), {
    out: /"name":"schema","result":"warn","text":"The database has no/
  })
})
