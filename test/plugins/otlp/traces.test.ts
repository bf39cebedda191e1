import { gzipSync } from 'node:zlib'
import t from 'tap'
import { createAccount } from '../../../lib/admin/accounts.ts'
import { createProject } from '../../../lib/admin/projects.ts'
import { recountProject } from '../../../lib/admin/upkeep/recount.ts'
import { LARGE_BODY_BYTES } from '../../../lib/schema/input.ts'
import { MAX_EXPORT_BYTES, TRUNCATED } from '../../../lib/schema/otlp.ts'
import { checkTotals } from '../../../lib/store/write/totals.ts'
import { endBody, ingestBody, span as nativeSpan, spansBody, startBody } from '../../fixtures/bodies/bodies.ts'
import { toProtobuf } from '../../fixtures/bodies/fuzz-otlp.ts'
import { exportOf, type GivenSpan, otlpSpan } from '../../fixtures/bodies/otlp.ts'
import { testDatabase } from '../../fixtures/database/database.ts'
import { exportLines, testImporter } from '../../fixtures/database/moving.ts'
import { testRelay } from '../../fixtures/database/relay.ts'
import { freshId } from '../../fixtures/database/seed.ts'
import { type TestService, testService } from '../../fixtures/service/service.ts'

const PATH = '/api/v1/otlp/v1/traces'
const TRACES = '/api/v1/traces'
const ALL_STORED = { status: 200, text: '{}' }
const PROTOBUF = { 'content-type': 'application/x-protobuf' }

const sendTo = (service: TestService) => ({
  send: (...spans: object[]) => service.call('POST', PATH, { body: exportOf(...spans) }),
  read: async (id: string) => (await service.call('GET', `${TRACES}/${id}`)).body
})

/** Returns a trace's id and root, and a function that creates children of the root. */
function family() {
  const traceId = freshId(32)
  const root = otlpSpan({ traceId, name: 'root', start: 0, end: 9, status: 1 })
  const child = (given: GivenSpan = {}) => otlpSpan({ traceId, parentSpanId: root.spanId, start: 1, ...given })
  return { traceId, root, child }
}

t.test('a trace arrives in any order, in portions, and repeatedly', async t => {
  const service = await testService(t)
  const { send, read } = sendTo(service)
  const { traceId, root, child } = family()
  const call = { 'gen_ai.operation.name': 'chat', 'gen_ai.usage.input_tokens': 10, 'gen_ai.usage.cost': 0.5 }
  const first = child({ name: 'first', start: 2, attributes: { ...call, 'session.id': 's' } })
  const second = child({ name: 'second', start: 1, status: 2, attributes: call })

  t.match(await send(first), ALL_STORED)
  t.match((await read(traceId)).trace, {
    name: 'first',
    status: 'running',
    endedAt: null,
    sessionId: 's',
    spanCount: 1
  })
  t.match(await send(second, first), ALL_STORED)
  const running = (await read(traceId)).trace
  t.match(running, { name: 'second', status: 'running', startedAt: '2026-11-21T00:00:01.000Z', spanCount: 2 })
  t.match((await service.call('GET', `${TRACES}?status=running`)).body.traces, [{ id: traceId }])

  t.match(await send(root), ALL_STORED)
  const { trace, spans } = await read(traceId)
  t.match(trace, {
    name: 'root',
    status: 'ok',
    startedAt: '2026-11-21T00:00:00.000Z',
    endedAt: '2026-11-21T00:00:09.000Z',
    durationMs: 9000,
    usage: { inputTokens: 20, outputTokens: 0, totalTokens: 20 },
    costUsd: 1,
    spanCount: 3,
    errorCount: 1
  })
  t.not(trace.bodyHash, running.bodyHash)
  t.match(spans, [{ name: 'root' }, { name: 'second', kind: 'llm', status: 'error' }, { name: 'first' }])

  t.match(await send(root, second, first), ALL_STORED, 'nothing is new')
  t.same((await read(traceId)).trace, trace)
  t.match(await send(child({ name: 'late', start: 20 })), ALL_STORED, 'and is extended after its end')
  t.match((await read(traceId)).trace, { status: 'ok', endedAt: '2026-11-21T00:00:21.000Z', spanCount: 4 })
  await assertCounted(t, service)
})

