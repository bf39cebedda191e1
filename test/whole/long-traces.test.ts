/**
 * Long traces pass through all code that reads, moves or deletes traces: 10,000 spans in `npm run torture`, 2000 in
 * `npm test`.
 */
import { setImmediate as turn } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { evaluateTraces } from '../../lib/admin/evaluation.ts'
import { recountProject } from '../../lib/admin/upkeep/recount.ts'
import { SCHEMA_NAMES } from '../../lib/database/tables.ts'
import { STREAMED_BYTES } from '../../lib/limits/large-reads.ts'
import { textWriter } from '../../lib/limits/list-writer.ts'
import { SHOWN_BYTES } from '../../lib/mcp/outline.ts'
import { TRUNCATED } from '../../lib/schema/otlp.ts'
import { readWanted } from '../../lib/search/wanted.ts'
import { readParsedTrace } from '../../lib/store/answers/parsed-trace.ts'
import { DETAIL_PARTS } from '../../lib/store/answers/trace-json.ts'
import { readShownTrace, readSizedTrace, readTraceDetail, streamTrace } from '../../lib/store/answers/traces.ts'
import { findWords } from '../../lib/store/search/trace-search.ts'
import { deleteTrace } from '../../lib/store/trace/deletion.ts'
import { addMessages } from '../../lib/store/trace/messages.ts'
import { checkTotals } from '../../lib/store/write/totals.ts'
import type { PlacedMessages } from '../../lib/trace/span-messages.ts'
import { exportsOf, type LongTrace, longTrace } from '../fixtures/bodies/long-trace.ts'
import { backupOf, restore } from '../fixtures/database/backups.ts'
import { testDatabase } from '../fixtures/database/database.ts'
import { exportLines, testImporter } from '../fixtures/database/moving.ts'
import { freshId } from '../fixtures/database/seed.ts'
import { mcpClient } from '../fixtures/service/mcp.ts'
import { indexNow, searchOn } from '../fixtures/service/searching.ts'
import { type TestService, testService } from '../fixtures/service/service.ts'
import { isLong, longTest } from '../torture/orders.ts'

const TRACES = '/api/v1/traces'
const PROTOBUF = { 'content-type': 'application/x-protobuf' }

async function send(service: TestService, trace: LongTrace): Promise<void> {
  for (const body of exportsOf(trace)) {
    const { status } = await service.call('POST', '/api/v1/otlp/v1/traces', { body, headers: PROTOBUF })
    if (status !== 200) throw new Error(`an export was answered ${status}`)
  }
}

const MIB = 1024 * 1024
const SPANS = isLong ? 10_000 : 2000

const spanIdsOf = ({ spans }: LongTrace, kind: string): string[] =>
  (spans as readonly { name: string; spanId: string }[]).flatMap(({ name, spanId }) =>
    name.startsWith(kind) ? spanId : []
  )

t.test("beyond OTLP_MAX_TRACE_BYTES, spans' texts are cut, and the steps are kept", async t => {
  const service = await testService(t, { config: { maxTraceBytes: 1024 ** 2 } })
  const { call, database } = service
  const trace = longTrace(900, 4000)
  await send(service, trace)
  const { body } = await call('GET', `${TRACES}/${trace.traceId}`)
  t.match(body.trace, { name: 'long run', status: 'ok', spanCount: 900 })
  t.equal(body.spans.length, 900)
  const isCut = (span: { attributes: object }) => TRUNCATED in span.attributes
  const calls = body.spans.filter(({ kind }: { kind: string }) => kind === 'llm')
  const cut = calls.filter(isCut)
  t.ok(cut.length > 50 && cut.length < calls.length, `${cut.length} of ${calls.length} calls are cut`)
  t.match(cut[0], { input: null, usage: { inputTokens: 3 }, model: 'm' })
  t.match(cut[0].attributes[TRUNCATED][0], { place: 'input', bytes: 3999, limit: 'OTLP_MAX_TRACE_BYTES' })
  t.equal(body.trace.usage.inputTokens, 3 * calls.length)

  const before = body.trace
  await send(service, trace)
  t.same((await call('GET', `${TRACES}/${trace.traceId}`)).body.trace, before, 'a resend changes nothing')
  const lines = (await exportLines(database, 'default')).join('\n')
  t.match(await testImporter(t, database)(1, lines), { skipped: 1, refused: 0 }, 'its own line adds nothing')
  const other = await testService(t, { config: { maxTraceBytes: 1024 ** 2 } })
  t.match(await testImporter(t, other.database)(1, lines), { imported: 1, problems: [] })
  await send(other, trace)
  t.equal((await exportLines(other.database, 'default')).length, 1)
  const moved = (await other.call('GET', `${TRACES}/${trace.traceId}`)).body
  t.same(moved.trace, before, 'and neither does a resend to the imported trace')
  t.same(moved.spans, body.spans)
  const { rows, counters } = await database.pool.run(sql => checkTotals(sql, 1, false))
  t.same(counters, rows)
})

