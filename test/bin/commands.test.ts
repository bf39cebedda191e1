import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { EMPTY, isOnCluster, runOn, testDatabase } from '../fixtures/database/database.ts'
import { testFolder } from '../fixtures/folder.ts'
import { testService } from '../fixtures/service/service.ts'
import { configurationFor, jsonHere, runForJson, runHere, runSpoor } from '../fixtures/service/spoor.ts'

/** A complete key, as a user might paste it instead of the key's id. */
const WHOLE = `spoor_live_4fT0qLm2XbC8vNwZ_${'Secret9'.repeat(6)}x`

t.test('accounts, projects and keys are managed from scripts, in JSON', async t => {
  const env = configurationFor(await testDatabase(t))
  t.same(await runForJson(['account', 'list'], env), [])
  const account = await jsonHere(['account', 'create', 'Müller & Töchter', '--trial'], env)
  t.match(account, { id: /^\d+$/, name: 'Müller & Töchter', kind: 'trial' })
  t.same(await jsonHere(['account', 'list'], env), [account])

  const flags = ['--description', 'at night', '--account', account.id, '--storage-limit', '5000']
  const project = await jsonHere(['project', 'create', 'Nightly evals', ...flags], env)
  t.match(project, { id: /^\d+$/, slug: 'nightly-evals', description: 'at night', storage: { limitBytes: 5000 } })
  t.same(await jsonHere(['project', 'list'], env), [project])

  const asked = ['--label', 'ci', '--scopes', 'traces:read,traces:read', '--environment', 'Staging', '--expires', '90d']
  const key = await jsonHere(['key', 'create', '--project', 'nightly-evals', ...asked], env)
  t.same(Object.keys(key), ['key', 'keyId', 'projectId', 'label', 'scopes', 'environment', 'expiresAt'])
  t.match(key, { projectId: project.id, label: 'ci', scopes: ['traces:read'], environment: 'staging' })

  const rotated = await jsonHere(['key', 'rotate', key.keyId], env)
  t.same({ ...rotated, key: key.key, keyId: key.keyId }, key, 'everything except the key itself is the same')
  t.not(rotated.keyId, key.keyId)
  t.match(await jsonHere(['key', 'set-environment', rotated.keyId, 'unassigned'], env), { environment: null })
  t.match(await jsonHere(['key', 'revoke', rotated.keyId], env), { keyId: rotated.keyId, state: 'revoked' })

  const list = await jsonHere(['key', 'list', '--project', 'nightly-evals'], env)
  t.match(list, [
    { keyId: key.keyId, project: 'nightly-evals', state: 'revoked', environment: 'staging' },
    { keyId: rotated.keyId, state: 'revoked', environment: null }
  ])
})