/** The limit is small enough for a test to exceed it. */
const SMALL = { config: { maxSpans: 200 } }

/** Checks that the project's counters agree with its rows. */
async function assertCounted(t: Tap, { database }: TestService) {
  const { rows, counters } = await database.pool.run(sql => checkTotals(sql, 1, false))
  t.same(counters, rows)
}
type Tap = { same(found: unknown, wanted: unknown): unknown }

t.test("each export's long texts are packed, unless some are already stored, and are read as sent", async t => {
  const service = await testService(t)
  const { send, read } = sendTo(service)
  const { traceId, root, child } = family()
  const said = Array.from({ length: 8 }, (_, i) => `${i}: ${'all work and no play '.repeat(70)}é😀`)
  const children = said.map((text, start) => child({ start, attributes: { text } }))
  for (const sent of [children.slice(0, 3), [...children.slice(3, 6), root], children.slice(5)]) {
    t.match(await send(...sent), ALL_STORED)
  }
  const { spans } = await read(traceId)
  const texts = spans.map(({ attributes }: { attributes: { text?: string } }) => attributes.text)
  t.same(texts.filter(Boolean), said)
  const [row] = await service.database.pool.run(
    sql => sql`select count(distinct substr(packed, 3, 8))::int as groups, count(packed)::int as rows from spans`
  )
  t.same(row, { groups: 2, rows: 7 })
})

t.test('exports that race for a trace lose nothing', async t => {
  const service = await testService(t)
  const { send, read } = sendTo(service)
  const { traceId, root, child } = family()
  const others = Array.from({ length: 30 }, (_, i) => child({ start: i }))
  const answers = await Promise.all([...others, root, ...others].map(each => send(each)))
  for (const answer of answers) t.match(answer, ALL_STORED)
  t.match((await read(traceId)).trace, { name: 'root', status: 'ok', spanCount: 31 })
  await assertCounted(t, service)
})

t.test('one export contains spans of many traces', async t => {
  const service = await testService(t)
  const { send } = sendTo(service)
  const spans = Array.from({ length: 64 }, () => family()).flatMap(({ root, child }) => [child(), root, child()])
  t.match(await send(...spans), ALL_STORED)
  const { body } = await service.call('GET', '/api/v1/project')
  t.match(body, { traceCount: 64, spanCount: 192 })
  await assertCounted(t, service)
})

