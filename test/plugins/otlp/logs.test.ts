import { gzipSync } from 'node:zlib'
import t from 'tap'
import { createLog } from '../../../lib/log.ts'
import { ingestBody } from '../../fixtures/bodies/bodies.ts'
import { exportOf, type GivenSpan, otlpSpan } from '../../fixtures/bodies/otlp.ts'
import { encodeLogs, type GivenRecord, logsOf } from '../../fixtures/bodies/otlp-logs.ts'
import { testDatabase } from '../../fixtures/database/database.ts'
import { exportLines, testImporter } from '../../fixtures/database/moving.ts'
import { freshId } from '../../fixtures/database/seed.ts'
import { grpcClient, LOGS } from '../../fixtures/service/grpc.ts'
import { mcpClient } from '../../fixtures/service/mcp.ts'
import { type TestService, type TestServiceOptions, testService } from '../../fixtures/service/service.ts'
import { until } from '../../fixtures/until.ts'

const PATH = '/api/v1/otlp/v1/logs'
const PROTOBUF = { 'content-type': 'application/x-protobuf' }
const ALL_TAKEN = { status: 200, text: '{}' }

const READ = { input: [{ role: 'user', content: 'hello' }], output: [{ role: 'assistant', content: 'hi', index: 0 }] }

/** Returns a model call whose messages arrive as log records. */
function modelCall() {
  const ids = { traceId: freshId(32), spanId: freshId(16) }
  const span = (given: GivenSpan = {}) =>
    otlpSpan({ ...ids, name: 'chat', attributes: { 'gen_ai.operation.name': 'chat' }, ...given })
  const record = (given: GivenRecord): GivenRecord => ({ ...ids, at: 1, ...given })
  const question = record({ eventName: 'gen_ai.user.message', body: { content: 'hello' } })
  const answer = record({ eventName: 'gen_ai.choice', body: { index: 0, message: { content: 'hi' } }, at: 2 })
  return { ...ids, span, record, question, answer }
}

async function setUp(t: Parameters<typeof testService>[0], options: TestServiceOptions = {}) {
  const service = await testService(t, options)
  const { call } = service
  return {
    ...service,
    sendSpans: (...spans: object[]) => call('POST', '/api/v1/otlp/v1/traces', { body: exportOf(...spans) }),
    sendLogs: (...records: GivenRecord[]) => call('POST', PATH, { body: logsOf(records) }),
    read: async (id: string) => (await call('GET', `/api/v1/traces/${id}`)).body
  }
}

const storedMessages = ({ database }: Pick<TestService, 'database'>) =>
  database.pool.run(sql => sql`select waits from span_messages`)

t.test('messages are shown with the span that they name, whichever arrives first', async t => {
  const { sendSpans, sendLogs, read } = await setUp(t)
  const [one, other] = [modelCall(), modelCall()]
  t.match(await sendLogs(one.question), ALL_TAKEN)
  t.match(await sendSpans(one.span(), other.span()), ALL_TAKEN)
  t.match((await read(one.traceId)).spans, [{ input: READ.input, output: null }])
  t.match(await sendLogs(other.answer, one.answer, other.question), ALL_TAKEN)
  for (const { traceId } of [one, other]) t.match(await read(traceId), { trace: READ, spans: [READ] })

  const again = await read(one.traceId)
  t.match(await sendLogs(one.question, one.answer), ALL_TAKEN)
  t.match(await sendSpans(one.span()), ALL_TAKEN)
  t.same(await read(one.traceId), again, 'a resend changes nothing')
})

t.test("messages are in chronological order, and a span's own data takes precedence", async t => {
  const { sendSpans, sendLogs, read } = await setUp(t)
  const { traceId, span, question, record, answer } = modelCall()
  const system = record({ eventName: 'gen_ai.system.message', body: { content: 'be kind' }, at: 0 })
  const tool = record({ eventName: 'gen_ai.tool.message', body: { content: '42', id: 'c' } })
  await sendLogs(question, tool, answer)
  await sendLogs(system)
  const own = { 'gen_ai.operation.name': 'chat', 'gen_ai.output.messages': '[{"role":"assistant","content":"own"}]' }
  await sendSpans(span({ attributes: own }))
  const { trace, spans } = await read(traceId)
  t.same(
    spans[0].input.map(({ role }: { role: string }) => role),
    ['system', 'user', 'tool']
  )
  t.match(spans[0].output, [{ content: 'own' }])
  t.same([trace.input, trace.output], [spans[0].input, spans[0].output])
})