t.test('texts from others stay on their line, and cannot control the terminal', async t => {
  const database = await testDatabase(t)
  const env = configurationFor(database)
  await jsonHere(['account', 'create', 'owner'], env)
  await jsonHere(['project', 'create', 'Default'], env)
  await jsonHere(['key', 'create', '--project', 'default'], env)
  await jsonHere(['user', 'add', 'ada@example.com'], env)
  // Versions up to 1.0.0-rc.1 accepted control and formatting characters in names and labels.
  const hostile = '\u001b]0;x\u0007\u001b[2J\nFAKE\r\u009b31m\u061c\u200f\u202eevil\u2066\u2028'
  await database.pool.run(async sql => {
    for (const table of ['accounts', 'projects', 'users']) await sql`update ${sql(table)} set name = ${hostile}`
    await sql`update api_keys set label = ${hostile}`
  })
  const lists = ['account list', 'project list', 'user list', 'key list', 'audit', 'status', 'project recount default']
  for (const list of lists) {
    const { out, err } = await runHere(list.split(' '), env)
    t.notMatch(out + err, /[^\P{Cc}\n]|[\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/u, list)
    t.notMatch(out + err, /^FAKE/m, list)
    const json = await runHere([...list.split(' '), '--json'], env)
    t.notMatch(json.out, /[^\P{Cc}\n]|[\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/u, `${list} --json`)
  }
  for (const list of lists.slice(0, 4)) {
    const [row] = (await jsonHere(list.split(' '), env)) as [{ name?: string; label?: string }]
    t.equal(list === 'key list' ? row.label : row.name, hostile, `${list} --json returns it as stored`)
  }
})

t.test('a key is shown when it is created, and never again', async t => {
  const database = await testDatabase(t)
  const env = { ...configurationFor(database), KEY_PREFIX: 'my_app' }
  await jsonHere(['account', 'create', 'owner'], env)
  await jsonHere(['project', 'create', 'Default'], env)
  const { code, out, err } = await runSpoor(['key', 'create', '--project', 'default'], env)
  t.match({ code, err }, { code: 0, err: '' })
  const [key, , secret] = /^my_app_live_([0-9A-Za-z]{16})_([0-9A-Za-z]{43})$/m.exec(out)!
  t.match(out, /The key is not shown again/)
  for (const args of [
    ['key', 'list'],
    ['key', 'list', '--json'],
    ['status', '--json']
  ]) {
    const shown = await runHere(args, env)
    t.match(shown.out, 'default', 'output is not empty')
    t.notOk(shown.out.includes(secret!) || shown.out.includes(key))
  }
})

t.test('refusals are one line on stderr, with exit code 1', async t => {
  const env = configurationFor(await testDatabase(t))
  t.match(await runHere(['project', 'create', 'A'], env), { code: 1, err: /no owner account/ })
  await jsonHere(['account', 'create', 'owner'], env)
  await jsonHere(['project', 'create', 'Default'], env)
  const create = ['key', 'create', '--project', 'default']
  const refused: [string[], RegExp, NodeJS.ProcessEnv?][] = [
    [['project', 'create', 'default'], /slug default is already used/],
    [['key', 'create', '--project', 'nowhere'], /no project "nowhere"/],
    [['key', 'rotate', 'nothing'], /no key "nothing": see `spoor key list`/],
    [['key', 'rotate', WHOLE], /no key with that id, which looks like a full key \(its id is 4fT0qLm2XbC8vNwZ\): see/],
    [['key', 'revoke', WHOLE.slice(-40)], /no key with that id, which is too long to be a key id: see/],
    [create, /KEY_DIGEST_SECRET is not set/, { KEY_DIGEST_SECRET: '' }],
    [['demo'], /no server is running/, { PORT: '2' }]
  ]
  for (const [args, message, more] of refused) {
    const result = await runHere([...args, '--json'], { ...env, ...more })
    t.match(result, { code: 1, out: '', err: message }, args.join(' '))
    t.match(result.err, /^spoor: [^\n]+\n$/, 'in one line')
    t.notMatch(result.err, WHOLE.slice(-40))
  }
})

t.test('tables are readable by people', async t => {
  const env = configurationFor(await testDatabase(t))
  const texts: [string[], RegExp][] = [
    [['account', 'list'], /^There are no accounts yet\.\n$/],
    [['project', 'list'], /^There are no projects yet: create one with `spoor project create NAME`\.\n$/],
    [['key', 'list'], /^There are no keys: /],
    [['account', 'create', 'owner'], /^made owner account 1: owner\n$/],
    [['project', 'create', 'Default'], /^created project default \(Default\): create a key with/],
    [['key', 'create', '--project', 'default', '--label', 'ci', '--expires', '30d'], /it expires in 30 days/],
    [['account', 'list'], /^ID +NAME +KIND +TRIAL TRACES +CREATED\n1 +owner +owner +0 +now\n$/],
    [['project', 'list'], /^SLUG[\s\S]*\ndefault +Default +0 +0 +0 B of 10 GiB +ok +off +- +-\n$/],
    [['key', 'list'], /^KEY ID[\s\S]*\n\S{16} +default +ci +write,read +- +now +never +active +in 30 days\n$/]
  ]
  for (const [args, text] of texts) {
    t.match(await runHere(args, env), { code: 0, out: text, err: '' }, args.join(' '))
  }
  const status = /^spoor +\d[\s\S]*not running[\s\S]*schema +current[\s\S]*default/
  t.match(await runHere(['status'], env), { out: status }, 'the only problem here is that the tests risk their data')
})

t.test('status reports problems, and migrate repairs a schema', async t => {
  const database = await testDatabase(t)
  const env = { ...configurationFor(database), PORT: '2' }
  await jsonHere(['account', 'create', 'visitors', '--trial'], env)
  const result = await runHere(['status', '--json'], env)
  t.match(result, { code: 1, err: /^spoor: \d problems found: see above\n$/ })
  const status = JSON.parse(result.out)
  t.match(status, { version: /^\d/, server: null, schema: { state: 'current' }, projects: [] })
  t.match(status.database, { embedded: false, serverVersion: /^\d/ })
  t.match(status.problems, [/no project/, /TRIAL_TRACES is not set/])
  const problems = async (more: NodeJS.ProcessEnv): Promise<string[]> =>
    JSON.parse((await runHere(['status', '--json'], { ...env, ...more })).out).problems
  t.match((await problems({ KEY_DIGEST_SECRET: '' })).join('\n'), /KEY_DIGEST_SECRET is not set/)

  await database.pool.run(
    sql => sql`insert into schema_migrations (version, name, sha256) values (9999, 'from-the-future', '')`
  )
  const newer = /^The schema is at version 9999, but .*; continuing\. Update spoor on this/
  t.match((await problems({})).join('\n'), new RegExp(newer.source, 'm'))
  t.match(await runHere(['migrate'], env), {
    code: 0,
    out: /^no migrations are pending\nthe schema is at version 9999, but/
  })

  const bare = configurationFor(await testDatabase(t, EMPTY))
  t.match((await problems(bare)).join('\n'), /no schema yet.*spoor migrate/)
  t.match(await runHere(['key', 'list'], bare), { code: 1, err: /no schema yet: run `spoor migrate`/ })
  t.match((await jsonHere(['migrate', '--dry-run'], bare)).missing.slice(0, 2), [1, 2])
  t.match(await runHere(['migrate', '--dry-run'], bare), { code: 0, out: /^migration 1, 2, .* would be applied\n$/ })
  t.match(await jsonHere(['migrate'], bare), { applied: [1, 2] })
  t.same(await jsonHere(['migrate', '--dry-run'], bare), { applied: [], missing: [] })
  t.match(await jsonHere(['migrate'], bare), { applied: [] })
  t.same(await jsonHere(['key', 'list'], bare), [])
})

t.test('commands work with a newer schema, except those that must know every table', async t => {
  const database = await testDatabase(t)
  const env = configurationFor(database)
  await jsonHere(['account', 'create', 'owner'], env)
  await jsonHere(['project', 'create', 'Default'], env)
  await database.pool.run(
    sql => sql`insert into schema_migrations (version, name, sha256) values (9999, 'from-the-future', '')`
  )
  const { keyId } = await jsonHere(['key', 'create', '--project', 'default'], env)
  t.match(await jsonHere(['key', 'revoke', keyId], env), { state: 'revoked' })
  t.match(await runHere(['export', '--project', 'default'], env), { code: 0 })
  t.match(await jsonHere(['project', 'recount', 'default'], env), { agree: true })
  t.match(await runHere(['status', '--json'], env), { out: /"slug":"default"/ })
  const file = join(await testFolder(t), 'spoor.backup')
  for (const args of [
    ['backup', file],
    ['project', 'delete', 'default', '--apply'],
    ...(isOnCluster() ? [['migrate', '--distributed', '--apply']] : [])
  ]) {
    const refusal =
      /^spoor: the schema is at version 9999, but this version of spoor .* \d+: .*Use the newer version of spoor/
    t.match(await runHere(args, env), { code: 1, out: '', err: refusal }, args.join(' '))
  }
  t.notOk(existsSync(file))
})

t.test('migrate --distributed lists the obstacles, and changes nothing', async t => {
  const database = await testDatabase(t)
  const env = configurationFor(database)
  for (const [parameters, rule] of [
    [['--apply'], /--apply requires --distributed/],
    [['--shards', '4'], /--shards requires --distributed/],
    [['--distributed', '--shards', '0'], /--shards must be a whole number from 1 to 1024, not "0"/]
  ] as const) {
    t.match(await runHere(['migrate', ...parameters], env), { code: 2, err: rule })
  }
  const embedded = { ...env, DATABASE_URL: undefined }
  t.match(await runHere(['migrate', '--distributed'], embedded), {
    code: 1,
    err: /embedded database cannot be distributed/
  })
  if (isOnCluster()) {
    t.match(await runHere(['migrate', '--distributed'], env), { code: 0, out: /All tables are already distributed/ })
    await runOn(database.target, `select undistribute_table('user_sums')`)
    const leftBehind = /he table user_sums is not distributed.*`spoor migrate --distributed --apply`/
    t.match(await runHere(['migrate'], env), { code: 0, out: leftBehind })
    t.match((await runHere(['status'], env)).out, leftBehind)
    const mended = await runHere(['migrate', '--distributed', '--apply'], env)
    t.match(mended, { code: 0, out: /distributed 1 table over/ })
    t.notMatch((await runHere(['status'], env)).out, leftBehind)
    return
  }
  const said = await runHere(['migrate', '--distributed'], env)
  t.match(said, { code: 1, out: /does not have Citus(?:.|\n)*traces .*, 32 shards\n *spans .*, colocated with traces/ })
  t.match(await runHere(['migrate', '--distributed', '--apply'], env), { code: 1, out: '', err: /does not have Citus/ })
})

t.test('project isolate gives a project its own shard on a cluster', async t => {
  const env = configurationFor(await testDatabase(t))
  await jsonHere(['account', 'create', 'owner'], env)
  await jsonHere(['project', 'create', 'Large'], env)
  t.match(await runHere(['project', 'isolate', 'nowhere'], env), { code: 1, err: /no project "nowhere"/ })
  if (!isOnCluster()) {
    t.match(await runHere(['project', 'isolate', 'large', '--apply'], env), { code: 1, err: /not distributed/ })
    return
  }
  t.match(await jsonHere(['project', 'isolate', 'large'], env), { isAlone: false, applied: false })
  t.match(await jsonHere(['project', 'isolate', 'large', '--apply'], env), { isAlone: true, applied: true })
  t.match(await jsonHere(['project', 'isolate', 'large', '--apply'], env), { isAlone: true, applied: false })
})

t.test('during a change of the secret, status lists the keys that still need the previous secret', async t => {
  const database = await testDatabase(t)
  const env = configurationFor(database)
  await jsonHere(['account', 'create', 'owner'], env)
  await jsonHere(['project', 'create', 'Default'], env)
  const create = ['key', 'create', '--project', 'default']
  const { keyId } = await jsonHere(create, env)
  const both = {
    ...env,
    KEY_DIGEST_SECRET: 'the secret from now on',
    KEY_DIGEST_SECRET_PREVIOUS: env.KEY_DIGEST_SECRET
  }
  t.match(await runHere(create, both), { code: 0 }, 'a command accepts either secret')
  const view = { digestSecret: both.KEY_DIGEST_SECRET, previousSecret: database.digestSecret }
  await testService(t, { database, view, key: 'none' })
  t.match(
    (await runHere(['status', '--json'], both)).out,
    new RegExp(`may still need KEY_DIGEST_SECRET_PREVIOUS.*${keyId}`)
  )
  await database.pool.run(sql => sql`update api_keys set last_used_at = now()`)
  t.match(
    (await runHere(['status', '--json'], both)).out,
    /Every valid key now uses KEY_DIGEST_SECRET: remove KEY_DIGEST_SECRET_PREVIOUS/
  )
})

t.test('a secret that does not match the keys is rejected, and can be replaced', async t => {
  const env = configurationFor(await testDatabase(t))
  const other = { ...env, KEY_DIGEST_SECRET: 'a secret of somebody else' }
  const create = ['key', 'create', '--project', 'default']
  await jsonHere(['account', 'create', 'owner'], env)
  await jsonHere(['project', 'create', 'Default'], env)
  const { keyId } = await jsonHere(create, env)
  // The exit code is 1 in any case, because the tests disable durability.
  t.notMatch((await runHere(['status', '--json'], env)).out, /KEY_DIGEST_SECRET/)
  t.match(
    (await runHere(['status', '--json'], other)).out,
    /differs from the secret that this database.*key replace-secret/
  )
  for (const args of [create, ['key', 'rotate', keyId]]) {
    t.match(await runHere(args, other), { code: 1, out: '', err: /differs from the secret .*key replace-secret/ })
  }
  const replace = ['key', 'replace-secret']
  t.same(await jsonHere([...replace, '--apply'], env), { keys: 0, differs: false, applied: false })
  t.same(await jsonHere(replace, other), { keys: 1, differs: true, applied: false })
  t.match(await jsonHere(['key', 'list'], env), [{ keyId, state: 'active' }], 'nothing has changed yet')
  t.match(await runHere(replace, other), { code: 0, out: /would stop working: 1\..*--apply/ })
  t.same(await jsonHere([...replace, '--apply'], other), { keys: 1, differs: true, applied: true })
  t.match(await jsonHere(['key', 'list'], env), [{ keyId, state: 'revoked' }])
  t.match(await runHere(create, other), { code: 0 })
  t.match(await runHere(create, env), { code: 1, err: /differs from the secret that this database/ })
})