t.test('spans that cannot be stored are counted and reported, and the rest is stored', async t => {
  const service = await testService(t, SMALL)
  const { send, read } = sendTo(service)
  const rejected = (count: number, message: RegExp) => ({
    status: 200,
    body: { partialSuccess: { rejectedSpans: String(count), errorMessage: message } }
  })
  const { traceId, root, child } = family()
  const many = Array.from({ length: 205 }, () => child())
  t.match(
    await send(root, ...many),
    rejected(26, /^26 rejected: spans beyond OTLP_MAX_SPANS, whose last 10% .* \(26 custom; such as span/)
  )
  t.match((await read(traceId)).trace, { status: 'ok', spanCount: 180 })

  const small = child()
  t.match(await send({ ...root, name: 'other' }), rejected(1, /whose id is stored with different content/))
  t.match(
    await send({ ...small, traceId: 'f00' }, { body: 'a log record' }),
    rejected(2, /without a valid trace id.*log records/)
  )
  t.match(await send({ ...small, parentSpanId: 'zz' }), rejected(1, /parent span id/))
  t.match(await send({ ...small, parentSpanId: '', startTimeUnixNano: '0' }), rejected(1, /without a start time/))
  t.match(await send({ ...small, startTimeUnixNano: '9'.repeat(20) }), rejected(1, /out of range/))
  await assertCounted(t, service)
})

t.test(
  'spans beyond 200 count in the trace and are reported; the root and errors are kept; all of it can be moved',
  async t => {
    const service = await testService(t, SMALL)
    const { traceId, root, child } = family()
    const call = { 'gen_ai.operation.name': 'chat', 'gen_ai.usage.input_tokens': 10, 'gen_ai.response.id': 'resp_1' }
    const steps = Array.from({ length: 300 }, () => child())
    const failed = child({ name: 'failed', status: 2, parentSpanId: freshId(16) })
    const calls = Array.from({ length: 30 }, (_, i) => child({ start: i, attributes: call, parentSpanId: freshId(16) }))
    const other = await testService(t, SMALL)
    const batches = [steps.slice(0, 200), steps.slice(150), [...calls, failed], [root]]
    for (const each of batches.slice(0, 2)) await sendTo(service).send(...each)
    const lines = await exportLines(service.database, 'default')
    t.match(
      await testImporter(t, other.database)(1, lines.join('\n')),
      { problems: [] },
      'the data about spans without a slot is moved too'
    )

    for (const each of [service, other]) {
      const { send, read } = sendTo(each)
      for (const batch of [...batches.slice(2), calls]) await send(...batch)
      const { trace, spans } = await read(traceId)
      const { count, kinds } = trace.metadata.spoor.spansLeftOut
      t.equal(trace.spanCount + count, 332)
      t.match(kinds, { custom: 120 })
      t.match(trace, { name: 'root', status: 'ok', usage: { inputTokens: 300 } })
      t.match(spans.filter((span: { status: string }) => span.status === 'error').length, 1)
      await assertCounted(t, each)
    }
    const { text } = await service.call('GET', '/metrics', { key: null })
    t.match(text, /^spoor_refused_spans_total\{reason="too_many"\} \d+$/m)
  }
)

t.test('whatever was stored before an export, each of its spans is readable or counted as rejected', async t => {
  const service = await testService(t, SMALL)
  const { read } = sendTo(service)
  const encodings = {
    json: (spans: object[]) => service.call('POST', PATH, { body: exportOf(...spans) }),
    protobuf: (spans: object[]) =>
      service.call('POST', PATH, { body: toProtobuf(exportOf(...spans)), headers: PROTOBUF })
  }
  // The number of steps stored before, whether the root is stored, and the number of steps that follow.
  const table: [before: number, root: boolean, then: number][] = [
    [0, true, 180],
    [0, true, 199],
    [1, true, 500],
    [99, true, 100],
    [100, false, 300]
  ]
  for (const [name, send] of Object.entries(encodings)) {
    for (const [before, hasRoot, then] of table) {
      const { traceId, root, child } = family()
      const steps = Array.from({ length: before + then }, (_, i) => child({ start: i % 7 }))
      const exports = [
        [...(hasRoot ? [root] : []), ...steps.slice(0, before)],
        steps.slice(before),
        steps,
        ...(hasRoot ? [] : [[root]])
      ].filter(spans => spans.length > 0)
      const said = `${name}: ${before} steps${hasRoot ? ' and the root' : ''}, then ${then}`
      const sent = new Set<string>()
      for (const spans of exports) {
        const { status, body } = await send(spans)
        for (const { spanId } of spans) sent.add(spanId)
        t.equal(status, 200)
        const { trace, spans: stored } = await read(traceId)
        const ids = new Set(stored.map(({ id }: { id: string }) => id))
        const missing = spans.filter(({ spanId }) => !ids.has(spanId)).length
        if (name === 'json') t.equal(Number(body.partialSuccess?.rejectedSpans ?? 0), missing, said)
        t.equal(trace.spanCount, stored.length, said)
        t.equal(stored.length + (trace.metadata.spoor?.spansLeftOut.count ?? 0), sent.size, said)
      }
      t.equal((await read(traceId)).trace.spanCount, Math.min(1 + before + then, hasRoot ? 180 : 181), said)
    }
  }
  await assertCounted(t, service)
  t.match(await service.database.pool.run(sql => recountProject(sql, 'default', false)), { agree: true })
})

t.test('an export that is divided into portions also keeps errors, agents and model calls', async t => {
  const service = await testService(t, SMALL)
  const { send, read } = sendTo(service)
  const { traceId, root, child } = family()
  const call = { 'gen_ai.operation.name': 'chat' }
  const needed = [
    ...Array.from({ length: 40 }, () => child({ attributes: call })),
    ...Array.from({ length: 5 }, () => child({ status: 2 })),
    child({ attributes: { 'langfuse.observation.level': 'ERROR' } }),
    child({ attributes: { 'gen_ai.operation.name': 'invoke_agent' } }),
    root
  ]
  t.match(await send(...Array.from({ length: 1100 }, () => child()), ...needed), {
    body: { partialSuccess: { rejectedSpans: String(1100 + needed.length - 180) } }
  })
  const { trace, spans } = await read(traceId)
  t.match(trace, { spanCount: 180, errorCount: 6 })
  const kept = new Set(spans.map(({ id }: { id: string }) => id))
  t.same(
    needed.filter(({ spanId }) => !kept.has(spanId)),
    []
  )
})

t.test('spans that are not stored contribute failures, session, model and output', async t => {
  const service = await testService(t, SMALL)
  const { send, read } = sendTo(service)
  const { traceId, root, child } = family()
  const failed = Array.from({ length: 230 }, () => child({ status: 2 }))
  const call = child({
    attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'm', 'session.id': 's', 'output.value': 'o' }
  })
  await send(root)
  await send(...failed)
  await send(call, ...failed)
  const { trace, spans } = await read(traceId)
  t.match(trace, { spanCount: 200, errorCount: 230, model: 'm', sessionId: 's', output: 'o' })
  t.match(trace.metadata, { spoor: { spansLeftOut: { count: 32, kinds: { custom: 31, llm: 1 } } } })
  t.equal(spans.length, 200)
  const other = await testService(t, SMALL)
  const lines = await exportLines(service.database, 'default')
  const importTo = await testImporter(t, other.database)
  t.match(await importTo(1, lines.join('\n')), { problems: [] })
  t.match((await sendTo(other).read(traceId)).trace, { spanCount: 200, errorCount: 230 }, 'and is moved with the trace')
  await sendTo(other).send(...failed)
  t.match((await sendTo(other).read(traceId)).trace, { spanCount: 200, errorCount: 230 })
  t.match(await importTo(1, lines.join('\n')), { problems: [] })
  for (const { database } of [service, other])
    t.match(await database.pool.run(sql => recountProject(sql, 'default', false)), { agree: true })
})

