import { writeFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { ingestBody } from '../fixtures/bodies/bodies.ts'
import { testDatabase } from '../fixtures/database/database.ts'
import { testFolder } from '../fixtures/folder.ts'
import { testService } from '../fixtures/service/service.ts'
import { configurationFor, jsonHere, runHere } from '../fixtures/service/spoor.ts'

const BY_COMMAND = `command (${userInfo().username})`

t.test('the actions of commands and keys, other than recording, can be read', async t => {
  const database = await testDatabase(t)
  const env = configurationFor(database)
  t.match(await runHere(['audit'], env), { code: 0, out: 'There are no entries yet.\n' })
  await jsonHere(['account', 'create', 'owner'], env)
  await jsonHere(['project', 'create', 'Default'], env)
  await jsonHere(['project', 'create', 'Other'], env)
  const scopes = ['--scopes', 'traces:write,traces:read,traces:delete']
  const { keyId, key } = await jsonHere(['key', 'create', '--project', 'default', '--label', 'ci', ...scopes], env)
  await jsonHere(['key', 'set-environment', keyId, 'production'], env)

  const { call } = await testService(t, { database, config: { keyDigestSecret: database.digestSecret } })
  const body = ingestBody()
  const path = `/api/v1/traces/${body.trace.id}`
  t.equal((await call('POST', '/api/v1/traces', { key, body })).status, 201)
  const score = { name: 'good', dataType: 'boolean', value: true }
  const { id: scoreId } = (await call('POST', `${path}/scores`, { key, body: score })).body.score
  t.equal((await call('DELETE', `${path}/scores/${scoreId}`, { key })).status, 200)
  t.equal((await call('DELETE', path, { key })).status, 200)
  t.equal((await call('DELETE', path, { key })).status, 404)
  const rotated = await jsonHere(['key', 'rotate', keyId], env)
  await jsonHere(['key', 'revoke', rotated.keyId], env)
  const again = await jsonHere(['key', 'revoke', rotated.keyId], env)
  t.match(again, { keyId: rotated.keyId, state: 'revoked' }, 'revoking it again has no effect, and adds no audit entry')

  const traceId = body.trace.id
  const entries = await jsonHere(['audit'], env)
  const ofCommands = entries.filter(
    ({ by, action }: { by: string; action: string }) => by !== 'server' && action !== 'key.use'
  )
  t.match(ofCommands, [
    { by: BY_COMMAND, action: 'account.create', detail: { name: 'owner' }, project: null },
    { by: BY_COMMAND, action: 'project.create', detail: { slug: 'default' }, project: 'default' },
    { by: BY_COMMAND, action: 'project.create', project: 'other', account: 'owner' },
    { by: BY_COMMAND, action: 'key.create', detail: { keyId, label: 'ci' }, project: 'default' },
    { by: BY_COMMAND, action: 'key.environment', detail: { keyId, environment: 'production' }, project: 'default' },
    { by: `key ${keyId}`, action: 'score.delete', detail: { traceId, scoreId }, project: 'default' },
    { by: `key ${keyId}`, action: 'trace.delete', detail: { traceId }, project: 'default' },
    { by: BY_COMMAND, action: 'key.rotate', detail: { keyId, by: rotated.keyId }, project: 'default' },
    { by: BY_COMMAND, action: 'key.revoke', detail: { keyId: rotated.keyId }, project: 'default' }
  ])
  t.equal(ofCommands.length, 9)
  t.notMatch(JSON.stringify(entries), key.split('_').at(-1), 'no secret')

  const used = entries.filter(({ action, detail }: { action: string; detail: { keyId?: string } }) => {
    return action === 'key.use' && detail.keyId === keyId
  })
  t.match(used, [{ by: `key ${keyId}`, project: 'default', account: 'owner', detail: { before: null } }], 'first use')
  t.ok(
    ofCommands.filter(({ by }: { by: string }) => by.startsWith('key')).every((each: { client: string }) => each.client)
  )

  t.same((await jsonHere(['audit', '--project', 'other'], env)).length, 1)
  const since = entries.at(-1).at
  t.match(await jsonHere(['audit', '--since', since], env), [{ action: 'key.revoke' }])
  t.match((await runHere(['audit'], env)).out, /^TIME +BY +FROM +ACTION +WHERE +DETAIL\n[\s\S]*key\.revoke +default/)
  t.match(await runHere(['audit', '--since', 'soon'], env), { code: 2, err: /--since must be/ })
  t.match(await runHere(['audit', '--project', 'nowhere'], env), { code: 1, err: /no project "nowhere"/ })
})

t.test('the log can be copied entry by entry, with no gaps or repetitions', async t => {
  const database = await testDatabase(t)
  const env = configurationFor(database)
  await jsonHere(['account', 'create', 'owner'], env)
  await jsonHere(['project', 'create', 'Default'], env)
  const after = async (id: string) => {
    const { code, out } = await runHere(['audit', '--after', id], env)
    t.equal(code, 0)
    return out === ''
      ? []
      : out
          .trimEnd()
          .split('\n')
          .map(line => JSON.parse(line))
  }
  t.same(await after('0'), [], 'entries that are not settled wait')
  await database.pool.run(sql => sql`update audit set at = now() - interval '1 minute'`)
  const all = await after('0')
  t.match(all, [
    { action: 'account.create', by: BY_COMMAND },
    { action: 'project.create', project: 'default' }
  ])
  t.same(await after(String(all[0].id)), [all[1]])
  t.same(await after(String(all[1].id)), [])
  for (const wrong of ['-1', 'x', '1.5', '']) {
    t.match(await runHere(['audit', `--after=${wrong}`], env), { code: 2, err: /--after must be/ })
  }
})

t.test('bulk changes by commands are recorded with their author', async t => {
  const database = await testDatabase(t)
  const env = configurationFor(database)
  await jsonHere(['account', 'create', 'owner'], env)
  await jsonHere(['project', 'create', 'Default'], env)
  const folder = await testFolder(t)
  const file = join(folder, 'traces.ndjson')
  await writeFile(file, JSON.stringify({ trace: ingestBody().trace }))
  await jsonHere(['import', '--project', 'default', file], env)
  const backfill = ['environment', 'backfill', '--project', 'default', '--environment', 'prod']
  for (const more of [[], ['--apply'], ['--apply']]) await jsonHere([...backfill, ...more], env)
  await database.pool.run(sql => sql`update project_totals set traces = traces + 1`)
  for (const more of [[], ['--apply'], ['--apply']]) await runHere(['project', 'recount', 'default', ...more], env)
  const backup = join(folder, 'spoor.backup')
  await jsonHere(['backup', backup], env)

  const entries = (await jsonHere(['audit'], env)).slice(2)
  t.match(entries, [
    {
      action: 'trace.import',
      project: 'default',
      detail: { file: 'traces.ndjson', format: 'spoor', imported: 1, skipped: 0 }
    },
    { action: 'environment.backfill', project: 'default', detail: { environment: 'prod', planned: 1, traces: 1 } },
    { action: 'project.recount', project: 'default' },
    { action: 'backup' }
  ])
  t.equal(entries.length, 4, 'actions without effect are not audited, except a backup')
  const copy = configurationFor(await testDatabase(t))
  await jsonHere(['restore', backup], copy)
  const restored = await jsonHere(['audit'], copy)
  t.same(
    restored.map(({ action }: { action: string }) => action),
    [
      'account.create',
      'project.create',
      // A backup is complete before its own entry is written.
      ...entries.slice(0, -1).map(({ action }: { action: string }) => action),
      'restore.begin',
      'restore.end'
    ]
  )
  t.ok(restored.every(({ by }: { by: string }) => by === BY_COMMAND))
})

t.test('a renamed or deleted account is still named', async t => {
  const env = configurationFor(await testDatabase(t))
  const { id } = await jsonHere(['account', 'create', 'Ada'], env)
  await jsonHere(['account', 'rename', id, 'Ada and sons'], env)
  await jsonHere(['account', 'delete', id], env)
  const account = Number(id)
  t.match((await jsonHere(['audit'], env)).slice(1), [
    { action: 'account.rename', detail: { account, before: 'Ada', name: 'Ada and sons' } },
    { action: 'account.delete', account: null, detail: { account, name: 'Ada and sons' } }
  ])
})
