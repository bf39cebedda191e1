import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { KeyRing } from '../../../lib/access/auth.ts'
import { revokeKey, rotateKey } from '../../../lib/admin/keys.ts'
import type { SqlAccess } from '../../../lib/database/sql-access.ts'
import { createLog } from '../../../lib/log.ts'
import type { Principal } from '../../../lib/schema/principal.ts'
import { type TestDatabase, testDatabase } from '../../fixtures/database/database.ts'
import { testRelay } from '../../fixtures/database/relay.ts'
import { type TestService, testService } from '../../fixtures/service/service.ts'
import { until } from '../../fixtures/until.ts'

const wrongSecret = (key: string) => key.slice(0, -1) + (key.endsWith('A') ? 'B' : 'A')
const PATH = '/api/v1/key'

t.test('a missing, malformed, unknown, wrong, expired or revoked key gets the same 401', async t => {
  const { call, makeKey, key, database } = await testService(t)
  const expired = await makeKey({ expiresInDays: 1 })
  await database.pool.run(sql => sql`update api_keys set expires_at = now() where id = ${expired.keyId}`)
  const revoked = await makeKey()
  await database.pool.run(sql => revokeKey(sql, revoked.keyId))
  const headers: [string, Record<string, string>][] = [
    ['no header', {}],
    ['empty', { authorization: '' }],
    ['no token', { authorization: 'Bearer' }],
    ['another scheme', { authorization: `Basic ${key}` }],
    ['no scheme', { authorization: key }],
    ['more than a token', { authorization: `Bearer ${key} more` }],
    ['no key', { authorization: 'Bearer nonsense' }],
    ['a very long token', { authorization: `Bearer ${'x'.repeat(8000)}` }],
    ['another prefix', { authorization: `Bearer other${key.slice(5)}` }],
    ['a key that is too short', { authorization: `Bearer ${key.slice(0, -1)}` }],
    ['a key id that is unknown', { authorization: `Bearer spoor_live_${'0'.repeat(16)}_${'0'.repeat(43)}` }],
    ['a wrong secret', { authorization: `Bearer ${wrongSecret(key)}` }],
    ['an expired key', { authorization: `Bearer ${expired.key}` }],
    ['a revoked key', { authorization: `Bearer ${revoked.key}` }]
  ]
  const bodies = new Set<string>()
  for (const [title, header] of headers) {
    const answer = await call('GET', PATH, { key: null, headers: header })
    t.equal(answer.status, 401, title)
    t.equal(answer.headers['www-authenticate'], 'Bearer')
    bodies.add(answer.text.replace(answer.body.error.requestId, ''))
  }
  t.equal(bodies.size, 1, 'except for the request id')
  for (const scheme of ['Bearer', 'bearer', 'BEARER', 'Bearer ']) {
    const answer = await call('GET', PATH, { key: null, headers: { authorization: `${scheme} ${key}` } })
    t.equal(answer.status, 200, scheme)
  }
})

t.test('every 401 takes the same work: queries, rows, digests and comparisons', async t => {
  const { key, makeKey, database } = await testService(t)
  const { pool, sqlAccess, digestSecret } = database
  const revoked = await makeKey()
  await pool.run(sql => revokeKey(sql, revoked.keyId))
  const expired = await makeKey({ expiresInDays: 1 })
  await pool.run(sql => sql`update api_keys set expires_at = now() where id = ${expired.keyId}`)
  const ids = await pool.run(sql => sql`select id from api_keys`)
  const work = { queries: 0, rows: 0, digests: 0, comparisons: 0 }
  const counting: SqlAccess = {
    ...sqlAccess,
    async read(ask) {
      const answer = await sqlAccess.read(ask)
      work.queries++
      work.rows += (answer as unknown[]).length
      return answer
    }
  }
  const { createHmac, timingSafeEqual } = crypto
  Object.assign(crypto, {
    createHmac: (...args: Parameters<typeof createHmac>) => {
      // The driver also digests, when it opens a connection.
      if (args[1] === digestSecret) work.digests++
      return createHmac(...args)
    },
    timingSafeEqual: (...args: Parameters<typeof timingSafeEqual>) => {
      work.comparisons++
      return timingSafeEqual(...args)
    }
  })
  syncBuiltinESMExports()
  t.teardown(() => {
    Object.assign(crypto, { createHmac, timingSafeEqual })
    syncBuiltinESMExports()
  })
  const keys = new KeyRing({ sql: counting, log: createLog('silent'), keyPrefix: 'spoor', digestSecret: digestSecret! })
  const unknown = (id: string) => `spoor_live_${id}_${'0'.repeat(43)}`
  const tokens: [string, string][] = [
    ['a wrong secret', wrongSecret(key)],
    ['an unknown id that sorts before all others', unknown('0'.repeat(16))],
    ['an unknown id that sorts after all others', unknown('z'.repeat(16))],
    [
      'an unknown id next to a known one',
      unknown(ids[0]!.id.replace(/.$/, (last: string) => (last === 'Q' ? 'R' : 'Q')))
    ],
    ['a revoked key', revoked.key],
    ['a revoked key with a wrong secret', wrongSecret(revoked.key)],
    ['an expired key', expired.key],
    ['another prefix', `other${key.slice(5)}`],
    ['a key that is too short', key.slice(0, -1)],
    ['no key', 'nonsense']
  ]
  for (const [title, token] of tokens) {
    Object.assign(work, { queries: 0, rows: 0, digests: 0, comparisons: 0 })
    await t.rejects(async () => keys.authenticate(`Bearer ${token}`, 'key'), { code: 'invalid_api_key' })
    t.same(work, { queries: 1, rows: 1, digests: 1, comparisons: 1 }, title)
  }
})