t.test('a trace that is too long for memory is sent like any other', async t => {
  const service = await testService(t)
  const { call, database } = service
  const trace = longTrace(1500, 20_000)
  await send(service, trace)
  const id = trace.traceId
  const whole = await database.pool.run(sql => readTraceDetail(sql, 1, id))
  t.ok(Buffer.byteLength(whole!) > STREAMED_BYTES)
  const answer = await call('GET', `${TRACES}/${id}`)
  t.equal(answer.text, whole)
  t.equal(answer.headers['content-length'], undefined, 'the length is not known in advance')
  t.match(await call('HEAD', `${TRACES}/${id}`), { status: 200, text: '' })
  t.match(await call('GET', `${TRACES}/${freshId(32)}`), { status: 404 })

  const mcp = await mcpClient(t, service)
  const outline = await mcp.use('get_trace', { traceId: id })
  t.ok(Buffer.byteLength(outline.text) <= SHOWN_BYTES)
  t.match(outline.value, { detail: 'outline', spans: [{ name: 'long run', depth: 0 }], nextAfter: String })
  const spanIds = answer.body.spans.slice(0, 3).map((span: { id: string }) => span.id)
  const chosen = await mcp.use('get_trace', { traceId: id, spanIds: [...spanIds, freshId(16)] })
  t.same(chosen.value.spans, answer.body.spans.slice(0, 3))
  t.equal(chosen.value.missing.length, 1)
  t.match((await mcp.use('get_trace', { traceId: id, field: 'metadata' })).value, { part: '{}', nextOffset: null })

  const headers = { authorization: `Bearer ${service.key}` }
  for (let n = 0; n < 5; n++) {
    const leaving = new AbortController()
    const response = await fetch(`${service.url}${TRACES}/${id}`, { headers, signal: leaving.signal })
    await response.body?.getReader().read()
    leaving.abort()
  }
  t.equal((await call('GET', `${TRACES}/${id}`)).text, whole, 'a client that disconnects meanwhile frees its slot')
})

/** Records a long trace whose tool calls have messages of log records. */
async function sendWithMessages(service: TestService, steps: number): Promise<string> {
  const trace = longTrace(steps, 30_000)
  await send(service, trace)
  const { traceId } = trace
  const messages = spanIdsOf(trace, 'execute_tool').map((spanId, i): PlacedMessages => {
    const input = JSON.stringify([{ role: 'user', content: `${i} ${'é'.repeat(15_000)}` }])
    return { traceId, spanId, micros: i, place: 0, digest: freshId(32), input, output: '["said"]' }
  })
  await service.database.pool.run(sql => addMessages(sql, 1, messages))
  return traceId
}

t.test('a long trace with messages from log records is the same wherever it is read', async t => {
  const service = await testService(t)
  const { call, database } = service
  const id = await sendWithMessages(service, 400)
  const whole = (await database.pool.run(sql => readTraceDetail(sql, 1, id)))!
  t.ok(Buffer.byteLength(whole) > STREAMED_BYTES, `${Buffer.byteLength(whole)} bytes`)
  t.ok((await call('GET', `${TRACES}/${id}`)).text === whole)
  const parsed = await database.pool.run(sql => readParsedTrace(sql, 1, id))
  t.ok(isDeepStrictEqual(parsed, JSON.parse(whole)), 'what evaluators get is the same')

  const lines = (await exportLines(database, 'default')).join('\n')
  const other = await testService(t)
  t.match(await testImporter(t, other.database)(1, lines), { imported: 1, problems: [] })
  t.ok((await exportLines(other.database, 'default')).join('\n') === lines)
  t.ok((await other.call('GET', `${TRACES}/${id}`)).text === whole)
})

longTest('a long trace with messages from log records is read a few megabytes at a time', async t => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const service = await testService(t)
  const id = await sendWithMessages(service, 1500)

  const held = async () => {
    // The buffers of a decompressor are released only after the collection that finalises it.
    for (let i = 0; i < 3; i++) {
      collect()
      await turn()
    }
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    return heapUsed + arrayBuffers
  }
  let [most, bytes, next] = [0, 0, 0]
  await service.database.pool.run(async sql => {
    const before = await held()
    const write = async (part: string) => {
      bytes += part.length
      if (bytes < next) return
      next += 4 * MIB
      most = Math.max(most, (await held()) - before)
    }
    await streamTrace(sql, 1, id, DETAIL_PARTS, textWriter(write))
  })
  t.ok(bytes > 36 * MIB, `${bytes} bytes were read`)
  t.ok(most < 16 * MIB, `${most} bytes were held at once`)
})

