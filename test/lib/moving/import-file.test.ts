import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { createAccount } from '../../../lib/admin/accounts.ts'
import { createProject } from '../../../lib/admin/projects.ts'
import { AT, ingestBody, LATER, span, startBody } from '../../fixtures/bodies/bodies.ts'
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

t.test('an invalid line is reported with its number and the reason, and does not affect others', async t => {
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
    /^line 5: trace c{32} already exists with different content$/,
    /^line 8: the trace document has 768\d{3} bytes, but at most 768000 can be stored$/,
    /^line 9: the document of span/,
    /^line 10: the body is not valid JSON/,
    /^line 11: the body is not UTF-8 text$/,
    /^line 13: is truncated or not JSON: the file ends within it$/
  ])
  t.same(await totals(database), { traces: 3, spans: 2, traceRows: 3, spanRows: 2, charged: 0 })
})

t.test('an import can be run again, and continues where an earlier one was interrupted', async t => {
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
    message: /^interrupted: \d+ imported so far; run the command again to continue$/
  })
  const before = (await totals(database)) as { traces: number }
  t.ok(before.traces >= 700)
  const again = await importInto(projectId, text)
  t.match(again, { traces: 1500, imported: 1500 - before.traces, skipped: before.traces, refused: 0 })
  t.match(await importInto(projectId, text), { imported: 0, skipped: 1500 })
  t.same(await totals(database), { traces: 1500, spans: 15, traceRows: 1500, spanRows: 15, charged: 0 })
})

t.test('a later line advances the stored trace; a contradiction is reported, and changes nothing', async t => {
  const { database, projectId, importInto } = await setUp(t)
  const start = { ...startBody().trace, bodyHash: 'ab'.repeat(32) }
  const [one, two] = [span(), span({ status: 'error' })]
  const score = { id: 'a'.repeat(16), name: 'quality', dataType: 'numeric', value: 1, createdAt: AT }
  const ended = { ...start, endedAt: LATER, status: 'ok', environment: 'prod', keyId: 'other', model: 'm', tags: ['x'] }
  const recorded = { endHash: 'cd'.repeat(32) }
  const write = (...lines: object[]) => importInto(projectId, lines.map(each => JSON.stringify(each)).join('\n'))
  t.match(await write({ trace: start, spans: [one] }), { imported: 1, advanced: 0, problems: [] })
  const whole = { trace: ended, spans: [one, two], scores: [score], recorded }
  t.match(await write(whole), { imported: 0, advanced: 1, skipped: 0, problems: [] })
  const after = await exportLines(database, 'default')
  t.match(JSON.parse(after[0] as string), {
    trace: { status: 'ok', endedAt: LATER, model: 'm', tags: ['x'], spanCount: 2, errorCount: 1, keyId: null },
    scores: [score]
  })
  t.equal(JSON.parse(after[0] as string).trace.environment, undefined, "the environment is not part of a trace's state")
  const result = await write(
    { trace: start, spans: [one] },
    whole,
    { ...whole, spans: [one, { ...two, name: 'other' }] },
    { ...whole, scores: [{ ...score, value: 2 }] },
    { ...whole, recorded: { endHash: 'ef'.repeat(32) } },
    { ...whole, trace: { ...ended, metadata: { a: 1 } } },
    { ...whole, spans: [one], scores: [score, { ...score, id: 'b'.repeat(16) }] },
    { ...whole, trace: { ...ended, bodyHash: 'ef'.repeat(32) } }
  )
  t.match(result, { traces: 8, imported: 0, advanced: 0, skipped: 2, refused: 6 })
  t.match(result.problems, [
    /^line 3: span [0-9a-f]{16} is stored with different content$/,
    /^line 4: score a{16} is stored with different content$/,
    /^line 5: its end is stored with different content$/,
    /^line 6: its metadata is stored with different values$/,
    /^line 7: this line has scores that the stored trace lacks, and the stored trace has spans that this line lacks$/,
    /^line 8: trace [0-9a-f]{32} already exists with different content$/
  ])
  t.same(await exportLines(database, 'default'), after)
  t.match(await totals(database), { traces: 1, spans: 2, traceRows: 1, spanRows: 2 })
})