t.test('a call that two libraries report counts once, in any exports', async t => {
  const service = await testService(t)
  const { send, read } = sendTo(service)
  const { traceId, root, child } = family()
  const usage = { 'gen_ai.usage.input_tokens': 100, 'gen_ai.usage.output_tokens': 20, 'gen_ai.request.model': 'm' }
  const call = (more: object = {}, given: GivenSpan = {}) => child({ ...given, attributes: { ...usage, ...more } })
  const outer = call({}, { start: 40, end: 50 })
  const step = child({ parentSpanId: outer.spanId })
  const below = call({}, { parentSpanId: step.spanId })
  const answered = call({ 'gen_ai.response.id': 'msg_1' }, { start: 20, end: 30 })
  const raw = call({ 'output.value': '{"id":"msg_abcdef12","content":[]}' }, { parentSpanId: root.spanId })
  const beside = child()
  const again = call({ 'gen_ai.response.id': 'msg_abcdef12' }, { parentSpanId: beside.spanId })
  const twin = call({}, { start: 1, end: 9 })
  const within = call({}, { start: 2, end: 8 })
  for (const spans of [[below], [answered], [root, again], [within], [outer], [raw, twin], [step], [beside]])
    await send(...spans)
  t.match((await read(traceId)).trace, { spanCount: 10, usage: { inputTokens: 400, outputTokens: 80 } })
  await assertCounted(t, service)
  const other = await testService(t)
  const lines = await exportLines(service.database, 'default')
  t.match(
    await testImporter(t, other.database)(1, lines.join('\n')),
    { problems: [] },
    'response ids are moved with the trace'
  )
})

t.test('a span that is too large is cut, its usage counts, and its resend is recognised', async t => {
  const service = await testService(t)
  const { send, read } = sendTo(service)
  const prompt = 'x'.repeat(400_000)
  const attributes = {
    'openinference.span.kind': 'LLM',
    'llm.token_count.prompt': 100_000,
    'input.value': JSON.stringify({ messages: [{ role: 'user', content: prompt }] }),
    'llm.input_messages.0.message.role': 'user',
    'llm.input_messages.0.message.content': `${prompt} and more`
  }
  const large = otlpSpan({ attributes })
  const beside = otlpSpan({ traceId: large.traceId, parentSpanId: large.spanId })
  t.same((await send(large, beside)).body, {})
  const first = await read(large.traceId)
  t.match(first, { trace: { status: 'unset', spanCount: 2, usage: { inputTokens: 100_000 } } })
  const stored = first.spans.find(({ id }: { id: string }) => id === large.spanId)
  t.ok(stored.attributes[TRUNCATED].every(({ bytes }: { bytes: number }) => bytes > 400_000))
  t.same((await send(large)).body, {})
  t.same(await read(large.traceId), first)
  await assertCounted(t, service)
})