t.test("a long trace's outline has the sizes of texts that were packed", async t => {
  const service = await testService(t)
  const trace = longTrace(2500, 9500)
  for (const body of exportsOf(trace, 24)) {
    await service.call('POST', '/api/v1/otlp/v1/traces', { body, headers: PROTOBUF })
  }
  await service.database.pool.run(async sql => {
    const [{ packed }] = await sql<[{ packed: number }]>`select count(packed)::int as packed from spans`
    t.ok(packed > 2000, `${packed} rows are packed`)
    const { trace: sized, spans } = (await readSizedTrace(sql, 1, trace.traceId))!
    t.ok(sized.estimatedBytes > STREAMED_BYTES)
    const shown = await readShownTrace(sql, 1, trace.traceId, SCHEMA_NAMES)
    const bytes = (text: string | null) => (text === null ? 0 : Buffer.byteLength(text))
    const wanted = shown!.spans.map(({ input, attributes }) => [bytes(input), bytes(attributes)])
    t.same(
      spans.map(({ inputBytes, attributesBytes }) => [inputBytes, attributesBytes]),
      wanted
    )
  })
})

t.test(`${SPANS} spans pass through everything`, async t => {
  const service = await testService(t)
  const { call, database } = service
  await searchOn(service)
  const trace = longTrace(SPANS)
  await send(service, trace)
  const id = trace.traceId

  const { body } = await call('GET', `${TRACES}/${id}`)
  t.match(body.trace, { name: 'long run', status: 'ok', spanCount: SPANS, errorCount: SPANS / 1000 })
  t.equal(body.spans.length, SPANS)
  t.match((await call('GET', TRACES)).body.traces, [{ id, spanCount: SPANS }])

  const mcp = await mcpClient(t, service)
  const first = await mcp.use('get_trace', { traceId: id })
  t.ok(Buffer.byteLength(first.text) <= SHOWN_BYTES)
  const second = await mcp.use('get_trace', { traceId: id, after: first.value.nextAfter })
  t.ok(Buffer.byteLength(second.text) <= SHOWN_BYTES)
  t.match(second.value.note, new RegExp(`spans \\d+ to \\d+ of ${SPANS}`))
  const last = await mcp.use('get_trace', { traceId: id, after: body.spans.at(-1).id })
  t.match(last.value, { spans: [], nextAfter: undefined })

  const steps: number[] = []
  await database.pool.run(sql =>
    evaluateTraces(
      sql,
      { project: 'default' },
      [
        {
          id: 'steps',
          name: 'steps',
          dataType: 'numeric',
          evaluate: ({ spans }) => ({ value: steps.push(spans.length) })
        }
      ],
      { concurrency: 1, limit: 10, timeoutMs: 10_000, follow: false, signal: new AbortController().signal }
    )
  )
  t.same(steps, [SPANS])

  await indexNow(service)
  const found = await database.pool.run(sql => findWords(sql, 1, readWanted('step 4')!, { sort: 'newest', limit: 5 }))
  t.match(found.matches, [{ id }])

  const lines = (await exportLines(database, 'default')).join('\n')
  const other = await testService(t)
  t.match(await testImporter(t, other.database)(1, lines), { imported: 1, problems: [] })
  const read = (of: TestService) => of.database.pool.run(sql => readTraceDetail(sql, 1, id))
  t.ok((await read(other)) === (await read(service)), 'the same detail in another database')

  const restored = await testDatabase(t)
  t.match(await restore(t, restored, await backupOf(database)), { counts: { traces: 1, spans: SPANS } })
  t.ok((await exportLines(restored, 'default')).join('\n') === (await exportLines(database, 'default')).join('\n'))

  t.match(await database.pool.run(sql => recountProject(sql, 'default', false)), {
    agree: true,
    rows: { spans: SPANS }
  })
  t.equal(await database.pool.run(sql => deleteTrace(sql, 1, id)), true)
  const [left] = await database.pool.run(sql => sql`select count(*)::int as spans from spans`)
  t.same(left, { spans: 0 })
  t.match((await call('GET', '/api/v1/project')).body, { traceCount: 0, spanCount: 0 })
})
