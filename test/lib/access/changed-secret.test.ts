/** Tests a change of KEY_DIGEST_SECRET during which keys of both secrets work. */
import t, { type Test } from 'tap'
import { readKeysToMove } from '../../../lib/store/projects/digest-secret.ts'
import { asking, givePassword, signedIn } from '../../fixtures/service/people.ts'
import { type TestService, testService } from '../../fixtures/service/service.ts'
import { until } from '../../fixtures/until.ts'

const NEXT = 'the secret from now on'
const PATH = '/api/v1/key'

const withKey = async (service: TestService, key: string): Promise<number> =>
  (await service.call('GET', PATH, { key })).status

const toMove = ({ database }: TestService) => database.pool.run(sql => readKeysToMove(sql))

/** Starts another service on the same database, with other secrets. */
async function onSecrets(t: Test, { database, key }: TestService, digestSecret: string, previousSecret?: string) {
  const { digestSecret: _, ...rest } = database
  const view = { digestSecret, previousSecret }
  return testService(t, { database: { ...rest, digestSecret: undefined } as typeof database, view, key })
}

t.test('keys of both secrets work, and a key moves to the new secret when it is used', async t => {
  const before = await testService(t)
  const { key: used, keyId } = await before.makeKey()
  const unused = await before.makeKey()
  const revoked = await before.makeKey()
  await before.database.pool.run(sql => sql`update api_keys set revoked_at = now() where id = ${revoked.keyId}`)
  const old = before.database.digestSecret!
  const during = await onSecrets(t, before, NEXT, old)
  t.ok((await toMove(before)).includes(keyId), 'no key has been used yet')
  t.equal(await withKey(during, used), 200, 'a key of the previous secret')
  t.equal(await withKey(during, revoked.key), 401)
  t.equal(await withKey(during, used.slice(0, -1) + (used.endsWith('A') ? 'B' : 'A')), 401)
  await until(async () => !(await toMove(before)).includes(keyId))
  t.ok((await toMove(before)).includes(unused.keyId), 'an unused key does not move')
  t.notOk((await toMove(before)).includes(revoked.keyId), 'a revoked key needs no secret')
  t.equal(await withKey(during, used), 200, 'the moved key')

  const after = await onSecrets(t, before, NEXT)
  t.equal(await withKey(after, used), 200, 'without the previous secret')
  t.equal(await withKey(after, unused.key), 401, 'an unused key is lost with its secret')
  const entries = await before.database.pool.run(sql => sql`select action from audit where action like 'key.change%'`)
  t.same(entries, [{ action: 'key.change-secret' }], 'the change is recorded once')
})

t.test('several servers can change in turn if each first gets the new secret as its second', async t => {
  const before = await testService(t)
  const old = before.database.digestSecret!
  const { key } = await before.makeKey()
  const first = await onSecrets(t, before, old, NEXT)
  const second = await onSecrets(t, before, NEXT, old)
  for (let i = 0; i < 3; i++) {
    for (const service of [first, second]) {
      service.app.forget()
      t.equal(await withKey(service, key), 200)
    }
  }
})

t.test("a server with neither of the keys' secrets is not configured", async t => {
  const before = await testService(t)
  const other = await onSecrets(t, before, NEXT, 'another secret than that')
  t.match((await other.call('GET', PATH)).body, { error: { code: 'not_configured' } })
})

t.test('nobody is signed out, and a known device stays known', async t => {
  const before = await testService(t)
  const ada = await signedIn(before, 'ada@example.com', 'owner')
  await givePassword(before, 'ada@example.com', 'correct horse battery')
  const during = await onSecrets(t, before, NEXT, before.database.digestSecret)
  const answer = await asking(during, ada.cookie)('GET', 'session')
  t.match(answer.body, { user: { email: 'ada@example.com' } })
  const cookie = String(answer.headers['set-cookie']).split(';')[0]!
  t.not(cookie.split('=')[0], ada.cookie.split('=')[0], 'the cookie gets the new name')
  const after = await onSecrets(t, before, NEXT)
  t.match((await asking(after, cookie)('GET', 'session')).body, { user: { email: 'ada@example.com' } })
  t.match((await asking(after, ada.cookie)('GET', 'session')).body, { user: null })
})
