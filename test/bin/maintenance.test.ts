import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { ingestBody, span } from '../fixtures/bodies/bodies.ts'
import { testDatabase } from '../fixtures/database/database.ts'
import { testFolder } from '../fixtures/folder.ts'
import { configurationFor, jsonHere, runHere, runWith } from '../fixtures/service/spoor.ts'

t.test('trace delete counts, deletes only with --apply, and reports the freed space', async t => {
  const database = await testDatabase(t)
  const env = configurationFor(database)
  await runHere(['account', 'create', 'owner'], env)
  await runHere(['project', 'create', 'default'], env)
  const lines = ['a', 'b', 'b'].map(tag => {
    const { spans, ...trace } = ingestBody({ spans: [span()], tags: [tag], input: 'x'.repeat(100_000) }).trace
    return JSON.stringify({ trace, spans })
  })
  const file = join(await testFolder(t), 'traces.ndjson')
  await writeFile(file, lines.join('\n'))
  await runHere(['import', '--project', 'default', file], env)

  const prune = (...more: string[]) => ['trace', 'delete', '--project', 'default', ...more]
  t.match(await runHere(prune('--tag', 'b'), env), {
    code: 0,
    out: /^2 traces selected, with 2 spans \(.*\)\. Nothing was changed. Add --apply to delete them\.\n$/
  })
  t.match(await jsonHere(prune('--tag', 'b', '--dry-run'), env), { traces: 2, spans: 2, applied: false })
  t.match(await runHere(prune('--tag', 'a', '--apply'), env), {
    code: 0,
    out: /^deleted 1 trace with 1 span\. About .* on disk can be reused, and .* was freed\.\n$/,
    err: /^1 trace selected, with 1 span \(.*\)\n$/
  })
  t.match(await jsonHere(prune('--before', '0d', '--apply'), env), {
    ...{ traces: 2, spans: 2, kept: 0, applied: true },
    ...{ reusableBytes: Number, givenBackBytes: Number }
  })
  t.match(await jsonHere(['project', 'recount', 'default'], env), { agree: true, rows: { traces: 0 } })
  t.match(await runHere(prune('--before', '0d', '--apply'), env), {
    code: 0,
    out: /^deleted 0 traces with 0 spans\.\n$/
  })

  const refused: [string[], number, RegExp][] = [
    [prune(), 2, /at least one condition is required/],
    [['trace', 'delete', '--before', '1d'], 1, /SPOOR_API_KEY.*--project/],
    [prune('--before', 'soon'), 2, /--before must be an ISO 8601 date or time.*"soon"/],
    [prune('--tag', ''), 2, /--tag and --score must not be empty/],
    [prune('--environment', 'all'), 2, /'all' is reserved/],
    [prune('--since', '1d', '--from', '2d'), 2, /--since and --from mean the same/],
    [prune('--user', ''), 2, /--user must not be empty/],
    [prune('--status', 'fine'), 2, /--status must be one of ok, error, unset, running, not "fine"/],
    [prune('--before', '1d', '--apply', '--dry-run'), 2, /cannot be combined/],
    [['trace', 'delete', '--project', 'none', '--before', '1d'], 1, /no project "none"/]
  ]
  for (const [args, code, message] of refused) t.match(await runHere(args, env), { code, out: '', err: message })
})

t.test('retention run deletes traces past their retention period, and nothing earlier', async t => {
  const env = configurationFor(await testDatabase(t))
  await runHere(['account', 'create', 'owner'], env)
  await runHere(['project', 'create', 'default'], env)
  const old = new Date(Date.now() - 40 * 86_400_000).toISOString()
  const lines = [['golden'], [], []].map(tags => {
    const { spans, ...trace } = ingestBody({ startedAt: old, endedAt: old, tags, spans: [] }).trace
    return JSON.stringify({ trace, spans })
  })
  const file = join(await testFolder(t), 'traces.ndjson')
  await writeFile(file, lines.join('\n'))
  await runHere(['import', '--project', 'default', file], env)

  t.match(await runHere(['retention', 'list'], env), {
    code: 0,
    out: /^No project has a retention period: set one with/
  })
  t.match(await runHere(['retention', 'run', '--apply'], env), { code: 0, out: /^No project has a retention/ })
  t.match(await runHere(['retention', 'set', 'default', '30d', '--keep-tag', 'golden'], env), {
    code: 0,
    out: /^project default keeps traces from the last 30 days, and all with the tag golden\. Nothing is deleted until/
  })
  t.match(await jsonHere(['retention', 'list'], env), [{ project: 'default', days: 30, keepsTags: ['golden'] }])
  t.match(await runHere(['project', 'list'], env), { out: /RETENTION.*\n.* 30d / })
  t.match(await runHere(['status', '--no-server'], env), { out: /RETENTION.*\n.* 30d / })
  t.match(await runHere(['retention', 'run'], env), { code: 0, out: /Nothing was changed. Add --apply to delete them/ })
  t.match(await jsonHere(['retention', 'run', '--dry-run'], env), [{ traces: 2, applied: false, before: /Z$/ }])
  t.match(await runHere(['retention', 'run', '--apply'], env), {
    code: 0,
    out: 'default: deleted 2 traces with 0 spans.\n'
  })
  t.match(await jsonHere(['retention', 'run', '--project', 'default', '--apply'], env), [{ traces: 0, applied: true }])
  t.match(await jsonHere(['project', 'list'], env), [{ traceCount: 1 }])
  t.match(await runHere(['retention', 'unset', 'default'], env), { out: /keeps its traces forever\n$/ })
  const refused: [string[], number, RegExp][] = [
    [['retention', 'set', 'default', '3 months'], 2, /AGE must be a number of days such as 90d, not "3 months"/],
    [['retention', 'set', 'none', '30d'], 1, /there is no project "none"/],
    [['retention', 'set', 'default', '0d'], 2, /the age must be from 1d to 36500d/],
    [['retention', 'run', '--project', 'default'], 2, /project default has no retention/],
    [['retention', 'run', '--apply', '--dry-run'], 2, /cannot be combined/]
  ]
  for (const [args, code, message] of refused) t.match(await runHere(args, env), { code, out: '', err: message })
})