t.test('an export of many large spans is stored, with or without gzip', async t => {
  const service = await testService(t)
  const bodies = Array.from({ length: 3 }, () => {
    const { traceId, root, child } = family()
    const input = JSON.stringify([{ role: 'user', content: `${traceId} `.repeat(16_000) }])
    const attributes = { 'input.value': input, 'gen_ai.operation.name': 'chat', 'gen_ai.usage.input_tokens': 3 }
    const spans = Array.from({ length: 19 }, () => child({ attributes }))
    return { traceId, body: JSON.stringify(exportOf(...spans, root)) }
  })
  t.ok(bodies[0]!.body.length > LARGE_BODY_BYTES)
  const answers = bodies.map(({ body }, i) =>
    service.call(
      'POST',
      PATH,
      i % 2 === 0 ? { body } : { body: gzipSync(body), headers: { 'content-encoding': 'gzip' } }
    )
  )
  const small = family()
  t.match(await sendTo(service).send(small.root), ALL_STORED, 'a small one next to them')
  for (const answer of await Promise.all(answers)) t.match(answer, ALL_STORED)
  const { traces } = (await service.call('GET', TRACES)).body
  for (const { traceId } of bodies) {
    const trace = traces.find(({ id }: { id: string }) => id === traceId)
    t.match(trace, { spanCount: 20, status: 'ok', usage: { inputTokens: 57 } })
  }
  await assertCounted(t, service)
})

t.test("responds in the request's encoding, with or without gzip", async t => {
  const service = await testService(t)
  const text = JSON.stringify(exportOf(otlpSpan()))
  const post = (body: string | Uint8Array, headers: Record<string, string>) =>
    service.call('POST', PATH, { body, headers })
  const json = { 'content-type': 'application/json' }
  for (const headers of [json, { 'content-type': 'application/json; charset=utf-8' }, {}]) {
    const answer = await post(text, headers)
    t.match(answer, { status: 200, text: '{}', headers: { 'content-type': 'application/json' } })
  }
  t.match(await post(gzipSync(text), { ...json, 'content-encoding': 'gzip' }), ALL_STORED)
  t.match(await post('', PROTOBUF), { status: 200, text: '', headers: PROTOBUF }, 'no spans, no bytes')
  // Field 1 (ResourceSpans) > field 2 (ScopeSpans) > field 2 (an empty Span).
  const refused = await post(Buffer.from('0a0412021200', 'hex'), PROTOBUF)
  t.match(refused, { status: 200, headers: PROTOBUF, text: /1 rejected: spans without a valid trace id/ })
  t.match(await post('{"resourceSpans":[]}', json), ALL_STORED, 'a request without spans')
})

