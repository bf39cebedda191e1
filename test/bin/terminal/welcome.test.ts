import t from 'tap'
import { testDatabase } from '../../fixtures/database/database.ts'
import { configurationFor, serve, startSpoor, stop, tryKey } from '../../fixtures/service/spoor.ts'

t.test("a user's own database also gets its first key at the first start", async t => {
  const env = configurationFor(await testDatabase(t))
  const first = await serve(t, env)
  t.equal(await tryKey(first.address, first.key!), 200)
  const second = await serve(t, env)
  t.equal(second.key, null)
  t.equal(await tryKey(second.address, first.key!), 200, 'two servers on one database')
})

t.test('a server that is not configured says so, and starts anyway', async t => {
  const env = configurationFor(await testDatabase(t))
  const serving = await startSpoor(t, { ...env, KEY_DIGEST_SECRET: '' })
  t.match(serving.out, /Not configured: KEY_DIGEST_SECRET is not set/)
  const [address] = /http:\/\/127\.0\.0\.1:\d+/.exec(serving.out)!
  t.equal(await tryKey(address, 'any'), 500)
  const away = await serve(t, { ...env, DATABASE_URL: 'postgres://127.0.0.1:1/none' })
  t.match(away, { key: null, obstacle: /the database cannot be used/ })
  t.equal((await stop(away.serving)).code, 0)
})