t.test('an edited line contradicts the stored trace, and a reformatted line does not', async t => {
  const { database, projectId, importInto } = await setUp(t)
  const past = { bodyHash: 'ab'.repeat(32), metadataUpdatedAt: LATER }
  const trace = { ...ingestBody().trace, input: { a: 1, é: 1.5 }, output: 'out', tags: ['x', 'y'], ...past }
  const whole = { trace: { ...trace, usage: { inputTokens: 3 }, costUsd: 0.5 }, spans: [span({ input: 'in' })] }
  const write = (...lines: string[]) => importInto(projectId, lines.join('\n'))
  t.match(await write(JSON.stringify(whole)), { imported: 1, problems: [] })
  const [exported = ''] = await exportLines(database, 'default')
  const edited = (from: string | RegExp, to: string) => {
    const line = exported.replace(from, to)
    t.not(line, exported, to)
    return line
  }
  const result = await write(
    exported,
    exported.replace('"é":1.5', '"\\u00e9":15e-1').replaceAll('":', '" : '),
    edited('"output":"out"', '"output":"edited"'),
    edited('"a":1', '"a":2'),
    edited(`"name":"${trace.name}"`, '"name":"edited"'),
    edited('"inputTokens":3', '"inputTokens":4'),
    edited(
      /"inputTokens":3(.*)"totalTokens":3(.*)"inputTokens":3/,
      '"inputTokens":4$1"totalTokens":4$2"inputTokens":4'
    ),
    edited('"costUsd":0.5', '"costUsd":0.4'),
    edited('["x","y"]', '["x"]'),
    edited('"input":"in"', '"input":"edited"')
  )
  t.match(result, { imported: 0, advanced: 0, skipped: 2, refused: 8 })
  t.match(result.problems, [
    /^line 3: its output is stored with different content$/,
    /^line 4: its input is stored with different content$/,
    /^line 5: its name is stored with different content$/,
    /^line 6: trace\.usage: must equal the value computed from recorded\.usage$/,
    /^line 7: its usage is stored with different content$/,
    /^line 8: its costUsd is stored with different content$/,
    /^line 9: its tags are stored with different content$/,
    /^line 10: span [0-9a-f]{16} is stored with different content$/
  ])
  t.same(await exportLines(database, 'default'), [exported])
})

t.test('gzipped input is decompressed, in chunks of any size', async t => {
  const { projectId, importInto } = await setUp(t)
  const lines = Array.from({ length: 40 }, () => line())
  const parts = [gzipSync(lines.slice(0, 20).join('\n')), gzipSync(`\n${lines.slice(20).join('\n')}\n`)]
  const packed = Buffer.concat(parts)
  t.match(await importInto(projectId, packed), { imported: 40, problems: [], bytes: packed.length })
  t.match(await importInto(projectId, packed, { piece: 1 }), { skipped: 40, problems: [] })
  for (const [broken, message] of [
    [packed.subarray(0, -9), /gzipped file cannot be decompressed: unexpected end of file; \d+ imported so far/],
    [Buffer.from('1f8bff', 'hex'), /gzipped file cannot be decompressed: .*; 0 imported so far/]
  ] as const) {
    await t.rejects(importInto(projectId, broken), { name: 'AdminError', message })
  }
  t.match(await importInto(projectId, ''), { traces: 0 })
  t.match(await importInto(projectId, Buffer.from([0x1f])), { refused: 1 }, 'a single byte is not gzip')
})

t.test('stops if the database accepts no writes, and reports its progress', async t => {
  const { database, projectId, importInto } = await setUp(t)
  const [{ name }] = (await database.pool.run(sql => sql`select current_database() as name`)) as unknown as [
    { name: string }
  ]
  await database.pool.run(sql => sql.unsafe(`alter database ${name} set default_transaction_read_only = on`))
  await t.rejects(importInto(projectId, `${line()}\n${line()}\n`), {
    name: 'AdminError',
    message: /rejected the write.*; 0 imported so far; run the command again to continue$/
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
