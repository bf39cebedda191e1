import t from 'tap'
import { digestSecret, generateKey, parseKey } from '../../../lib/access/keys.ts'
import { createAccount } from '../../../lib/admin/accounts.ts'
import { linksOf, prepareFirstStart } from '../../../lib/admin/first-start.ts'
import * as keys from '../../../lib/admin/keys.ts'
import { createProject, listProjects } from '../../../lib/admin/projects.ts'
import { readKeysForAuth } from '../../../lib/store/projects/keys.ts'
import { databaseAt, testDatabase } from '../../fixtures/database/database.ts'

const making = { keyPrefix: 'my_app', digestSecret: 'the secret of a deployment' }

/** Creates a database with a project `default`. */
async function withProject(t: Parameters<typeof testDatabase>[0]) {
  const database = await testDatabase(t)
  await database.pool.run(async sql => {
    await createAccount(sql, 'owner', 'owner')
    await createProject(sql, 1000, { name: 'Default' })
  })
  return database
}

t.test('by default, a key may write and read, and only its digest is stored', async t => {
  const { pool } = await withProject(t)
  await pool.run(async sql => {
    const key = await keys.createKey(sql, making, { project: 'default' })
    t.match(key, { label: '', scopes: ['traces:write', 'traces:read'], environment: null, expiresAt: null })
    const parts = parseKey('my_app', key.key)!
    t.equal(parts.keyId, key.keyId)
    const [{ key: stored } = {}] = await readKeysForAuth(sql, [key.keyId])
    t.ok(stored!.digest.equals(digestSecret(parts.secret, making.digestSecret)))
    const [row] = await sql`select api_keys::text as everything from api_keys`
    t.notMatch(row!.everything, parts.secret)
  })
})

t.test('label, scopes, environment and expiry are as requested', async t => {
  const { pool } = await withProject(t)
  await pool.run(async sql => {
    for (const days of [30, 90, 365]) {
      const request = { label: 'ci', scopes: ['traces:delete' as const], environment: 'PROD', expiresInDays: days }
      const key = await keys.createKey(sql, making, { project: 'default', ...request })
      t.match(key, { label: 'ci', scopes: ['traces:delete'], environment: 'prod' })
      const left = Date.parse(key.expiresAt!) - Date.now()
      t.ok(Math.abs(left - days * 86_400_000) < 60_000, `${days} days`)
    }
  })
})

t.test("a listing shows everything except secrets, with each key's state", async t => {
  const { pool } = await withProject(t)
  await pool.run(async sql => {
    const active = await keys.createKey(sql, making, { project: 'default', expiresInDays: 30 })
    const revoked = await keys.createKey(sql, making, { project: 'default' })
    await keys.revokeKey(sql, revoked.keyId)
    const expired = await keys.createKey(sql, making, { project: 'default', expiresInDays: 30 })
    await sql`update api_keys set expires_at = now() - interval '1 second' where id = ${expired.keyId}`
    const old = await keys.createKey(sql, making, { project: 'default' })
    await sql`update api_keys set scopes = null where id = ${old.keyId}`
    const list = await keys.listKeys(sql, 'default')
    t.match(list, [
      { keyId: active.keyId, project: 'default', state: 'active', expiresAt: active.expiresAt, revokedAt: null },
      { keyId: revoked.keyId, state: 'revoked', revokedAt: /Z$/ },
      { keyId: expired.keyId, state: 'expired' },
      { keyId: old.keyId, scopes: ['traces:write'] }
    ])
    for (const listed of list) t.notOk('key' in listed)
    t.same(await keys.listKeys(sql), list)
  })
})

t.test('a rotated key inherits everything except id and secret', async t => {
  const { pool } = await withProject(t)
  await pool.run(async sql => {
    const request = { project: 'default', label: 'ci', environment: 'prod', expiresInDays: 90 }
    const old = await keys.createKey(sql, making, request)
    const { key, keyId, ...kept } = await keys.rotateKey(sql, making, old.keyId)
    t.not(keyId, old.keyId)
    t.not(parseKey('my_app', key)!.secret, parseKey('my_app', old.key)!.secret)
    t.same({ ...old, ...kept }, old)
    t.match(await keys.listKeys(sql), [{ state: 'revoked' }, { keyId, state: 'active' }])
  })
})

t.test('an environment is changed, lowercased and removed', async t => {
  const { pool } = await withProject(t)
  await pool.run(async sql => {
    const { keyId } = await keys.createKey(sql, making, { project: 'default' })
    const changes: [string, string | null][] = [
      ['Staging', 'staging'],
      ['unassigned', null],
      ['prod', 'prod'],
      ['UNASSIGNED', null]
    ]
    for (const [asked, environment] of changes) {
      t.match(await keys.setKeyEnvironment(sql, keyId, asked), { keyId, environment })
    }
  })
})

