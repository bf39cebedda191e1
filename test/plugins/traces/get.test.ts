import t from 'tap'
import { checker } from '../../../lib/schema/check.ts'
import { TraceDetail } from '../../../lib/schema/output.ts'
import { AT, ingestBody, LATER, span, spanId, spansBody, startBody, traceId } from '../../fixtures/bodies/bodies.ts'
import { testService } from '../../fixtures/service/service.ts'

t.test('GET /api/v1/traces/{traceId}', async t => {
  const { call, makeKey, makeProject } = await testService(t)
  const record = async (body: unknown) => {
    t.equal((await call('POST', '/api/v1/traces', { body })).status, 201)
  }
  const get = (id: string, key?: string) => call('GET', `/api/v1/traces/${id}`, key === undefined ? {} : { key })

  await t.test('returns a recorded trace in the form of the specification', async t => {
    const parent = spanId()
    const body = ingestBody({
      name: 'run',
      status: 'ok',
      provider: 'p',
      model: 'm',
      sessionId: 's',
      userId: 'u',
      tags: ['x', 'x', 'y'],
      input: { question: '?' },
      output: ['!'],
      metadata: { '': 1 },
      usage: { inputTokens: 3, outputTokens: 4 },
      costUsd: 0.25,
      spans: [
        span({ id: parent, name: 'first', kind: 'agent', status: 'error', usage: { totalTokens: 9 } }),
        span({
          parentSpanId: parent.toUpperCase(),
          name: 'second',
          startedAt: LATER,
          events: [{ name: 'e', timestamp: '2026-11-21 12:00:00' }]
        })
      ]
    })
    await record(body)
    const { status, body: detail } = await get(body.trace.id.toUpperCase())
    t.equal(status, 200)
    t.ok(checker(TraceDetail).check(detail))
    t.match(detail, {
      trace: {
        id: body.trace.id,
        environment: null,
        startedAt: AT,
        endedAt: LATER,
        durationMs: 1500,
        tags: ['x', 'y'],
        input: { question: '?' },
        output: ['!'],
        metadata: { '': 1 },
        usage: { inputTokens: 3, outputTokens: 4, totalTokens: 7 },
        spanCount: 2,
        errorCount: 1,
        metadataUpdatedAt: null,
        bodyHash: /^[0-9a-f]{64}$/,
        scores: {}
      },
      spans: [
        { id: parent, name: 'first', usage: { inputTokens: 0, outputTokens: 0, totalTokens: 9 }, events: [] },
        {
          name: 'second',
          parentSpanId: parent,
          usage: null,
          attributes: {},
          durationMs: 0,
          events: [{ name: 'e', timestamp: AT, attributes: null }]
        }
      ],
      scores: []
    })
    const list = await call('GET', '/api/v1/traces')
    const { input, output, metadata, metadataUpdatedAt, bodyHash, ...summary } = detail.trace
    t.strictSame(list.body.traces, [summary], 'and its summary in the list is the same')
  })

  await t.test('preserves JSON that doubles and parsers would change', async t => {
    const id = traceId()
    const raw = '{"n":12345678901234567890,"e":1e400,"__proto__":{"x":"\\u0000\\ud800"},"":[]}'
    const fields = `"id":"${id}","name":"raw","startedAt":"${AT}","endedAt":"${AT}","input":${raw},"metadata":${raw}`
    await record(`{"schemaVersion":1,"trace":{${fields}}}`)
    const { text } = await get(id)
    t.ok(text.includes(`"input":${raw}`))
    t.ok(text.includes(`"metadata":${raw}`))
  })

  await t.test('shows a running trace with the spans that have arrived', async t => {
    const body = startBody()
    await record(body)
    const sent = [span(), span()]
    await call('POST', `/api/v1/traces/${body.trace.id}/spans`, { body: spansBody(...sent) })
    const { body: detail } = await get(body.trace.id)
    t.match(detail.trace, { status: 'running', endedAt: null, durationMs: null, spanCount: 2 })
    t.strictSame(
      detail.spans.map((each: { id: string }) => each.id),
      sent.map(each => each.id).sort()
    )
  })

  await t.test('returns a long trace as it was sent, in any script, with its length', async t => {
    const [raw, small] = ['{"n":12345678901234567890,"e":1e400,"u":"\\u0000\\ud800"}', 'Ünïcödé 漢字 🎉']
    const body = startBody({ input: small.repeat(1000) })
    const { id } = body.trace
    await record(body)
    const sent = [6000, 1, 5000, 150, 7000].map(times => ({ ...span(), input: small.repeat(times) }))
    for (const each of sent) {
      const text = JSON.stringify(spansBody({ ...each, output: 'RAW' })).replace('"RAW"', raw)
      t.equal((await call('POST', `/api/v1/traces/${id}/spans`, { body: text })).status, 200)
    }
    const { text, body: detail, headers } = await get(id)
    t.ok(Buffer.byteLength(text) > 300_000)
    t.equal(headers['content-length'], String(Buffer.byteLength(text)))
    t.equal(detail.trace.input, body.trace.input)
    const inputs = new Map(sent.map(({ id, input }) => [id, input]))
    for (const { id, input } of detail.spans) t.equal(input, inputs.get(id))
    t.equal(text.split(raw).length, 6, 'free JSON is unchanged')
    const head = await call('HEAD', `/api/v1/traces/${id}`)
    t.same([head.status, head.headers['content-length'], head.text], [200, headers['content-length'], ''])
  })

  await t.test('never sees a partial write of another request, of short or long traces', async t => {
    for (const input of ['short', 'x'.repeat(300_000)]) {
      const body = startBody({ input })
      const { id } = body.trace
      await record(body)
      let writing = true
      const write = async () => {
        for (let i = 0; i < 20; i++) {
          const answer = await call('POST', `/api/v1/traces/${id}/spans`, { body: spansBody(span(), span(), span()) })
          t.equal(answer.status, 200)
        }
        writing = false
      }
      const read = async () => {
        while (writing) {
          const { trace, spans } = (await get(id)).body
          t.strictSame([spans.length, spans.length % 3], [trace.spanCount, 0])
        }
      }
      await Promise.all([write(), read(), read()])
    }
  })

  await t.test('responds with 404 if the project has no such trace', async t => {
    const body = ingestBody()
    await record(body)
    await makeProject('other')
    const { key } = await makeKey({ project: 'other' })
    for (const answer of [await get(traceId()), await get('nonsense'), await get(body.trace.id, key)]) {
      t.match(answer, { status: 404, body: { error: { code: 'not_found' } } })
    }
  })
})