t.test("one key's secret authenticates no other key, whichever row is read", async t => {
  const { call, key, database } = await testService(t)
  const secret = key.slice(-43)
  for (const id of ['0'.repeat(16), 'z'.repeat(16), '']) {
    const answer = await call('GET', PATH, { key: `spoor_live_${id}_${secret}` })
    t.equal(answer.status, 401, id)
  }
  await database.pool.run(sql => sql`delete from api_keys`)
  t.equal((await call('GET', PATH, { key: wrongSecret(key) })).status, 401, 'even if no keys exist')
})

t.test('describes the calling key', async t => {
  const { call, makeKey, database } = await testService(t)
  const { key, keyId, projectId, expiresAt } = await makeKey({
    scopes: ['traces:read'],
    environment: 'prod',
    expiresInDays: 30
  })
  const { body } = await call('GET', PATH, { key })
  const { lastUsedAt, ...rest } = body
  t.same(rest, { keyId, projectId, scopes: ['traces:read'], expiresAt, environment: 'prod' })
  t.equal(lastUsedAt, await readLastUse(database, keyId), 'its first request waits until its use is stored')

  await database.pool.run(sql => sql`update api_keys set scopes = null where id = ${keyId}`)
  await database.pool.run(sql => sql`notify spoor_keys`)
  await until(async () => (await call('GET', PATH, { key })).body.scopes[0] === 'traces:write')
  const { scopes } = (await call('GET', PATH, { key })).body
  t.same(scopes, ['traces:write'], 'a key from before scopes can write')
})

t.test("a key without a route's scope is rejected", async t => {
  const { call, makeKey } = await testService(t)
  const { key } = await makeKey({ scopes: ['traces:read', 'traces:delete'] })
  const answer = await call('POST', '/api/v1/traces', { key, body: {} })
  t.equal(answer.status, 403)
  t.equal(answer.body.error.code, 'insufficient_scope')
  t.match(answer.body.error.message, /traces:write/)
})

t.test('a revoked or rotated key is rejected at once in every process', async t => {
  const first = await testService(t)
  const { database, makeKey } = first
  const second = await joinDatabase(t, first)
  const revoked = await makeKey()
  const rotated = await makeKey({ environment: 'prod' })
  for (const { key } of [revoked, rotated]) {
    for (const { call } of [first, second]) t.equal((await call('GET', PATH, { key })).status, 200)
  }
  await database.pool.run(sql => revokeKey(sql, revoked.keyId))
  const making = { keyPrefix: 'spoor', digestSecret: database.digestSecret }
  const replacement = await database.pool.run(sql => rotateKey(sql, making, rotated.keyId))
  for (const { key } of [revoked, rotated]) {
    // The change is visible well within the 5 s for which a key is cached without a notification.
    for (const { call } of [first, second]) {
      await until(async () => (await call('GET', PATH, { key })).status === 401, 2500)
    }
  }
  t.equal((await first.call('GET', PATH, { key: replacement.key })).body.environment, 'prod')
})