t.test('invalid operations are rejected in a sentence, and change nothing', async t => {
  const { pool } = await withProject(t)
  await pool.run(async sql => {
    const { keyId: active } = await keys.createKey(sql, making, { project: 'default' })
    const { keyId: revoked } = await keys.createKey(sql, making, { project: 'default' })
    await keys.revokeKey(sql, revoked)
    const { keyId: expired } = await keys.createKey(sql, making, { project: 'default', expiresInDays: 30 })
    await sql`update api_keys set expires_at = now() where id = ${expired}`
    const before = await keys.listKeys(sql)
    const create = (request: Partial<keys.KeyRequest>) =>
      keys.createKey(sql, making, { project: 'default', ...request })
    const refused: [() => Promise<unknown>, RegExp][] = [
      [() => create({ project: 'nowhere' }), /no project "nowhere"/],
      [() => create({ environment: 'unassigned' }), /'unassigned' is reserved/],
      [() => create({ environment: 'ALL' }), /'all' is reserved/],
      [() => create({ environment: 'a b' }), /environment "a b" must/],
      [() => create({ label: 'x'.repeat(201) }), /the label must have at most 200/],
      [() => create({ label: 'a\tb' }), /the label must not contain control characters/],
      [() => keys.createKey(sql, { ...making, digestSecret: undefined }, { project: 'default' }), /KEY_DIGEST_SECRET/],
      [() => keys.rotateKey(sql, { ...making, digestSecret: undefined }, active), /KEY_DIGEST_SECRET/],
      [() => keys.listKeys(sql, 'nowhere'), /no project "nowhere"/],
      [() => keys.rotateKey(sql, making, 'nothing'), /no key "nothing"/],
      [
        () => keys.rotateKey(sql, making, revoked),
        /is revoked: create another with `spoor key create --project default`/
      ],
      [() => keys.rotateKey(sql, making, expired), /has expired/],
      [() => keys.revokeKey(sql, 'nothing'), /no key "nothing"/],
      [() => keys.setKeyEnvironment(sql, 'nothing', 'prod'), /no key "nothing"/],
      [() => keys.setKeyEnvironment(sql, revoked, 'prod'), /is revoked/],
      [() => keys.setKeyEnvironment(sql, active, 'all'), /'all' is reserved/]
    ]
    for (const [attempt, message] of refused) await t.rejects(attempt(), { message })
    t.same(await keys.listKeys(sql), before)
  })
})

t.test('the first start creates an account, a project and a key, once', async t => {
  const database = await testDatabase(t)
  const starts = await Promise.all(Array.from({ length: 4 }, () => prepareFirstStart(database, 'my_app')))
  const [key, ...others] = starts.flatMap(start => start.key ?? [])
  t.same(others, [], 'of several concurrent starts, one creates them')
  t.match(await prepareFirstStart(database, 'my_app'), { key: undefined, link: undefined, obstacle: undefined })
  await database.pool.run(async sql => {
    const { keyId, secret } = parseKey('my_app', key!)!
    const scopes = ['traces:write', 'traces:read', 'traces:delete']
    t.match(await keys.listKeys(sql), [{ keyId, project: 'default', scopes, state: 'active', expiresAt: null }])
    const [{ key: stored } = {}] = await readKeysForAuth(sql, [keyId])
    t.ok(stored!.digest.equals(digestSecret(secret, database.digestSecret!)))
    t.match(await listProjects(sql, 1000), [{ slug: 'default' }])
    t.same([...(await sql`select type from accounts`)], [{ type: 'owner' }])
  })
})

t.test('the first start adopts an existing owner account, and leaves existing projects unchanged', async t => {
  const database = await testDatabase(t)
  await database.pool.run(async sql => {
    await createAccount(sql, 'visitors', 'trial')
    const owner = await createAccount(sql, 'Research', 'owner')
    t.ok((await prepareFirstStart(database, 'spoor')).key)
    t.match(await listProjects(sql, 1000), [{ slug: 'default', accountId: owner.id }])
    await sql`update projects set slug = 'renamed'`
    t.equal((await prepareFirstStart(database, 'spoor')).key, undefined)
    t.equal((await keys.listKeys(sql)).length, 1)
  })
})