t.test('in protobuf, compressed and over gRPC', async t => {
  const { call, sendSpans, read, ...service } = await setUp(t, { config: { grpcPort: 0 } })
  const { traceId, span, question, answer } = modelCall()
  await sendSpans(span())
  const zipped = {
    body: gzipSync(encodeLogs(logsOf([question]))),
    headers: { 'content-encoding': 'gzip', ...PROTOBUF }
  }
  t.match(await call('POST', PATH, zipped), { status: 200, text: '', headers: PROTOBUF })
  const send = await grpcClient(t, service.grpcPort as number)
  t.match(await send(LOGS, encodeLogs(logsOf([answer])), `Bearer ${service.key}`), { status: 'OK' })
  t.match(await read(traceId), { trace: READ, spans: [READ] })
})

t.test('other records are counted and reported once, and messages without a span are rejected and counted', async t => {
  const { call, sendLogs, ...service } = await setUp(t)
  const { question } = modelCall()
  const lost = { eventName: 'gen_ai.choice', body: 'hi' }
  t.match(await sendLogs({ body: 'started' }, { eventName: 'device.app.lifecycle' }), { text: /2 log records/ })
  t.match(await sendLogs({ body: 'started' }, lost, question, { ...question, spanId: '0'.repeat(16) }), {
    status: 200,
    body: {
      partialSuccess: {
        rejectedLogRecords: '2',
        errorMessage: '2 rejected: messages must have the ids of a trace and a span'
      }
    }
  })
  const told = await call('POST', PATH, { body: encodeLogs(logsOf([lost])), headers: PROTOBUF })
  t.match(told, { status: 200, headers: PROTOBUF, text: /1 rejected/ })
  const { text } = await call('GET', '/metrics')
  for (const [kind, count] of Object.entries({ messages: 1, unplaced: 3, others: 3 })) {
    t.match(text, new RegExp(`^spoor_log_records_total\\{kind="${kind}"\\} ${count}$`, 'm'))
  }
  t.equal((await storedMessages(service)).length, 1)
  t.match((await call('GET', '/api/v1/project')).body, { traceCount: 0, spanCount: 0 })
})

t.test('messages whose span does not arrive are dropped after a while, which is logged and counted', async t => {
  const said: string[] = []
  const log = createLog('warn', { write: (line: string) => said.push(line) })
  const service = await setUp(t, { log, messagesWaitMs: 300 })
  const { sendSpans, sendLogs, read, call } = service
  const [placed, lost] = [modelCall(), modelCall()]
  await sendSpans(placed.span(), otlpSpan({ traceId: lost.traceId }))
  await sendLogs(placed.question, lost.question, lost.answer)
  await until(async () => (await storedMessages(service)).every(({ waits }) => !waits))
  t.equal((await storedMessages(service)).length, 1, 'a trace without that span does not keep them')
  t.match((await read(placed.traceId)).spans, [{ input: READ.input }])
  t.match(said.join(), /dropped [12] messages from log records: the spans they refer to never arrived/)
  t.match((await call('GET', '/metrics')).text, /^spoor_log_records_total\{kind="left_out"\} 2$/m)
  const counted = () => service.database.pool.run(sql => sql`select name, count from unkept_records`)
  await until(async () => (await counted()).length > 0)
  t.same(await counted(), [{ name: 'messages of model calls', count: 2 }])
})

t.test("messages belong to the key's project", async t => {
  const { sendLogs, call, makeKey, makeProject, ...service } = await setUp(t)
  await makeProject('other')
  const { key } = await makeKey({ project: 'other' })
  const { traceId, span, question } = modelCall()
  await sendLogs(question)
  await call('POST', '/api/v1/otlp/v1/traces', { body: exportOf(span()), key })
  t.match((await call('GET', `/api/v1/traces/${traceId}`, { key })).body.spans, [{ input: null, output: null }])
  t.equal((await storedMessages(service)).length, 1)
})

