import t, { type Test } from 'tap'
import { createAccount } from '../../../lib/admin/accounts.ts'
import { createProject } from '../../../lib/admin/projects.ts'
import { ingestBody, span, startBody } from '../../fixtures/bodies/bodies.ts'
import { type TestDatabase, testDatabase } from '../../fixtures/database/database.ts'
import { exportLines, testImporter } from '../../fixtures/database/moving.ts'

async function setUp(t: Test) {
  const database = await testDatabase(t)
  const projectId = await database.pool.run(async sql => {
    await createAccount(sql, 'visitors', 'trial')
    await createAccount(sql, 'owner', 'owner')
    return Number((await createProject(sql, 1, { name: 'Default', accountId: '1' })).id)
  })
  return { database, projectId, importInto: testImporter(t, database) }
}

const line = (over: object = {}, rest: object = {}) => JSON.stringify({ trace: { ...ingestBody(over).trace }, ...rest })

async function totals(database: TestDatabase) {
  const [row] = await database.pool.run(
    sql => sql`
      select (select sum(traces)::int from project_totals) as traces, (select sum(spans)::int from project_totals) as spans,
        (select count(*)::int from traces) as "traceRows", (select count(*)::int from spans) as "spanRows",
        (select sum(trial_used)::int from accounts) as charged`
  )
  return row
}

t.test('a bad line is reported with its number and its reason, and stops no other', async t => {
  const { database, projectId, importInto } = await setUp(t)
  const id = 'c'.repeat(32)
  const huge = { output: 'x'.repeat(768_000) }
  const lines = [
    line({ id }),
    'nonsense',
    line({ name: '' }),
    line(),
    line({ id, name: 'other' }),
    '',
    line({ id }),
    line(huge),
    line({}, { spans: [span(huge)] }),
    `${line()}${line()}`,
    Buffer.from([0xff, 0xfe]).toString('latin1'),
    line({}, { spans: [span(), span()] })
  ]
  const text = Buffer.concat([Buffer.from(`${lines.join('\n')}\n`, 'latin1'), Buffer.from(line().slice(0, -5))])
  const result = await importInto(projectId, text)
  t.match(result, { traces: 12, imported: 3, skipped: 1, refused: 8, bytes: text.length })
  t.match(result.problems, [
    /^line 2: the body is not valid JSON/,
    /^line 3: trace.name: must have at least 1 character$/,
    /^line 5: trace c{32} exists with different content$/,
    /^line 8: the trace document has 768\d{3} bytes, and at most 768000 can be stored$/,
    /^line 9: the document of span/,
    /^line 10: the body is not valid JSON/,
    /^line 11: the body is not UTF-8 text$/,
    /^line 13: is cut off, or no JSON: the file ends within it$/
  ])
  t.same(await totals(database), { traces: 3, spans: 2, traceRows: 3, spanRows: 2, charged: 0 })
})

t.test('an import may be run again, and goes on where another was interrupted', async t => {
  const { database, projectId, importInto } = await setUp(t)
  const lines = Array.from({ length: 1500 }, (_, i) =>
    line({ name: `run ${i}` }, i % 100 === 0 ? { spans: [span()] } : {})
  )
  const text = lines.join('\n')
  const controller = new AbortController()
  const onProgress = ({ traces }: { traces: number }) => {
    if (traces === 700) controller.abort()
  }
  await t.rejects(importInto(projectId, text, { onProgress, signal: controller.signal }), {
    name: 'AdminError',
    message: /^interrupted: \d+ imported so far; run it again to go on$/
  })
  const before = (await totals(database)) as { traces: number }
  t.ok(before.traces >= 700)
  const again = await importInto(projectId, text)
  t.match(again, { traces: 1500, imported: 1500 - before.traces, skipped: before.traces, refused: 0 })
  t.match(await importInto(projectId, text), { imported: 0, skipped: 1500 })
  t.same(await totals(database), { traces: 1500, spans: 15, traceRows: 1500, spanRows: 15, charged: 0 })
})

t.test('stops where the database takes no writes, and says how far it came', async t => {
  const { database, projectId, importInto } = await setUp(t)
  const [{ name }] = (await database.pool.run(sql => sql`select current_database() as name`)) as unknown as [
    { name: string }
  ]
  await database.pool.run(sql => sql.unsafe(`alter database ${name} set default_transaction_read_only = on`))
  await t.rejects(importInto(projectId, `${line()}\n${line()}\n`), {
    name: 'AdminError',
    message: /refused the write.*; 0 imported so far; run it again to go on$/
  })
})

t.test('exports and imports traces that are larger than a page, and running ones', async t => {
  const { database, projectId, importInto } = await setUp(t)
  const spans = Array.from({ length: 4 }, () => span({ input: 'x'.repeat(700_000) }))
  const lines = [
    line({}, { spans }),
    JSON.stringify(startBody()).replace('"schemaVersion":1,', ''),
    line({}, { spans })
  ]
  t.match(await importInto(projectId, lines.join('\n')), { imported: 3, problems: [] })
  const exported = await exportLines(database, 'default')
  t.equal(exported.length, 3)
  t.match(exported.map(line => JSON.parse(line).trace.status).sort(), ['running', 'unset', 'unset'])
})
