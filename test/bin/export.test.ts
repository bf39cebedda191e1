import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { parquetReadObjects } from 'hyparquet'
import t, { type Test } from 'tap'
import { COLUMN_NAMES } from '../../lib/moving/tables/columns.ts'
import { endBody, ingestBody, span, spanId, spansBody, startBody } from '../fixtures/bodies/bodies.ts'
import { exportOf, otlpSpan } from '../fixtures/bodies/otlp.ts'
import { logsOf } from '../fixtures/bodies/otlp-logs.ts'
import { testFolder } from '../fixtures/folder.ts'
import { type TestService, testService } from '../fixtures/service/service.ts'
import { configurationFor, runHere, start } from '../fixtures/service/spoor.ts'

const TRACES = '/api/v1/traces'
const SCORE = { name: 'quality', dataType: 'numeric', value: 0.5 }

async function setUp(t: Test) {
  const service = await testService(t)
  const env = configurationFor(service.database)
  const run = (...args: string[]) => runHere(['export', '--project', 'default', ...args], env)
  const lines = async (...args: string[]) => {
    const { code, out, err } = await run(...args)
    t.equal(code, 0, err)
    return out
      .split('\n')
      .slice(0, -1)
      .map(line => JSON.parse(line))
  }
  const asked = (...args: string[]) =>
    runHere(['export', ...args], { SPOOR_URL: service.url, SPOOR_API_KEY: service.key })
  return { ...service, service, env, run, lines, asked, folder: await testFolder(t) }
}

async function record({ call }: TestService, over: object = {}): Promise<string> {
  const body = ingestBody(over)
  const { status } = await call('POST', TRACES, { body })
  if (status !== 201) throw new Error(String(status))
  return body.trace.id
}