t.test('rejects an export as a whole only if it is unreadable or not allowed', async t => {
  const service = await testService(t)
  const { key: reader } = await service.makeKey({ scopes: ['traces:read'] })
  const json = { 'content-type': 'application/json' }
  const within = (span: object) => JSON.stringify(exportOf({ ...otlpSpan(), ...span }))
  const cases: [string, string | Uint8Array, Record<string, string>, number, string, RegExp?][] = [
    ['no JSON', '{"resourceSpans":', json, 400, 'invalid_json'],
    ['an empty body', '', json, 400, 'invalid_json'],
    ['JSON as protobuf', '{"resourceSpans":[]}', PROTOBUF, 400, 'invalid_request', /body: is not a protobuf/],
    ['a truncated message', Buffer.from('0a0a1202', 'hex'), PROTOBUF, 400, 'invalid_request'],
    ['an array', '[]', json, 400, 'invalid_request', /^body: must be an object/],
    ['no list', '{"resourceSpans":{}}', json, 400, 'invalid_request', /^resourceSpans: must be an array/],
    ['an invalid name', within({ name: 7 }), json, 400, 'invalid_request', /spans\[0\].name: must be a string/],
    ['an invalid time', within({ endTimeUnixNano: 'now' }), json, 400, 'invalid_request', /nanoseconds/],
    ['an invalid count', within({ flags: 'x' }), json, 400, 'invalid_request', /flags: must be a whole number/],
    [
      'an invalid value',
      within({ attributes: [{ key: 'k', value: 7 }] }),
      json,
      400,
      'invalid_request',
      /must be an object/
    ],
    [
      'an invalid number',
      within({ attributes: [{ key: 'k', value: { intValue: 'x' } }] }),
      json,
      400,
      'invalid_request'
    ],
    ['too many bytes', 'x'.repeat(MAX_EXPORT_BYTES + 1), json, 413, 'payload_too_large'],
    [
      'a bomb',
      gzipSync(Buffer.alloc(MAX_EXPORT_BYTES + 1), { level: 1 }),
      { ...json, 'content-encoding': 'gzip' },
      413,
      'payload_too_large'
    ],
    [
      'too many spans',
      `{"resourceSpans":[{"scopeSpans":[{"spans":[${'{},'.repeat(500_000)}{}]}]}]}`,
      json,
      413,
      'payload_too_large',
      /500000 spans/
    ],
    ['too many attributes', tooMany(), PROTOBUF, 413, 'payload_too_large', /500000 spans/],
    ['another encoding', 'x', { ...json, 'content-encoding': 'zstd' }, 415, 'unsupported_encoding']
  ]
  for (const [title, body, headers, status, code, message = /./] of cases) {
    const answer = await service.call('POST', PATH, { body, headers })
    // The response to a protobuf request contains the error as protobuf, which test/plugins/otlp/errors.test.ts parses.
    const told = headers === PROTOBUF ? { headers: PROTOBUF, text: message } : { body: { error: { code, message } } }
    t.match(answer, { status, ...told }, title)
  }
  t.match(await service.call('POST', PATH, { body: exportOf(), key: null }), { status: 401 })
  t.match(await service.call('POST', PATH, { body: exportOf(), key: reader }), { status: 403 })
  t.match(await service.call('GET', PATH), { status: 405 })
  // This route accepts a body beyond the limit of the other routes.
  const wide = Array.from({ length: 5 }, () => otlpSpan({ attributes: { text: 'x'.repeat(600_000) } }))
  t.match(await service.call('POST', PATH, { body: exportOf(...wide) }), ALL_STORED)
})

/** Returns an export with more than half a million empty attributes, each of two bytes, in one span. */
function tooMany(): Buffer {
  const wrap = (tag: number, bytes: Buffer) => Buffer.concat([Buffer.from([tag]), varint(bytes.length), bytes])
  return wrap(0x0a, wrap(0x12, wrap(0x12, Buffer.from('4a00'.repeat(500_001), 'hex'))))
}

function varint(number: number): Buffer {
  const bytes: number[] = []
  for (let rest = number; rest > 0; rest >>>= 7) bytes.push((rest & 127) | (rest > 127 ? 128 : 0))
  return Buffer.from(bytes)
}

