import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { digestSecret, generateKey } from '../../../../lib/access/keys.ts'
import * as accounts from '../../../../lib/store/projects/accounts.ts'
import * as keys from '../../../../lib/store/projects/keys.ts'
import * as projects from '../../../../lib/store/projects/projects.ts'
import { type TestDatabase, testDatabase } from '../../../fixtures/database/database.ts'

async function makeProject({ pool }: TestDatabase, kind: accounts.AccountType = 'owner'): Promise<number> {
  return pool.run(async sql => {
    const account = await accounts.insertAccount(sql, 'an account', kind)
    const project = {
      accountId: account.id,
      name: 'A project',
      slug: `p${account.id}`,
      description: '',
      storageLimit: null
    }
    return (await projects.insertProject(sql, project))!
  })
}

function newKey(projectId: number, more: Partial<keys.NewKey> = {}): keys.NewKey {
  const { keyId, secret } = generateKey('spoor')
  const digest = digestSecret(secret, 'deployment')
  return {
    id: keyId,
    digest,
    projectId,
    label: 'a label',
    scopes: ['traces:read'],
    environment: null,
    expiresInDays: null,
    ...more
  }
}

t.test('authentication reads a key with its account, and does the same work for an unknown id', async t => {
  const database = await testDatabase(t)
  const projectId = await makeProject(database, 'trial')
  const key = newKey(projectId, { environment: 'prod', expiresInDays: 30 })
  await database.pool.run(async sql => {
    t.same(await keys.readKeysForAuth(sql, ['no-such-key']), [], 'no key exists')
    await keys.insertKey(sql, key)
    const rows = await keys.readKeysForAuth(sql, [key.id, 'no-such-key', ''])
    t.same(new Set(rows.map(({ wanted }) => wanted)), new Set([key.id, 'no-such-key', '']))
    for (const each of rows) t.equal(each.key.id, key.id, 'the only key')
    const row = rows.find(({ wanted }) => wanted === key.id)?.key
    t.match(row, { id: key.id, projectId, scopes: ['traces:read'], environment: 'prod', accountType: 'trial' })
    t.match(row, { revokedAt: null, lastUsedAt: null, accountId: Number })
    t.ok(row!.digest.equals(key.digest))
    t.match(row!.expiresAt, /^\d{4}-\d\d-\d\dT.*Z$/)
    await sql`update api_keys set scopes = null`
    t.equal((await keys.readKeysForAuth(sql, [key.id]))[0]!.key.scopes, null, 'a key from before scopes existed')
  })
})

t.test('the last use changes at most every five minutes, and every caller gets the current value', async t => {
  const { pool, ...database } = await testDatabase(t)
  const projectId = await makeProject({ pool, ...database })
  const key = newKey(projectId)
  const used = await pool.run(async sql => {
    await keys.insertKey(sql, key)
    const [first] = await keys.touchKeys(sql, [key.id, 'no-such-key'])
    t.same(await keys.touchKeys(sql, [key.id]), [first])
    await sql`update api_keys set last_used_at = now() - interval '4 minutes 59 seconds'`
    const [kept] = await keys.touchKeys(sql, [key.id])
    t.ok(Date.now() - Date.parse(kept!.lastUsedAt) > 4 * 60_000)
    await sql`update api_keys set last_used_at = now() - interval '5 minutes'`
    return (await keys.touchKeys(sql, [key.id]))[0]!.lastUsedAt
  })
  t.ok(Date.now() - Date.parse(used) < 4 * 60_000)
})

t.test('processes that update the same keys in different orders do not block each other', async t => {
  const database = await testDatabase(t)
  const projectId = await makeProject(database)
  const made = Array.from({ length: 20 }, () => newKey(projectId))
  await database.pool.run(async sql => {
    for (const key of made) await keys.insertKey(sql, key)
  })
  const ids = made.map(key => key.id)
  const touches = Array.from({ length: 12 }, (_, i) =>
    database.pool.run(sql => keys.touchKeys(sql, i % 2 === 0 ? ids : ids.toReversed()))
  )
  const distinct = new Set((await Promise.all(touches)).flat().map(key => `${key.id} ${key.lastUsedAt}`))
  t.equal(distinct.size, ids.length, 'each key was updated once')
})