t.test('a first start uses the given project, key and owner, and reveals neither key nor link', async t => {
  const database = await testDatabase(t)
  const { key, keyId, secret } = generateKey('spoor')
  const init = { project: 'support', key, owner: 'Ada@Example.com' }
  const start = () => prepareFirstStart(database, 'spoor', 'always', init)
  const nothing = { key: undefined, link: undefined, obstacle: undefined }
  t.same(await start(), nothing)
  t.same(await start(), nothing, 'nor later')
  await database.pool.run(async sql => {
    t.match(await keys.listKeys(sql), [{ keyId, project: 'support', state: 'active' }])
    const [{ key: stored } = {}] = await readKeysForAuth(sql, [keyId])
    t.ok(stored!.digest.equals(digestSecret(secret, database.digestSecret!)))
    t.match(await listProjects(sql, 1000), [{ slug: 'support', name: 'support' }])
    t.same(
      [...(await sql`select u.email, m.role from users u join memberships m on m.user_id = u.id`)],
      [{ email: 'ada@example.com', role: 'owner' }]
    )
  })
})

t.test('a first start that cannot create a key explains why', async t => {
  const database = await testDatabase(t)
  const noSecret = { ...database, digestSecret: undefined }
  t.match(await prepareFirstStart(noSecret, 'spoor'), { key: undefined, obstacle: /KEY_DIGEST_SECRET/ })
  await database.pool.run(sql => sql`delete from schema_migrations`)
  t.match(await prepareFirstStart(database, 'spoor'), { key: undefined, obstacle: /schema is missing.*spoor migrate/ })
  const nowhere = { ...database, connect: databaseAt('postgres://127.0.0.1:1/none').connect }
  t.match(await prepareFirstStart(nowhere, 'spoor'), { key: undefined, obstacle: /ECONNREFUSED/ })
})

t.test('keys that expire soon, or have been idle for long, are listed', async t => {
  const { pool } = await withProject(t)
  await pool.run(async sql => {
    const make = async (label: string, expiresInDays?: number) =>
      (await keys.createKey(sql, making, { project: 'default', label, expiresInDays })).keyId
    const day = (n: number) => new Date(Date.now() + n * 86_400_000)
    const [old, used, gone] = [await make('old'), await make('used'), await make('gone')]
    await make('soon', 30)
    await make('later', 90)
    await sql`update api_keys set created_at = ${day(-100)} where id = any (${[old, used, gone]}::text[])`
    await sql`update api_keys set last_used_at = ${day(-50)} where id = ${used}`
    await sql`update api_keys set revoked_at = now() where id = ${gone}`
    const listed = async (selection: keys.KeySelection) =>
      (await keys.listKeys(sql, 'default', selection)).map(({ label }) => label).sort()
    t.same(await listed({}), ['gone', 'later', 'old', 'soon', 'used'])
    t.same(await listed({ expiringDays: 31 }), ['soon'])
    t.same(await listed({ expiringDays: 365 }), ['later', 'soon'])
    t.same(await listed({ unusedDays: 90 }), ['old'])
    t.same(await listed({ unusedDays: 40 }), ['old', 'used'])
    t.same(await listed({ unusedDays: 40, expiringDays: 31 }), [])
  })
})

t.test("all keys of a project are revoked at once, and other projects' keys are not", async t => {
  const { pool } = await withProject(t)
  await pool.run(async sql => {
    await createProject(sql, 1000, { name: 'Other' })
    const ids: string[] = []
    for (let n = 0; n < 2; n++) ids.push((await keys.createKey(sql, making, { project: 'default' })).keyId)
    await keys.createKey(sql, making, { project: 'other' })
    t.match(
      await keys.revokeKeysOf(sql, 'default'),
      ids.map(keyId => ({ keyId, state: 'revoked' }))
    )
    t.same(await keys.revokeKeysOf(sql, 'default'), [])
    t.match(await keys.listKeys(sql, 'other'), [{ state: 'active' }])
    t.same((await sql`select from audit where action = 'key.revoke'`).length, 1)
    await t.rejects(keys.revokeKeysOf(sql, 'none'), /no project "none"/)
  })
})

t.test('later starts create a link only on a terminal of this machine', async t => {
  const links = (host: string, isTerminal: boolean, dashboard = true) => linksOf({ host, dashboard }, isTerminal)
  for (const host of ['127.0.0.1', 'localhost', 'LOCALHOST', '::1', '127.9.9.9']) {
    t.equal(links(host, true), 'always', host)
    t.equal(links(host, false), 'first', `${host}, whose output is a file or a journal`)
    t.equal(links(host, true, false), 'off')
  }
  for (const host of ['0.0.0.0', '::', '192.0.2.1', 'spoor.example']) t.equal(links(host, true), 'first', host)
})