t.test('a trace belongs to the route on which it began', async t => {
  const service = await testService(t)
  const { send, read } = sendTo(service)
  const { traceId, root, child } = family()
  await send(child())
  const conflict = { status: 409, body: { error: { code: 'trace_id_conflict' } } }
  t.match(await service.call('POST', TRACES, { body: ingestBody({ id: traceId }) }), conflict)
  t.match(await service.call('POST', `${TRACES}/${traceId}/spans`, { body: spansBody(nativeSpan()) }), conflict)
  t.match(await service.call('POST', `${TRACES}/${traceId}/end`, { body: endBody() }), conflict)
  await send(root)
  const finished = { status: 409, body: { error: { code: 'trace_finished', message: /recorded by OpenTelemetry/ } } }
  t.match(await service.call('POST', TRACES, { body: ingestBody({ id: traceId }) }), conflict)
  t.match(await service.call('POST', `${TRACES}/${traceId}/spans`, { body: spansBody(nativeSpan()) }), finished)
  t.match(await service.call('POST', `${TRACES}/${traceId}/end`, { body: endBody() }), finished)
  t.match((await read(traceId)).trace, { name: 'root', spanCount: 2 })

  for (const body of [startBody(), ingestBody()]) {
    await service.call('POST', TRACES, { body })
    const answer = await send(otlpSpan({ traceId: body.trace.id }))
    t.match(answer.body.partialSuccess, { rejectedSpans: '1', errorMessage: /not recorded by OpenTelemetry/ })
  }
  const { key: staging } = await service.makeKey({ environment: 'staging' })
  const elsewhere = await service.call('POST', PATH, { key: staging, body: exportOf(child()) })
  t.match(elsewhere.body.partialSuccess, { rejectedSpans: '1', errorMessage: /a different environment/ })
  const ours = otlpSpan()
  await service.call('POST', PATH, { key: staging, body: exportOf(ours) })
  t.match((await read(ours.traceId)).trace, { environment: 'staging' })
})

t.test('is scored, patched, deleted and moved like any other trace', async t => {
  const service = await testService(t)
  const { send, read } = sendTo(service)
  const { traceId, root, child } = family()
  await send(child({ attributes: { metadata: '{"tier":"silver","plan":1}' } }))
  const score = { name: 'good', dataType: 'boolean', value: true }
  t.match(await service.call('POST', `${TRACES}/${traceId}/scores`, { body: score }), { status: 201 })
  await service.call('PATCH', `${TRACES}/${traceId}`, { body: { metadata: { tier: 'patched' } } })

  const other = await testService(t)
  const lines = await exportLines(service.database, 'default')
  t.match(await testImporter(t, other.database)(1, lines.join('\n')), { problems: [] })

  for (const each of [service, other]) {
    const { send, read } = sendTo(each)
    const late = { ...root, attributes: child({ attributes: { metadata: '{"tier":"gold","team":"ops"}' } }).attributes }
    t.match(await send(late), ALL_STORED)
    const { trace, scores } = await read(traceId)
    t.match(trace, { name: 'root', status: 'ok', metadata: { tier: 'patched', plan: 1, team: 'ops' }, spanCount: 2 })
    t.match(scores, [{ name: 'good' }])
  }
  t.match(await service.call('DELETE', `${TRACES}/${traceId}`), { status: 200 })
  await assertCounted(t, service)
  t.match(await send(child()), ALL_STORED, 'spans that arrive after a deletion start a new trace')
  t.match((await read(traceId)).trace, { spanCount: 1 })
})

t.test('a trial account records its allotted traces', async t => {
  const service = await testService(t, { config: { trialTraces: 2 } })
  const key = await service.database.pool.run(async sql => {
    const { id } = await createAccount(sql, 'guest', 'trial')
    await createProject(sql, service.config.storageLimitBytes, { name: 'one', slug: 'one', accountId: id })
    return (await service.makeKey({ project: 'one' })).key
  })
  const send = (...spans: object[]) => service.call('POST', PATH, { key, body: exportOf(...spans) })
  const { root, child } = family()
  t.match(await send(child()), ALL_STORED)
  t.match(await send(root), ALL_STORED, 'an existing trace is not charged again')
  const both = await send(otlpSpan(), child(), otlpSpan())
  t.match(both.body.partialSuccess, {
    rejectedSpans: '1',
    errorMessage: /traces beyond the trial account's limit/
  })
  t.match(await send(otlpSpan()), { status: 403, body: { error: { code: 'trial_limit_reached' } } })
})

t.test('a database failure makes exporters retry, and nothing is stored twice', async t => {
  const database = await testDatabase(t)
  const relay = await testRelay(t, database.target)
  const service = await testService(t, { database, view: { connect: relay.connect } })
  const { send, read } = sendTo(service)
  const { traceId, root, child } = family()
  const spans = [child(), root]
  t.match(await send(child()), ALL_STORED)
  relay.cut()
  const answer = await send(...spans)
  t.match(answer, { status: 429, headers: { 'retry-after': /^\d+$/ } })
  relay.mend()
  t.match(await send(...spans), ALL_STORED)
  t.match((await read(traceId)).trace, { name: 'root', spanCount: 3 })
})
