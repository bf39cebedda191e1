import t from 'tap'
import { AT, endBody, ingestBody, LATER, span, spansBody, startBody, traceId } from '../../fixtures/bodies/bodies.ts'
import { testService } from '../../fixtures/service/service.ts'

const TRACES = '/api/v1/traces'

t.test('recording over HTTP', async t => {
  const { call, makeKey, makeProject } = await testService(t)
  const { projectId } = await makeKey()
  const record = (body: unknown) => call('POST', TRACES, { body })
  const append = (id: string, ...spans: object[]) =>
    call('POST', `${TRACES}/${id}/spans`, { body: spansBody(...spans) })
  const end = (id: string, over: object = {}) => call('POST', `${TRACES}/${id}/end`, { body: endBody(over) })
  const read = async (id: string) => (await call('GET', `${TRACES}/${id}`)).body
  const start = async (over: object = {}) => {
    const body = startBody(over)
    t.match(await record(body), { status: 201, body: { running: true } })
    return body.trace.id
  }
  const refused = (status: number, code: string, message: RegExp = /./) => ({
    status,
    body: { error: { code, message } }
  })

  await t.test('responds with exactly the fields that the specification lists', async t => {
    const first = span()
    const bodies = [ingestBody({ spans: [first] }), startBody({ spans: [first] })]
    for (const [body, running] of [
      [bodies[0]!, false],
      [bodies[1]!, true]
    ] as const) {
      const { id } = body.trace
      const recorded = await record(body)
      const fixed = { ok: true, traceId: id, projectId, spanCount: 1, running }
      const requestId = recorded.headers['x-request-id']
      t.strictSame([recorded.status, recorded.body], [201, { ...fixed, duplicate: false, requestId }])
      const again = await record(body)
      t.strictSame(
        [again.status, again.body],
        [200, { ...fixed, duplicate: true, requestId: again.headers['x-request-id'] }]
      )
    }
    const { id } = bodies[1]!.trace
    const appended = await append(id.toUpperCase(), first, span(), span())
    const counts = { added: 2, duplicate: 1, spanCount: 3 }
    const about = (answer: { headers: Record<string, unknown> }) => ({
      traceId: id,
      requestId: answer.headers['x-request-id']
    })
    t.strictSame([appended.status, appended.body], [200, { ok: true, ...counts, ...about(appended) }])
    for (const duplicate of [false, true]) {
      const ended = await end(id.toUpperCase())
      t.strictSame([ended.status, ended.body], [200, { ok: true, duplicate, spanCount: 3, ...about(ended) }])
    }
  })

  await t.test(
    'a resend is a duplicate at any later time, with the current span count, and writes nothing',
    async t => {
      const body = startBody({ metadata: { a: 1 }, tags: ['x'] })
      const { id } = body.trace
      await record(body)
      for (const [step, spanCount] of [
        [() => append(id, span(), span()), 2],
        [() => call('PATCH', `${TRACES}/${id}`, { body: { metadata: { a: 2 } } }), 2],
        [() => end(id, { tags: ['y'], metadata: { b: 1 }, spans: [span()] }), 3]
      ] as const) {
        t.match(await step(), { status: 200 })
        const before = await read(id)
        const answer = { ok: true, duplicate: true, running: true, spanCount }
        t.match(await record({ ...body, trace: { ...body.trace, id: id.toUpperCase() } }), {
          status: 200,
          body: answer
        })
        t.strictSame(await read(id), before)
        t.match(await record(ingestBody({ id })), refused(409, 'trace_id_conflict'))
        t.match(await record(startBody({ id, metadata: { a: 2 } })), refused(409, 'trace_id_conflict'))
      }
    }
  )

  await t.test('an end replaces the values that it sends, keeps the others, and merges metadata and tags', async t => {
    const given = {
      provider: 'p',
      model: 'm',
      output: 1,
      usage: { inputTokens: 5 },
      costUsd: 1,
      sessionId: 's',
      input: 'i'
    }
    const id = await start({ ...given, tags: ['a', 'b'], metadata: { a: { x: 1 }, b: 2 } })
    t.match(await read(id), {
      trace: { status: 'running', endedAt: null, durationMs: null, ...given, usage: { totalTokens: 5 } }
    })
    const sent = {
      status: 'error',
      provider: 'P',
      output: null,
      usage: { outputTokens: 7 },
      tags: ['b', 'c'],
      metadata: { a: { y: 1 } }
    }
    t.match(await end(id, sent), { status: 200 })
    const { trace } = await read(id)
    t.match(trace, {
      status: 'error',
      startedAt: AT,
      endedAt: LATER,
      durationMs: 1500,
      provider: 'P',
      model: 'm',
      costUsd: 1
    })
    t.match(trace, { output: null, input: 'i', sessionId: 's', metadataUpdatedAt: null })
    t.strictSame(trace.usage, { inputTokens: 0, outputTokens: 7, totalTokens: 7 })
    t.strictSame([trace.tags, trace.metadata], [['a', 'b', 'c'], { a: { y: 1 }, b: 2 }])
    const unset = await start()
    await end(unset)
    t.match(await read(unset), { trace: { status: 'unset', endedAt: LATER } })
  })

  await t.test('an end is identical by content, not by notation', async t => {
    const one = span()
    const id = await start({ metadata: { a: 1 } })
    t.match(await end(id, { spans: [one], tags: ['x', 'x'], usage: {}, metadata: { a: 1, b: 2 } }), { status: 200 })
    const same = {
      endedAt: '2026-11-21T13:00:01.5+01:00',
      status: 'unset',
      tags: ['x'],
      metadata: { b: 2, a: 1 },
      usage: {}
    }
    t.match(await end(id, { ...same, spans: [{ ...one, kind: 'custom' }] }), {
      status: 200,
      body: { duplicate: true, spanCount: 1 }
    })
    for (const other of [{}, { ...same }, { ...same, spans: [one], status: 'ok' }, { ...same, spans: [one, span()] }]) {
      t.match(await end(id, other), refused(409, 'trace_finished'))
    }
  })

  await t.test('appends and ends are rejected as tables 4.5 and 4.6 specify, and then nothing is written', async t => {
    const known = span()
    const id = await start({ spans: [known], tags: Array.from({ length: 19 }, (_, i) => `t${i}`) })
    const other = { ...known, name: 'another' }
    const before = await read(id)
    for (const [claim, answer, expected] of [
      ['an empty batch', await append(id), refused(400, 'invalid_trace', /^spans: /)],
      [
        'another version',
        await call('POST', `${TRACES}/${id}/spans`, { body: { ...spansBody(span()), schemaVersion: 2 } }),
        refused(400, 'invalid_trace', /^schemaVersion: /)
      ],
      [
        'an end with another version',
        await call('POST', `${TRACES}/${id}/end`, { body: { endedAt: LATER } }),
        refused(400, 'invalid_trace', /^schemaVersion: /)
      ],
      ['broken JSON', await call('POST', `${TRACES}/${id}/spans`, { body: '{' }), refused(400, 'invalid_json')],
      ['an invalid end', await call('POST', `${TRACES}/${id}/end`, { body: '' }), refused(400, 'invalid_json')],
      ['other content', await append(id, span(), other), refused(409, 'span_conflict')],
      [
        'different content in one batch',
        await append(id, { ...other, id: 'A'.repeat(16) }, { ...known, id: 'a'.repeat(16) }),
        refused(409, 'span_conflict')
      ],
      ['different content in an end', await end(id, { spans: [span(), other] }), refused(409, 'span_conflict')],
      [
        'an early end',
        await end(id, { endedAt: '2026-11-21T11:59:59.999999Z' }),
        refused(400, 'invalid_trace', /^endedAt: /)
      ],
      ['too many tags', await end(id, { tags: ['t0', 'x', 'y'] }), refused(400, 'invalid_trace', /^tags: .*21/)]
    ] as const) {
      t.match(answer, expected, claim)
    }
    t.strictSame(await read(id), before)
    t.match(await append(id, known, known), { status: 200, body: { added: 0, duplicate: 2, spanCount: 1 } })
    const twice = span()
    t.match(await append(id, twice, twice), { status: 200, body: { added: 1, duplicate: 1, spanCount: 2 } })
    t.match(
      await end(id, { endedAt: AT, tags: ['t0', 'x'] }),
      { status: 200, body: { duplicate: false } },
      '20 tags, at once'
    )
    t.match(await append(id, known), refused(409, 'trace_finished'), 'even if nothing would be written')
    t.match(await read(id), { trace: { durationMs: 0 } })
    const complete = ingestBody()
    await record(complete)
    t.match(await end(complete.trace.id), refused(409, 'trace_finished', /was recorded complete/))
    t.match(await append(complete.trace.id, span()), refused(409, 'trace_finished', /was recorded complete/))
  })

  await t.test('ids belong to a project', async t => {
    const id = await start()
    await makeProject('other')
    const { key } = await makeKey({ project: 'other' })
    for (const path of [`${TRACES}/${id}`, `${TRACES}/${traceId()}`, `${TRACES}/x`, `${TRACES}/${id}0`]) {
      t.match(await call('POST', `${path}/spans`, { key, body: spansBody(span()) }), refused(404, 'not_found'))
      t.match(await call('POST', `${path}/end`, { key, body: endBody() }), refused(404, 'not_found'))
    }
    t.match(
      await call('POST', TRACES, { key, body: ingestBody({ id }) }),
      { status: 201 },
      'the same id is free in another project'
    )
    t.match(await read(id), { trace: { status: 'running' } })
  })

  await t.test('a span can arrive before its parent, and spans are read in order of their start', async t => {
    const id = await start()
    const late = span({ id: 'b'.repeat(16), startedAt: LATER, parentSpanId: 'f'.repeat(16) })
    const [tied, first] = [span({ id: 'e'.repeat(16) }), span({ id: 'c'.repeat(16) })]
    await append(id, late, tied)
    await append(id, first)
    const { spans } = await read(id)
    t.strictSame(spans.map((each: { id: string }) => each.id[0]).join(''), 'ceb')
    t.match(spans[2], {
      parentSpanId: 'f'.repeat(16),
      traceId: id,
      kind: 'custom',
      status: 'unset',
      usage: null,
      costUsd: null
    })
  })

  await t.test('a streamed trace reads the same as one recorded at once', async t => {
    const spans = [span({ status: 'error', input: 'é' }), span({ usage: { inputTokens: 1 } }), span({ costUsd: 1e-7 })]
    const whole = {
      status: 'error',
      provider: 'p',
      model: 'm😀',
      output: { o: ['"', 1e21] },
      usage: { outputTokens: 3 },
      costUsd: 0.1,
      metadata: { a: 1, b: { c: 'é' }, d: [] },
      tags: ['x', 'é', '"'],
      endedAt: LATER
    }
    const body = ingestBody({ ...whole, input: 'i', sessionId: 's', spans })
    t.match(await record(body), { status: 201 })
    const begun = { input: 'i', sessionId: 's', provider: 'before', output: 'before', usage: { inputTokens: 9 } }
    const id = await start({ ...begun, metadata: { a: 0, b: { c: 'é' } }, tags: ['x', 'é'], spans: spans.slice(0, 1) })
    t.match(await append(id, spans[1]!), { status: 200 })
    t.match(await call('PATCH', `${TRACES}/${id}`, { body: { metadata: { a: { patched: true } } } }), { status: 200 })
    t.match(await end(id, { ...whole, metadata: { a: 1, d: [] }, spans: spans.slice(2) }), { status: 200 })
    const [once, streamed] = [await read(body.trace.id), await read(id)]
    for (const key of ['id', 'ingestedAt', 'bodyHash', 'metadataUpdatedAt']) {
      t.not(streamed.trace[key], once.trace[key])
      streamed.trace[key] = once.trace[key]
    }
    for (const each of streamed.spans) each.traceId = body.trace.id
    t.strictSame(streamed, once)
  })
})