t.test("exported rows contain the API's values in every format", async t => {
  const { call, service, env, run, lines, asked, makeProject } = await setUp(t)
  const step = span({ kind: 'llm', name: '=cmd()', model: 'm', input: ['é\u2028😀\ud83d'], usage: { inputTokens: 5 } })
  const id = await record(service, {
    name: 'naïve, "quoted"\nname',
    tags: ['a', 'ü'],
    input: { text: 'Größe', n: 1 },
    output: 'x',
    metadata: { a: 1.5 },
    costUsd: 0.001,
    userId: '@user',
    spans: [step, span({ startedAt: '2026-11-21T12:00:00.000001Z' })]
  })
  for (const body of [SCORE, { ...SCORE, name: 'tone', dataType: 'categorical', value: '=a' }]) {
    await call('POST', `${TRACES}/${id}/scores`, { body })
  }
  await call('POST', `${TRACES}/${id}/scores`, { body: { name: 'good', dataType: 'boolean', value: true } })
  const running = startBody()
  await call('POST', TRACES, { body: running })
  const grown = otlpSpan({ parentSpanId: spanId(), attributes: { 'gen_ai.operation.name': 'chat' } })
  await call('POST', '/api/v1/otlp/v1/traces', { body: exportOf(grown) })
  const { traceId } = grown
  const message = { traceId, spanId: grown.spanId, at: 0.5, eventName: 'gen_ai.user.message', body: { content: 'hi' } }
  await call('POST', '/api/v1/otlp/v1/logs', { body: logsOf([message]) })

  const ids = [id, running.trace.id, grown.traceId]
  const shown = await Promise.all(ids.map(async id => (await call('GET', `${TRACES}/${id}`)).body))
  const empty = (value: unknown) => (JSON.stringify(value) === '{}' || JSON.stringify(value) === '[]' ? null : value)
  const flat = ({ usage, ...rest }: Record<string, unknown>, names: readonly string[]) => {
    const counts = (usage as object | null) ?? { inputTokens: null, outputTokens: null, totalTokens: null }
    const all: Record<string, unknown> = { ...rest, ...counts }
    return Object.fromEntries(names.map(name => [name, empty(all[name])]))
  }
  const own = (detail: { trace: { name: string; environment: string | null } }) => ({
    traceName: detail.trace.name,
    environment: detail.trace.environment
  })
  const byId = (rows: { id: string }[]) => rows.sort((a, b) => (a.id < b.id ? -1 : 1))
  const wanted = {
    traces: shown.map(({ trace }) => flat(trace, COLUMN_NAMES.traces)),
    spans: shown.flatMap(each => each.spans.map((span: object) => flat({ ...span, ...own(each) }, COLUMN_NAMES.spans))),
    scores: shown.flatMap(each =>
      each.scores.map((score: { value: unknown; dataType: string }) => {
        const number = score.dataType === 'categorical' ? null : Number(score.value)
        return { ...flat({ ...score, ...own(each), number }, COLUMN_NAMES.scores), value: String(score.value) }
      })
    )
  }
  for (const kind of ['traces', 'spans', 'scores'] as const) {
    const found = await lines('--rows', kind)
    t.same(byId(found), byId(wanted[kind] as never), kind)
    const child = start(['export', '--project', 'default', '--rows', kind, '--format', 'parquet'], env)
    const [bytes] = await Promise.all([buffer(child.stdout!), once(child, 'exit')])
    const rows = await parquetReadObjects({ file: new Uint8Array(bytes).buffer })
    const plain = (value: unknown, name: string) => {
      if (typeof value === 'bigint') return Number(value)
      if (value instanceof Date) return value.toISOString()
      return /^(tags|input|output|metadata|attributes|events|scores)$/.test(name) && value !== null
        ? JSON.parse(String(value))
        : value
    }
    const cut = (rows: object[]) => JSON.parse(JSON.stringify(rows).replace(/(\d\d:\d\d:\d\d\.\d{3})\d{3}Z/g, '$1Z'))
    const parsed = rows.map(row =>
      Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plain(value, name)]))
    )
    t.same(cut(byId(parsed as never)), cut(byId(wanted[kind] as never)), `${kind} in Parquet`)
  }
  const csv = (await run('--rows', 'spans', '--format', 'csv', '--columns', 'name, kind,model')).out
  t.match(csv, /^name,kind,model\r\n/)
  t.match(csv, /^'=cmd\(\),llm,m\r$/m)
  t.match((await run('--rows', 'scores', '--format', 'csv', '--columns', 'value,number')).out, /^'=a,\r$/m)
  const columns = ['--columns', 'id,score:quality,score:tone,score:good']
  const table = (await run('--format', 'csv', ...columns)).out
  t.match(table, /^id,score:quality,score:tone,score:good\r\n/)
  t.match(table, new RegExp(`^${id},0\\.5,'=a,true\\r$`, 'm'))
  t.match(table, new RegExp(`^${running.trace.id},,,\\r$`, 'm'))
  const scored = { 'score:quality': 0.5, 'score:tone': '=a', 'score:good': 'true' }
  t.match(
    (await lines(...columns)).find(each => each.id === id),
    scored
  )
  const wide = start(['export', '--project', 'default', '--format', 'parquet', ...columns], env)
  const [content] = await Promise.all([buffer(wide.stdout!), once(wide, 'exit')])
  const rows = await parquetReadObjects({ file: new Uint8Array(content).buffer })
  const inParquet = rows.find(each => each.id === id)
  t.match(inParquet, { 'score:quality': '0.5', 'score:tone': '=a' })
  // A key gets the same rows from the server, in another order.
  const sorted = ({ code, out }: { code: number | null; out: string }) => ({ code, lines: out.split('\n').sort() })
  const forms = [
    ...['traces', 'spans', 'scores'].flatMap(kind =>
      ['ndjson', 'csv'].map(format => ['--rows', kind, '--format', format])
    ),
    ['--format', 'csv', ...columns],
    ['--as', 'dataset'],
    ['--as', 'dataset', '--score', 'quality>0.4']
  ]
  for (const form of forms) t.same(sorted(await asked(...form)), sorted(await run(...form)), form.join(' '))
  const raw = (await asked()).out
  t.same(
    raw
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line)),
    await Promise.all(
      (await call('GET', TRACES)).body.traces.map(
        async ({ id }: { id: string }) => (await call('GET', `${TRACES}/${id}`)).body
      )
    ),
    'lines are the responses of the API'
  )
  t.same(JSON.parse((await asked('--json')).out).length, 3)
  await makeProject('copy')
  const file = join(await testFolder(t), 'traces.ndjson')
  await writeFile(file, raw)
  t.match(await runHere(['import', '--project', 'copy', file, '--json'], env), { code: 0 }, 'the lines can be imported')

  const dataset = await lines('--as', 'dataset')
  t.equal(dataset.length, 1, 'running traces are omitted')
  t.same(dataset[0], {
    id,
    name: 'naïve, "quoted"\nname',
    input: { text: 'Größe', n: 1 },
    output: 'x',
    scores: { quality: 0.5, tone: '=a', good: true },
    tags: ['a', 'ü'],
    metadata: { a: 1.5 }
  })
})