t.test('they are deleted with their trace, and exported with it', async t => {
  const { sendSpans, sendLogs, read, call, makeProject, makeKey, ...service } = await setUp(t)
  const [moved, native] = [modelCall(), modelCall()]
  await sendSpans(moved.span())
  await sendLogs(moved.question, moved.answer, { ...native.question, ...{ spanId: 'ab'.repeat(8) } })
  await call('POST', '/api/v1/traces', { body: ingestBody({ id: native.traceId }) })
  const lines = (await exportLines(service.database, 'default')).join('\n')

  const target = await testDatabase(t)
  const restored = await setUp(t, { database: target })
  const importer = testImporter(t, target)
  const [project] = await target.pool.run(sql => sql<{ id: number }[]>`select id from projects where slug = 'default'`)
  t.match(await importer(project!.id, lines), { problems: [] })
  t.match(await importer(project!.id, lines), { problems: [] }, 'and again')
  const there = await restored.read(moved.traceId)
  t.match(there, { trace: READ, spans: [READ] })
  t.equal((await exportLines(target, 'default')).join('\n'), lines)
  const other = lines.replace('"kind":"llm"', '"kind":"tool"').replaceAll(/"digest":"../g, '"digest":"00')
  t.match((await importer(project!.id, other)).problems.join(), /stored with different content/)
  t.same(await restored.read(moved.traceId), there, 'a rejected line adds no messages')

  t.match(await call('DELETE', `/api/v1/traces/${moved.traceId}`), { status: 200 })
  t.equal((await storedMessages(service)).length, 1)
  await sendSpans(moved.span())
  t.match((await read(moved.traceId)).spans, [{ input: null, output: null }])
})

t.test('the tool get_trace shows them', async t => {
  const service = await testService(t)
  const { traceId, span, question, answer } = modelCall()
  await service.call('POST', '/api/v1/otlp/v1/traces', { body: exportOf(span()) })
  await service.call('POST', PATH, { body: logsOf([question, answer]) })
  const { use } = await mcpClient(t, service)
  t.match((await use('get_trace', { traceId })).value, { spans: [READ] })
})

t.test('rejects bodies that are not log exports, and keys that may not write', async t => {
  const { call, makeKey, sendLogs } = await setUp(t)
  const { key: reader } = await makeKey({ scopes: ['traces:read'] })
  const body = logsOf([{ body: 'started' }])
  t.match(await call('POST', PATH, { body: '{' }), { status: 400, body: { error: { code: 'invalid_json' } } })
  t.match(await call('POST', PATH, { body: '[]' }), { status: 400, body: { error: { code: 'invalid_request' } } })
  t.match(await call('POST', PATH, { body: '{}', headers: PROTOBUF }), {
    status: 400,
    headers: PROTOBUF,
    text: /not a protobuf ExportLogsServiceRequest/
  })
  t.match(await call('POST', PATH, { body, key: reader }), { status: 403 })
  t.match(await call('POST', PATH, { body, key: null }), { status: 401 })
  t.match(await call('POST', PATH, { body: 'x'.repeat(8 * 1024 * 1024 + 1) }), { status: 413 })
  const { question } = modelCall()
  t.match(await sendLogs({ ...question, body: { content: 'x\u0000\ud800y' } }), ALL_TAKEN, 'odd characters')
})

const eventsOf = (spans: { events: { name: string; attributes: object }[] }[]) => spans.map(({ events }) => events)

t.test('a record that names a span becomes its event, whichever arrives first', async t => {
  const { sendSpans, sendLogs, read, call, makeProject: _, ...service } = await setUp(t)
  const { traceId, spanId, span, record } = modelCall()
  const own = [{ name: 'own', timeUnixNano: '1795717789326130262' }]
  const plain = record({ body: 'retrying', attributes: { attempt: 2 }, at: 3 })
  const named = record({ eventName: 'cache.hit', body: { key: 'k' }, at: 1 })
  const long = record({ attributes: { 'event.name': 'dump', text: 'long '.repeat(20_000) }, at: 4 })
  t.match(await sendLogs(named, long), ALL_TAKEN)
  await sendSpans({ ...span(), events: own })
  t.match(await sendLogs(plain), ALL_TAKEN)
  const { spans } = await read(traceId)
  t.match(eventsOf(spans), [
    [
      { name: 'own' },
      { name: 'cache.hit', attributes: { body: { key: 'k' } } },
      { name: 'unnamed', attributes: { body: 'retrying', attempt: 2 } },
      { name: 'dump', attributes: { text: /^long long.*… \[cut: 100000 characters in all\]$/ } }
    ]
  ])
  t.match(await sendLogs(plain, named, long), ALL_TAKEN)
  t.same((await read(traceId)).spans, spans, 'a resend changes nothing')

  const lines = (await exportLines(service.database, 'default')).join('\n')
  const target = await testDatabase(t)
  const restored = await setUp(t, { database: target })
  const [project] = await target.pool.run(sql => sql<{ id: number }[]>`select id from projects where slug = 'default'`)
  t.match(await testImporter(t, target)(project!.id, lines), { problems: [] })
  t.same((await restored.read(traceId)).spans, spans)
  t.equal((await exportLines(target, 'default')).join('\n'), lines)

  const many = Array.from({ length: 70 }, (_, i) => record({ eventName: `event ${i}`, at: 5 + i }))
  for (const part of [many.slice(0, 30), many.slice(30)]) t.match(await sendLogs(...part), ALL_TAKEN)
  t.equal((await read(traceId)).spans[0].events.length, 50)
  const stored = await service.database.pool.run(
    sql => sql<{ count: number }[]>`select count(*)::int as count from span_messages where span_id = ${spanId}`
  )
  t.same(stored, [{ count: 50 }], 'no more are stored')
  t.equal((await call('GET', '/metrics')).text.match(/kind="events"\} (\d+)/)?.[1], '76')
})