t.test('rotation keeps label, scopes, environment and expiry, and revokes the old key', async t => {
  const database = await testDatabase(t)
  const projectId = await makeProject(database)
  await database.pool.run(async sql => {
    const old = await keys.insertKey(sql, newKey(projectId, { environment: 'prod', expiresInDays: 90 }))
    const replacement = newKey(projectId)
    const made = await keys.insertRotatedKey(sql, old.id, replacement)
    t.match(made, {
      id: replacement.id,
      projectId,
      label: old.label,
      scopes: old.scopes,
      environment: 'prod',
      expiresAt: old.expiresAt,
      lastUsedAt: null,
      revokedAt: null
    })
    t.ok((await keys.readKey(sql, old.id))!.revokedAt)
    t.ok((await keys.readKeysForAuth(sql, [made!.id]))[0]!.key.digest.equals(replacement.digest))
  })
})

t.test('a key that cannot be rotated is unchanged', async t => {
  const database = await testDatabase(t)
  const projectId = await makeProject(database)
  await database.pool.run(async sql => {
    const revoked = await keys.insertKey(sql, newKey(projectId))
    await keys.setKeyRevoked(sql, revoked.id)
    const expired = await keys.insertKey(sql, newKey(projectId))
    await sql`update api_keys set expires_at = now() - interval '1 second' where id = ${expired.id}`
    const taken = newKey(projectId)
    await keys.insertKey(sql, taken)
    for (const id of [revoked.id, expired.id, 'no-such-key']) {
      t.equal(await keys.insertRotatedKey(sql, id, newKey(projectId)), undefined)
    }
    await t.rejects(keys.insertRotatedKey(sql, taken.id, taken), { code: '23505' }, 'an existing id')
    t.equal((await keys.readKey(sql, taken.id))!.revokedAt, null, 'the old key of a failed rotation still works')
    t.equal((await keys.readKeys(sql)).length, 3)
  })
})

t.test('of two concurrent rotations, one creates a key', async t => {
  const database = await testDatabase(t)
  const projectId = await makeProject(database)
  const old = await database.pool.run(sql => keys.insertKey(sql, newKey(projectId)))
  const rotations = Array.from({ length: 4 }, () =>
    database.pool.run(sql => keys.insertRotatedKey(sql, old.id, newKey(projectId)))
  )
  t.equal((await Promise.all(rotations)).filter(Boolean).length, 1)
  t.equal((await database.pool.run(sql => keys.readKeys(sql))).length, 2)
})

t.test('a key keeps the time of its first revocation', async t => {
  const database = await testDatabase(t)
  const projectId = await makeProject(database)
  await database.pool.run(async sql => {
    const { id } = await keys.insertKey(sql, newKey(projectId))
    const { revokedAt } = (await keys.setKeyRevoked(sql, id))!
    await delay(5)
    t.equal((await keys.setKeyRevoked(sql, id))!.revokedAt, revokedAt)
    t.equal(await keys.setKeyRevoked(sql, 'no-such-key'), undefined)
    t.equal(await keys.writeKeyEnvironment(sql, id, 'prod'), undefined, 'its environment no longer changes')
  })
})

t.test('keys are listed in order of creation, for one project or all', async t => {
  const database = await testDatabase(t)
  const [one, other] = [await makeProject(database), await makeProject(database)]
  await database.pool.run(async sql => {
    const made = []
    for (const projectId of [one, other, one]) made.push((await keys.insertKey(sql, newKey(projectId))).id)
    t.same(
      (await keys.readKeys(sql)).map(key => key.id),
      made
    )
    t.same(
      (await keys.readKeys(sql, one)).map(key => key.id),
      [made[0], made[2]]
    )
  })
})

t.test('every change of a key is announced with its id', async t => {
  const database = await testDatabase(t)
  const projectId = await makeProject(database)
  const listener = database.connect()
  t.teardown(() => listener.end({ timeout: 1 }))
  const heard: string[] = []
  const bell = new EventTarget()
  await listener.listen(keys.KEYS_CHANNEL, id => {
    heard.push(id)
    bell.dispatchEvent(new Event('heard'))
  })
  const [first, second] = [newKey(projectId), newKey(projectId)]
  await database.pool.run(async sql => {
    await keys.insertKey(sql, first)
    await keys.writeKeyEnvironment(sql, first.id, 'prod')
    await keys.insertRotatedKey(sql, first.id, second)
    await keys.setKeyRevoked(sql, second.id)
    await keys.setKeyRevoked(sql, 'no-such-key')
    await sql`select pg_notify(${keys.KEYS_CHANNEL}, 'the end')`
  })
  while (heard.at(-1) !== 'the end') await once(bell, 'heard')
  t.same(heard, [first.id, first.id, first.id, second.id, second.id, 'the end'])
})