t.test('an export from a cursor contains each later write once', async t => {
  const { call, service, run, lines, asked, folder } = await setUp(t)
  const cursorOf = ({ err }: { err: string }) => /^next cursor: (\S+)$/m.exec(err)?.[1] as string
  const idsIn = (out: string) =>
    out
      .split('\n')
      .slice(0, -1)
      .map(line => JSON.parse(line).trace.id)
  const [one, two] = [await record(service), await record(service)]
  const first = await run('--since', 'start')
  t.same(idsIn(first.out).sort(), [one, two].sort())
  const byKey = await asked('--since', 'start')
  t.same(idsIn(byKey.out).sort(), [one, two].sort())
  const second = await run('--since', cursorOf(byKey))
  t.match(second, { code: 0, out: '' })
  const body = startBody()
  const { id } = body.trace
  await call('POST', TRACES, { body })
  for (const [path, part] of [
    ['spans', spansBody(span())],
    ['end', endBody()],
    ['scores', SCORE]
  ] as const) {
    await call('POST', `${TRACES}/${id}/${path}`, { body: part })
  }
  await call('PATCH', `${TRACES}/${one}`, { body: { metadata: { a: 1 } } })
  const third = await run('--since', cursorOf(second))
  t.same(idsIn(third.out).sort(), [one, id].sort())
  const ofKey = await asked('--since', cursorOf(second))
  t.same(idsIn(ofKey.out).sort(), [one, id].sort(), 'a key reads the same changes')
  t.match(await asked('--since', cursorOf(ofKey)), { code: 0, out: '' })
  const page = (await call('GET', `/api/v1/changes?after=${cursorOf(third)}`)).body
  t.match(page, { traces: [], caughtUp: true }, 'the API accepts the cursor')
  t.match(await run('--since', page.nextCursor), { code: 0, out: '' }, "and the command accepts the API's")

  const file = join(folder, 'sync.cursor')
  t.equal(
    (await lines('--cursor-file', file, '--rows', 'traces')).length,
    3,
    'without a cursor file, all traces are exported'
  )
  await call('POST', `${TRACES}/${two}/scores`, { body: SCORE })
  const scores = await lines('--cursor-file', file, '--rows', 'scores')
  t.same(
    scores.map(({ traceId }) => traceId),
    [two]
  )
  t.match(await run('--cursor-file', file), { code: 0, out: '', err: '' })
  const empty = await run('--cursor-file', file, '--json')
  t.same(JSON.parse(empty.out), [])
  const kept = await readFile(file, 'utf8')
  await service.database.pool.run(sql => sql`update change_feeds set id = id + 1`)
  const refused = await run('--cursor-file', file)
  t.match(refused, { code: 1, err: /another database or project: start again without a cursor \(--since start\)/ })
  t.match(await asked('--cursor-file', file), {
    code: 1,
    err: /another database or project: start again without a cursor/
  })
  t.equal(await readFile(file, 'utf8'), kept)
  await writeFile(file, 'nonsense')
  t.match(await run('--cursor-file', file), {
    code: 2,
    err: /the content of .*sync\.cursor must be "start", or a cursor/
  })
  t.equal(idsIn((await run('--cursor-file', file, '--since', 'start')).out).length, 3)
  t.match(await run('--cursor-file', file), { code: 0, out: '' })
})

t.test('invalid exports are rejected before any output', async t => {
  const { run } = await setUp(t)
  const cases: readonly (readonly [string[], RegExp])[] = [
    [['--format', 'xml'], /--format must be one of ndjson, csv, parquet, not "xml"/],
    [['--rows', 'steps'], /--rows must be one of traces, spans, scores/],
    [['--as', 'finetuning'], /--as must be one of dataset/],
    [['--columns', 'id,nope'], /--columns does not match any column of traces: "nope"\. The columns are id, name,/],
    [['--columns', 'score:ä'], /does not match any column of traces: "score:ä"/],
    [['--rows', 'spans', '--columns', 'score:x'], /does not match any column of spans: "score:x"/],
    [['--columns', 'score:x,score:x'], /--columns repeats a column: "score:x"/],
    [['--columns', 'id,id'], /--columns repeats a column: "id"/],
    [['--columns', ''], /--columns does not match any column of traces: ""/],
    [['--as', 'dataset', '--format', 'csv'], /--as cannot be combined with --format, --rows or --columns/],
    [['--format', 'csv', '--json'], /--json cannot be combined with --format, --rows or --columns/],
    [['--since', 'start', '--from', '7d'], /a cursor cannot be combined with --from, --to or --before/],
    [['--since', 'soon'], /--since must be a time such as 7d or 2026-01-31, "start", or a cursor/]
  ]
  for (const [args, message] of cases) t.match(await run(...args), { code: 2, out: '', err: message })
})
