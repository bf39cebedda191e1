import t from 'tap'
import { readConfig } from '../../../lib/config.ts'
import { classifyFailure } from '../../../lib/database/failure.ts'
import { openDatabase } from '../../../lib/database/open.ts'
import { createLog } from '../../../lib/log.ts'
import { testFolder } from '../../fixtures/folder.ts'

const log = createLog('silent')

t.test("opens a user's own server without connecting to it, and reveals no password", async t => {
  const config = readConfig({ DATABASE_URL: 'postgres://me:hush@db.invalid:5433/traces' })
  const database = await openDatabase(config, log, { role: 'serve' })
  t.match(database, { location: 'PostgreSQL at db.invalid:5433/traces', embedded: false, digestSecret: undefined })
  const sql = database.connect()
  t.equal(classifyFailure(await sql`select 1`.catch(error => error)), 'refused')
  await sql.end({ timeout: 0 })
  await database.close()
})

t.test('uses the configured digest secret, or the one in the data folder', async t => {
  const folder = await testFolder(t)
  const own = { KEY_DIGEST_SECRET: 'a secret of one’s own' }
  const theirs = await openDatabase(readConfig({ ...own, DATABASE_URL: 'postgres://x/y' }), log, { role: 'command' })
  t.equal(theirs.digestSecret, own.KEY_DIGEST_SECRET)
  const kept = await openDatabase(readConfig({ DATA_DIR: folder }), log, { role: 'command' })
  t.match(kept, { embedded: true, location: `embedded PostgreSQL in ${folder}`, digestSecret: /^[\w-]{43}$/ })
  const given = await openDatabase(readConfig({ DATA_DIR: folder, ...own }), log, { role: 'command' })
  t.equal(given.digestSecret, own.KEY_DIGEST_SECRET)
  const sql = given.connect({ applicationName: 'test' })
  t.match(await sql`select 1 as one`, [{ one: 1 }])
  await sql.end({ timeout: 1 })
  await given.close()
  await kept.close()
})