t.test('projects, accounts and keys are changed and deleted', async t => {
  const database = await testDatabase(t)
  const env = configurationFor(database)
  await runHere(['account', 'create', 'owner'], env)
  await runHere(['project', 'create', 'default'], env)
  t.match(await jsonHere(['account', 'rename', '1', 'Research'], env), { id: '1', name: 'Research' })
  t.match(await jsonHere(['project', 'update', 'default', '--slug', 'bot', '--storage-limit', '5'], env), {
    ...{ slug: 'bot', storage: { limitBytes: 5 } }
  })
  const usageTags = () => database.pool.run(sql => sql`select usage_tags as tags from projects where slug = 'bot'`)
  await jsonHere(['project', 'update', 'bot', '--usage-tags', 'prompt,tenant'], env)
  t.same(await usageTags(), [{ tags: ['prompt', 'tenant'] }])
  await jsonHere(['project', 'update', 'bot', '--usage-tags', ''], env)
  t.same(await usageTags(), [{ tags: [] }])
  t.match(await runHere(['project', 'update', 'bot', '--usage-tags', 'a,b,c,d,e,f'], env), {
    err: /at most 5 tag keys/
  })
  t.match(await runHere(['project', 'update', 'bot', '--usage-tags', 'a:b'], env), {
    err: /without a colon, not "a:b"/
  })
  t.match(await jsonHere(['project', 'update', 'bot', '--storage-limit', 'default'], env), {
    storage: { limitBytes: 10 * 1024 ** 3 }
  })
  await jsonHere(['key', 'create', '--project', 'bot', '--expires', '30d'], env)
  t.equal((await jsonHere(['key', 'list', '--expiring', '31d'], env)).length, 1)
  t.equal((await jsonHere(['key', 'list', '--unused', '1d'], env)).length, 0)
  t.match(await runHere(['key', 'list', '--expiring', '1d'], env), { out: 'No keys match.\n' })
  const preview = await runHere(['key', 'revoke', '--project', 'bot', '--all', '--dry-run'], env)
  t.match(preview, { code: 0, out: /^KEY ID.*\n.* active .*\nNothing was changed. Without --dry-run, these keys/ })
  t.match(await runHere(['key', 'revoke', '--project', 'bot', '--all'], env), { out: 'revoked 1 key of bot\n' })

  t.match(await runHere(['project', 'delete', 'bot'], env), {
    out: /^project bot has 0 traces, 0 spans \(0 B\) and 0 keys\. Nothing was changed/
  })
  t.match(await runWith('other\n', ['project', 'delete', 'bot', '--apply'], env), {
    code: 1,
    err: /"other" is not the slug/
  })
  for (const flags of [[], ['--dry-run']]) {
    t.match(await runHere(['account', 'delete', '1', ...flags], env), { code: 1, err: /account 1 has projects/ })
  }
  t.match(await runWith('bot\n', ['project', 'delete', 'bot', '--apply'], env), {
    code: 0,
    out: /^project bot is deleted/
  })
  t.match(await runHere(['account', 'delete', '1', '--dry-run'], env), {
    out: /Research[\s\S]*\nNothing was changed\. Without --dry-run, this account would be deleted\.\n$/
  })
  t.match(await runHere(['account', 'delete', '1'], env), { out: 'account 1 (Research) is deleted\n' })

  const refused: [string[], number, RegExp][] = [
    [['key', 'revoke'], 2, /give KEYID, or --project SLUG --all/],
    [['key', 'revoke', 'K', '--all'], 2, /cannot be combined with KEYID/],
    [['key', 'list', '--unused', 'long'], 2, /--unused must be a number of days, such as 30d, not "long"/],
    [['project', 'update', 'bot', '--storage-limit', '-1'], 2, /--storage-limit must be a size of at least 1 byte/],
    [['project', 'delete', 'bot'], 1, /no project "bot"/],
    [['account', 'rename', '1', 'x'], 1, /no account "1"/]
  ]
  for (const [args, code, message] of refused) t.match(await runHere(args, env), { code, out: '', err: message })
})

t.test('compact reports, and rebuilds tables beside a server only on request', async t => {
  const database = await testDatabase(t)
  const env = configurationFor(database)
  await runHere(['account', 'create', 'owner'], env)
  await runHere(['project', 'create', 'default'], env)
  t.match(await runHere(['compact'], env), { code: 0, out: /^ +NAME +NOW.*Nothing was changed\.\n$/s })
  t.match(await jsonHere(['compact'], env), { applied: false, steps: [], repacking: { traces: 0 }, leftovers: [] })
  t.match(await jsonHere(['compact', '--apply'], env), { applied: true, done: [], skipped: [], dropped: [] })
  t.match(await runHere(['compact', '--rebuild-tables'], env), { code: 2, err: /--rebuild-tables needs --apply/ })
  const server = database.connect({ applicationName: 'writer' })
  t.teardown(() => server.end({ timeout: 1 }))
  await server`select 1`
  t.match(await jsonHere(['compact'], env), { rebuildsTables: false, servers: [/ writer$/] })
  await database.pool.run(async sql => {
    await sql`select pg_advisory_lock(5700105)`
    t.match(await runHere(['compact', '--apply'], env), { code: 1, err: /another compaction .* is running/ })
    await sql`select pg_advisory_unlock(5700105)`
  })
})
