import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { ingestBody, LATER, span, startBody } from '../fixtures/bodies/bodies.ts'
import { type TestDatabase, testDatabase } from '../fixtures/database/database.ts'
import { testFolder } from '../fixtures/folder.ts'
import { configurationFor, jsonHere, runHere, runSpoor, runWith, start } from '../fixtures/service/spoor.ts'
import { until } from '../fixtures/until.ts'

async function setUp(t: Test) {
  const database = await testDatabase(t)
  const env = configurationFor(database)
  await runHere(['account', 'create', 'owner'], env)
  for (const slug of ['default', 'copy']) await runHere(['project', 'create', slug], env)
  return { database, env, folder: await testFolder(t) }
}

const line = (over: object = {}) => {
  const { spans, ...trace } = ingestBody({ spans: [span()], ...over }).trace
  return JSON.stringify({ trace, spans })
}

/** Matches output that is empty or contains only the progress that a command reports if it takes seconds. */
const ONLY_PROGRESS = /^(\d+ traces?, .*\n)*$/

/** Imports lines into the project `default`. */
async function importHere(folder: string, lines: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const file = join(folder, 'lines.ndjson')
  await writeFile(file, lines.join('\n'))
  await runHere(['import', '--project', 'default', file], env)
}

const environments = async ({ pool }: TestDatabase) =>
  (await pool.run(sql => sql`select environment from traces order by started_at`)).map(row => row.environment)