t.test('the last use is stored at most every five minutes', async t => {
  const first = await testService(t)
  const { database, makeKey } = first
  const second = await joinDatabase(t, first)
  const { key, keyId } = await makeKey()
  const lastUsed = () => readLastUse(database, keyId)
  const setLastUsed = async (seconds: number) => {
    await database.pool.run(
      sql => sql`
        update api_keys set last_used_at = now() - ${seconds} * interval '1 second' where id = ${keyId}
        returning pg_notify('spoor_keys', id)`
    )
    return lastUsed()
  }
  /** Waits until the service reports the given time as the key's last use. */
  const untilAnswered = (service: TestService, time: string | null) =>
    until(async () => (await service.call('GET', PATH, { key })).body.lastUsedAt === time)
  const recent = await setLastUsed(240)
  for (const service of [first, second]) await untilAnswered(service, recent)
  t.equal(await lastUsed(), recent, 'not before')
  const old = await setLastUsed(301)
  await until(async () => {
    await Promise.all([first.call('GET', PATH, { key }), second.call('GET', PATH, { key })])
    return (await lastUsed()) !== old
  })
  const moved = await lastUsed()
  for (const service of [first, second]) await untilAnswered(service, moved)
  await delay(200)
  t.equal(await lastUsed(), moved, 'once, in any process')
})

t.test("the request that updates a key's last use returns the new time", async t => {
  const first = await testService(t)
  const { database, key } = first
  for (const minutes of [6, 60]) {
    await database.pool.run(sql => sql`update api_keys set last_used_at = now() - ${minutes} * interval '1 minute'`)
    // This service has not seen the key yet.
    const { call } = await joinDatabase(t, first)
    const answers = await Promise.all([call('GET', PATH, { key }), call('GET', PATH, { key })])
    const { keyId } = answers[0].body
    for (const { body } of [...answers, await call('GET', PATH, { key })]) {
      t.equal(body.lastUsedAt, await readLastUse(database, keyId), `after ${minutes} minutes`)
    }
  }
})

t.test('while the database is unreachable, writes get 429, reads 503, and malformed keys 401', async t => {
  const database = await testDatabase(t)
  const relay = await testRelay(t, database.target)
  const { call, key } = await testService(t, { database, view: { connect: relay.connect } })
  t.equal((await call('GET', PATH)).status, 200)
  relay.cut()
  const other = wrongSecret(key)
  const refused: [string, string, string | null, number, string][] = [
    ['GET', PATH, other, 503, 'unavailable'],
    ['POST', '/api/v1/traces', other, 429, 'quota_exhausted'],
    ['POST', '/api/v1/traces', key, 429, 'quota_exhausted'],
    ['GET', PATH, 'nonsense', 401, 'invalid_api_key'],
    ['GET', PATH, null, 401, 'invalid_api_key']
  ]
  for (const [method, path, key, status, code] of refused) {
    const body = method === 'POST' ? TRACE : undefined
    const answer = await call(method, path, { key, body })
    t.equal(answer.status, status, `${method} ${code}`)
    t.equal(answer.body.error.code, code)
    if (status !== 401) t.equal(answer.headers['retry-after'], '1')
  }
  relay.mend()
  t.equal((await call('GET', PATH, { key: other })).status, 401)
  t.equal((await call('POST', '/api/v1/traces', { body: TRACE })).status, 201)
})

t.test('a flood of wrong keys causes few queries', async t => {
  const { sqlAccess, digestSecret } = await testDatabase(t)
  let reads = 0
  const counting: SqlAccess = {
    ...sqlAccess,
    read: work => {
      reads++
      return sqlAccess.read(work)
    }
  }
  const log = createLog('silent')
  const keys = new KeyRing({ sql: counting, log, keyPrefix: 'spoor', digestSecret: digestSecret! })
  const tokens = Array.from(
    { length: 3000 },
    (_, index) => `spoor_live_${String(index).padStart(16, '0')}_${'x'.repeat(43)}`
  )
  const outcomes = await Promise.allSettled<Principal>(
    tokens.map(async token => keys.authenticate(`Bearer ${token}`, 'key'))
  )
  t.ok(outcomes.every(({ status }) => status === 'rejected'))
  t.ok(reads <= 5, `${reads} queries`)
})

const TIME = '2026-01-02T03:04:05Z'
const TRACE = { schemaVersion: 1, trace: { id: 'a'.repeat(32), name: 'run', startedAt: TIME, endedAt: TIME } }

async function readLastUse({ pool }: TestDatabase, keyId: string): Promise<string> {
  const [row] = await pool.run(sql => sql`select last_used_at as at from api_keys where id = ${keyId}`)
  return row?.at
}

/** Starts a service on the first service's database, like a second process. */
async function joinDatabase(t: Test, { database }: TestService): Promise<TestService> {
  return testService(t, { database })
}