t.test('traces are imported, exported and imported again, through files and pipes', async t => {
  const { env, folder } = await setUp(t)
  const file = join(folder, 'traces.ndjson')
  await writeFile(file, `${line()}\n${line({ environment: 'prod' })}\nnonsense\n`)
  const first = await runSpoor(['import', '--project', 'default', file], env)
  t.match(first, {
    code: 1,
    out: /^3 traces read: 2 imported, 0 already stored, 1 rejected\n$/,
    err: /^(\[.*\n)*line 3: the body is not valid JSON.*\nspoor: 1 of 3 traces could not be imported: see above\n$/
  })

  const exported = await runSpoor(['export', '--project', 'default'], env)
  t.match(exported, { code: 0, err: ONLY_PROGRESS })
  t.equal(exported.out.split('\n').length, 3)
  const copied = await runWith(exported.out, ['import', '--project', 'copy', '--json', '-'], env)
  t.match(copied, { code: 0, err: ONLY_PROGRESS })
  t.match(JSON.parse(copied.out), { traces: 2, imported: 2, skipped: 0, refused: 0 })
  t.same((await runHere(['export', '--project', 'copy'], env)).out, exported.out)

  const array = await jsonHere(['export', '--project', 'default'], env)
  t.same(
    array,
    exported.out
      .trim()
      .split('\n')
      .map(line => JSON.parse(line)),
    'one array with --json'
  )
  const again = await runWith(JSON.stringify(array), ['import', '--project', 'copy', '--json', '-'], env)
  t.match(JSON.parse(again.out), { imported: 0, advanced: 0, skipped: 2 })
  const packed = join(folder, 'traces.gz')
  await writeFile(packed, gzipSync(exported.out))
  t.match(await runHere(['import', '--project', 'copy', packed], env), { code: 0, out: /2 already stored/ })
  t.same(await jsonHere(['export', '--project', 'default', '--from', '2030-01-01 00:00:00'], env), [])
  t.match(await runHere(['project', 'list'], env), { out: /copy +copy +2 +2 / })
})

t.test('successive exports keep a copy up to date, and contradictions are reported', async t => {
  const { env, folder } = await setUp(t)
  const known = { ...startBody().trace, bodyHash: 'ab'.repeat(32) }
  const file = join(folder, 'traces.ndjson')
  const importLine = async (trace: object) => {
    await writeFile(file, JSON.stringify({ trace }))
    return runHere(['import', '--project', 'default', file], env)
  }
  t.match(await importLine(known), { code: 0, out: /^1 trace read: 1 imported, 0 already stored\n$/ })
  const ended = { ...known, status: 'ok', endedAt: LATER }
  t.match(await importLine(ended), {
    code: 0,
    out: /^1 trace read: 0 imported, 1 updated, 0 already stored\n$/
  })
  t.match(await importLine(known), { code: 0, out: /0 imported, 1 already stored/ })
  t.match(await importLine({ ...ended, status: 'error' }), {
    code: 1,
    out: /1 rejected/,
    err: /^line 1: its end is stored with different content\nspoor: 1 of 1 trace could not be imported: see above\n$/
  })
})

t.test('Langfuse traces are imported, with a summary of the mapping', async t => {
  const { env, folder, database } = await setUp(t)
  const file = join(folder, 'langfuse.json')
  const observation = { id: 'o1', type: 'GENERATION', startTime: '2026-01-01T12:00:00Z', level: 'ERROR' }
  const trace = { id: 't1', timestamp: '2026-01-01T12:00:00Z', name: 'chat', observations: [observation], scores: [] }
  await writeFile(file, JSON.stringify([trace, { id: 't2' }], null, 2))
  const args = ['import', '--project', 'default', '--format', 'langfuse', file]
  t.match(await runHere(args, env), {
    code: 1,
    out: /^2 traces read: 1 imported, 0 already stored, 1 rejected\n\nHow fields were mapped:\n[\s\S]* 1 {2}observation.type GENERATION → kind llm\n/,
    err: /^(\[.*\n)*element 2: trace: timestamp is missing\nspoor: 1 of 2 traces/
  })
  t.match(JSON.parse((await runHere([...args, '--json'], env)).out), {
    traces: 2,
    skipped: 1,
    refused: 1,
    mapped: { 'observation.level ERROR → status error': 1 }
  })
  t.same(await database.pool.run(sql => sql`select name, is_run as "isRun" from traces`), [
    { name: 'chat', isRun: true }
  ])
})

t.test('backfill counts, and changes traces only on request', async t => {
  const { database, env, folder } = await setUp(t)
  const lines = ['a', 'b', 'c'].map(tag => line({ tags: [tag] }))
  await importHere(folder, lines, env)
  const backfill = (...args: string[]) => ['environment', 'backfill', '--project', 'default', '--environment', ...args]
  t.same(await jsonHere(backfill('Production', '--tag', 'a'), env), { matched: 1, changing: 1, applied: false })
  t.match(await runHere(backfill('production'), env), {
    code: 0,
    out: /^3 traces selected, 3 to change:\n {2}3 not recorded → production\nNothing was changed. Add --apply/
  })
  t.same(await environments(database), [null, null, null])
  t.same(await jsonHere(backfill('production', '--tag', 'a', '--apply'), env), {
    matched: 1,
    changing: 1,
    applied: true
  })
  t.match(await runHere(backfill('unassigned', '--apply'), env), {
    out: /^2 traces changed to unassigned\n$/,
    err: /^3 traces selected, 2 to change:\n {2}2 not recorded → unassigned\n {2}1 production → unchanged, because it is already set\n$/
  })
  t.match(await runHere(backfill('staging'), env), {
    out: /2 unassigned → unchanged, because it is already recorded\nThere is nothing to do.\n$/
  })
  t.same(await jsonHere(backfill('staging', '--overwrite', '--apply'), env), {
    matched: 3,
    changing: 3,
    applied: true
  })
  t.same(await environments(database), ['staging', 'staging', 'staging'])
})

t.test('recount reports discrepancies, and repairs them', async t => {
  const { database, env, folder } = await setUp(t)
  await importHere(folder, [line()], env)
  t.match(await runHere(['project', 'recount', 'default'], env), { code: 0, out: /\nThey match\.\n$/ })
  await database.pool.run(sql => sql`update project_totals set spans = 7`)
  t.match(await runHere(['project', 'recount', 'default'], env), {
    code: 1,
    out: /\nThey do not match\. Add --apply to repair/,
    err: /^spoor: the totals or charts of default do not match its traces: see above\n$/
  })
  t.match(await jsonHere(['project', 'recount', 'default', '--apply'], env), {
    ...{ project: 'default', agree: false, applied: true },
    ...{ rows: { traces: 1, spans: 1 }, counters: { traces: 1, spans: 7 } }
  })
  t.match(await jsonHere(['project', 'recount', 'default'], env), { agree: true, applied: false })
  await database.pool.run(sql => sql`update traces set span_count = 7`)
  t.match(await runHere(['project', 'recount', 'default'], env), {
    code: 1,
    out: /\nThe span count, error count or run flag is wrong for 1 trace: [0-9a-f]{32}\.\nThey do not match/,
    err: /^spoor: traces in default do not match their spans: see above\n$/
  })
  t.match(await jsonHere(['project', 'recount', 'default', '--apply'], env), {
    wrongTraces: { count: 1 },
    applied: true
  })
  t.match(await runHere(['project', 'recount', 'default'], env), { code: 0, out: /\nThey match\.\n$/ })
})

t.test('refusals are one line on stderr, and nothing is half done', async t => {
  const { env, folder } = await setUp(t)
  const refused: [string[], number, RegExp, NodeJS.ProcessEnv?][] = [
    [['import', '--project', 'default', join(folder, 'none')], 1, /cannot read .*none: there is no such file/],
    [['import', '--project', 'default', folder], 1, /cannot read .*: it is a folder/],
    [['import', '--project', 'nowhere', folder], 1, /no project "nowhere"/],
    [['import', '--project', 'default', '--format', 'csv', '-'], 2, /--format must be one of spoor, langfuse/],
    [['import', 'x'], 2, /--project is missing/],
    [['export', '--project', 'nowhere'], 1, /no project "nowhere"/],
    [['export', '--project', 'default', '--to', 'noon'], 2, /--to must be an ISO 8601 date or time.*"noon"/],
    [['environment', 'backfill', '--project', 'default'], 2, /--environment is missing/],
    [['environment', 'backfill', '--project', 'default', '--environment', 'all'], 2, /'all' is reserved/],
    [['key', 'create', '--project', 'default', '--environment', 'Unassigned'], 2, /'unassigned' is reserved/],
    [['environment', 'backfill', '--project', 'default', '--environment', 'e', '--from', ''], 2, /--from must be/],
    [['environment', 'backfill', '--project', 'default', '--environment', 'e', '--key', 'k'], 1, /no key "k"/],
    [['project', 'recount', 'nowhere'], 1, /no project "nowhere"/],
    [['export', '--project', 'default'], 1, /./, { DATABASE_URL: 'postgres://127.0.0.1:1/none' }],
    [['import', '--project', 'default', '-'], 1, /./, { DATABASE_URL: 'postgres://127.0.0.1:1/none' }]
  ]
  for (const [args, code, message, more] of refused) {
    const result = await runHere(args, { ...env, ...more })
    t.match(result, { code, out: '', err: message }, args.join(' '))
    t.match(result.err, /^spoor: [^\n]+\n$/, 'in one line')
  }
})

t.test('an export that is not read to the end reports that it is incomplete', async t => {
  const { env, folder } = await setUp(t)
  const large = line({ input: 'x'.repeat(700_000) })
  await importHere(folder, [large, line(), line({ input: 'y'.repeat(700_000) })], env)
  const child = start(['export', '--project', 'default'], env)
  let err = ''
  child.stderr.on('data', chunk => (err += chunk))
  child.stdout.destroy()
  const [code] = await once(child, 'close')
  t.match({ code, err }, { code: 1, err: /^spoor: cannot write to stdout .*: the output is incomplete\n$/ })
})

t.test('Ctrl-C stops an import cleanly, and running it again continues', async t => {
  const { database, env } = await setUp(t)
  const child = start(['import', '--project', 'default', '-'], env)
  let err = ''
  child.stderr.on('data', chunk => (err += chunk))
  child.stdin.write(`${line()}\n`)
  await until(async () => (await environments(database)).length > 0)
  child.kill('SIGINT')
  const [code] = await once(child, 'close')
  t.match(
    { code, err },
    { code: 130, err: /^spoor: interrupted: 1 imported so far; run the command again to continue\n$/m }
  )
})
