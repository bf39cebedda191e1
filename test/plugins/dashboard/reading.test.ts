/** Tests that the dashboard reads the same responses as the API, and that a trace's page reads them in pieces. */
import { createHash } from 'node:crypto'
import t from 'tap'
import { ingestBody, span, spansBody, startBody, traceId } from '../../fixtures/bodies/bodies.ts'
import { exportOf, otlpSpan } from '../../fixtures/bodies/otlp.ts'
import { signedIn } from '../../fixtures/service/people.ts'
import { type Answer, testService } from '../../fixtures/service/service.ts'

const service = await testService(t)
const { call } = service
const { ask } = await signedIn(service, 'viewer@example.com', 'viewer')
const P = 'p/default'

const invalid = (message: RegExp) => ({ status: 400, body: { error: { code: 'invalid_request', message } } })

/** Records a trace with unusual JSON, two spans and a score. */
async function recordTrace(more: object = {}) {
  const odd = '{"b":1,"a":107505301260286111,"__proto__":1e400,"c":-0.0,"d":"\\u0000\\ud800"}'
  const spans = [
    span({ name: 'first', input: '@', output: [1], attributes: { k: 'v' } }),
    span({ name: 'second', events: [{ name: 'e', timestamp: '2026-11-21T12:00:00Z' }] })
  ]
  const body = ingestBody({ name: 'odd', input: '@', model: 'm', tags: ['t'], spans, ...more })
  const text = JSON.stringify(body).replaceAll('"@"', odd)
  t.equal((await call('POST', '/api/v1/traces', { body: text })).status, 201)
  const score = { name: 'quality', dataType: 'numeric', value: 0.5 }
  await call('POST', `/api/v1/traces/${body.trace.id}/scores`, { body: score })
  return { id: body.trace.id, spans, odd }
}

const digestOf = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 8)

/** Returns a response without the request's id and the names of parameters, of which the dashboard has more. */
const plain = ({ status, text }: Answer) => [
  status,
  text.replace(/"requestId":"\w+"/, '').replace(/(?<=unknown parameter);[^"]*/, '')
]

t.test('lists, details and refusals equal those of the API, byte for byte', async t => {
  const { id } = await recordTrace()
  await recordTrace({ sessionId: 's/1', userId: 'u', status: 'error' })
  const queries = ['', '?status=error', '?sort=slowest&model=m&userId=u', '?sessionId=s%2F1', '?tag=t&tag=t&name=odd']
  const wrong = ['?colour=red', '?limit=201', '?score=x', '?after=x', '?name=', '?from=yesterday', '?name=%00']
  for (const query of wrong) {
    t.same(plain(await ask('GET', `${P}/traces${query}`)), plain(await call('GET', `/api/v1/search${query}`)), query)
  }
  for (const query of queries) {
    const { prevCursor, details, metadata, ...page } = (await ask('GET', `${P}/traces${query}`)).body
    t.same(page, (await call('GET', `/api/v1/search${query}`)).body, query)
    t.same([prevCursor, details, metadata], [null, {}, {}], query)
  }
  for (const query of ['', '?name=quality&limit=1', '?limit=x']) {
    t.same(plain(await ask('GET', `${P}/scores${query}`)), plain(await call('GET', `/api/v1/scores${query}`)), query)
  }
  for (const each of [id, traceId(), 'x', `${id}0`]) {
    t.same(plain(await ask('GET', `${P}/traces/${each}`)), plain(await call('GET', `/api/v1/traces/${each}`)), each)
  }
  const download = await ask('GET', `${P}/traces/${id}?download=1`)
  t.equal(download.text, (await call('GET', `/api/v1/traces/${id}`)).text)
  t.equal(download.headers['content-disposition'], `attachment; filename="spoor-default-trace-${id}.json"`)
})

t.test('existing traces are returned by their ids', async t => {
  const [one, other] = [await recordTrace(), await recordTrace()]
  const { body } = await ask('GET', `${P}/traces?ids=${one.id.toUpperCase()},${traceId()},${other.id}`)
  const all = (await call('GET', '/api/v1/search')).body.traces
  const expected = all.filter(({ id }: { id: string }) => [one.id, other.id].includes(id))
  t.match(body, { traces: expected, nextCursor: null, prevCursor: null, pageSize: 50 })
  t.equal(body.traces.length, 2)
  t.match(await ask('GET', `${P}/traces?ids=${one.id}&limit=5`), invalid(/^limit: cannot be combined with `ids`$/))
  t.match(await ask('GET', `${P}/traces?ids=${one.id},`), invalid(/^ids: must be ids of 32 hexadecimal/))
  t.match(await ask('GET', `${P}/traces?ids=${Array(51).fill(one.id)}`), invalid(/^ids: must be at most 50$/))
})

t.test("the outline has sizes instead of the detail's texts, and is otherwise the same", async t => {
  const { id, odd } = await recordTrace()
  const detail = (await call('GET', `/api/v1/traces/${id}`)).body
  const { version, trace, spans, scores, ...others } = (await ask('GET', `${P}/traces/${id}/outline`)).body
  t.same(others, { nextAfter: null })
  const { input: _, output: __, ...rest } = detail.trace
  t.same(trace, { ...rest, inputBytes: Buffer.byteLength(odd), outputBytes: 0 })
  t.same(
    spans,
    // biome-ignore lint/suspicious/noExplicitAny: responses differ.
    detail.spans.map(({ input, output, attributes, events, ...head }: any) => {
      const size = (value: unknown) => (value === null ? 0 : Buffer.byteLength(JSON.stringify(value)))
      const inputBytes = head.name === 'first' ? Buffer.byteLength(odd) : size(input)
      const attributesBytes = Object.keys(attributes).length === 0 ? 0 : size(attributes)
      return {
        ...head,
        inputBytes,
        outputBytes: size(output),
        attributesBytes,
        eventCount: events.length,
        computedCost: null,
        tokenDetails: null,
        inputDigest: head.name === 'first' ? digestOf(odd) : null
      }
    })
  )
  t.same(scores, [{ ...detail.scores[0], author: null, own: false }])
  t.type(version, 'string')
})

t.test("a long trace's outline has pages", async t => {
  const id = traceId()
  const spans = Array.from({ length: 5003 }, (_, i) => otlpSpan({ traceId: id, start: i }))
  t.equal((await call('POST', '/api/v1/otlp/v1/traces', { body: exportOf(...spans) })).status, 200)
  const path = `${P}/traces/${id}/outline`
  const first = (await ask('GET', path)).body
  const sent = spans.map(({ spanId }) => spanId)
  const idsOf = (page: { spans: { id: string }[] }) => page.spans.map(({ id }) => id)
  t.same(idsOf(first), sent.slice(0, 5000))
  t.equal(first.nextAfter, sent[4999])
  const { spans: rest, nextAfter, ...others } = (await ask('GET', `${path}?after=${first.nextAfter}`)).body
  t.same(idsOf({ spans: rest }), sent.slice(5000))
  t.equal(nextAfter, null)
  t.same({ ...others, spans: first.spans, nextAfter: first.nextAfter }, first, 'the rest is the same on each page')
  t.match((await ask('GET', `${path}?after=${'9'.repeat(16)}`)).body, { spans: [], nextAfter: null })
  t.match(await ask('GET', `${path}?after=9`), invalid(/^after: must be 16 hexadecimal/))
  const short = (await ask('GET', `${path}?limit=3`)).body
  t.same([idsOf(short), short.nextAfter], [sent.slice(0, 3), sent[2]], 'shorter pages on request')
  t.same(idsOf((await ask('GET', `${path}?limit=2&after=${sent[2]}`)).body), sent.slice(3, 5))
  for (const limit of ['0', '5001', 'x']) t.match(await ask('GET', `${path}?limit=${limit}`), invalid(/^limit: /))
})

t.test('outline pages have the sizes of texts that were packed together, wherever a page begins', async t => {
  const inputOf = (i: number) => (i % 2 === 0 ? `${i} ü` : `${i} `.repeat(4000))
  const spans = Array.from({ length: 30 }, (_, i) => span({ name: `${i}`, input: inputOf(i), output: { i } }))
  const { id } = await recordTrace({ spans })
  const path = `${P}/traces/${id}/outline`
  const { spans: all } = (await ask('GET', path)).body
  t.equal(all.length, 30)
  for (const { name, inputDigest } of all) {
    t.equal(inputDigest, Number(name) % 2 === 0 ? digestOf(JSON.stringify(inputOf(Number(name)))) : null, name)
  }
  for (const query of ['', '&limit=7', '&limit=5000']) {
    const { status, body } = await ask('GET', `${path}?after=${all[9].id}${query}`)
    t.equal(status, 200, query)
    t.same(body.spans, all.slice(10, query === '&limit=7' ? 17 : 30), query)
  }
  t.same((await ask('GET', `${path}?limit=10`)).body.spans, all.slice(0, 10))
})

t.test('the outline reports when nothing has changed', async t => {
  const body = startBody()
  await call('POST', '/api/v1/traces', { body })
  const path = `${P}/traces/${body.trace.id}/outline`
  const { version } = (await ask('GET', path)).body
  const known = `${path}?version=${encodeURIComponent(version)}`
  t.equal((await ask('GET', known)).text, '{"unchanged":true}')
  await call('POST', `/api/v1/traces/${body.trace.id}/spans`, { body: spansBody(span({ name: 'new' })) })
  const next = (await ask('GET', known)).body
  t.match(next, { spans: [{ name: 'new' }] })
  t.not(next.version, version)
  t.match(await ask('GET', `${P}/traces/${traceId()}/outline?version=${version}`), { status: 404 })
  t.match(await ask('GET', `${path}?version=`), invalid(/^version: must not be empty$/))
  t.match(await ask('GET', `${path}?other=1`), invalid(/^other: unknown parameter; /))
})

t.test('a single span, and all texts, equal those in the detail', async t => {
  // There is enough text to be packed.
  const spans = Array.from({ length: 5 }, (_, i) => span({ name: `${i}`, input: `${i} `.repeat(2000), output: { i } }))
  const { id } = await recordTrace({ spans })
  const detail = await call('GET', `/api/v1/traces/${id}`)
  for (const { id: spanId } of spans) {
    const { text } = await ask('GET', `${P}/traces/${id}/spans/${spanId.toUpperCase()}`)
    t.ok(detail.text.includes(text), spanId)
  }
  const { trace, spans: texts } = (await ask('GET', `${P}/traces/${id}/texts`)).body
  t.same(trace, { input: detail.body.trace.input, output: null })
  t.same(
    texts,
    // biome-ignore lint/suspicious/noExplicitAny: responses differ.
    detail.body.spans.map(({ id, input, output, attributes, events }: any) => ({
      id,
      input,
      output,
      attributes,
      events
    }))
  )
  const own = await ask('GET', `${P}/traces/${id}/body`)
  const { input, output, metadata } = detail.body.trace
  t.same(own.body, { input, output, metadata })
  t.ok(detail.text.includes(own.text.slice('{"input":'.length, own.text.indexOf(',"output"'))), 'digit by digit')
  for (const wrong of ['x', '0'.repeat(16), '%00']) {
    t.equal((await ask('GET', `${P}/traces/${id}/spans/${wrong}`)).status, 404)
  }
  for (const path of ['texts', 'body', 'outline', `spans/${spans[0]!.id}`]) {
    t.equal((await ask('GET', `${P}/traces/${traceId()}/${path}`)).status, 404)
    t.equal((await ask('GET', `p/nowhere/traces/${id}/${path}`)).status, 404)
  }
})

t.test('previews describe in one line what steps did, and why they failed', async t => {
  const messages = [
    { role: 'system', content: 'Be careful.' },
    { role: 'user', content: 'Where is\nmy order?' }
  ]
  const call = { id: 'c', type: 'function', function: { name: 'lookup', arguments: '{"limit":5,"query":"48213"}' } }
  const failed = { name: 'exception', timestamp: '2026-11-21T12:00:00Z', attributes: { 'exception.message': 'Away.' } }
  const spans = [
    span({ kind: 'llm', input: { messages }, output: { role: 'assistant', content: null, tool_calls: [call] } }),
    span({ kind: 'tool', input: { limit: 5, query: 'long '.repeat(300) }, output: 'x' }),
    span({ kind: 'llm', input: [...messages, { role: 'tool', content: 'x' }], output: `It  is\n\ud800on its way.` }),
    span({ kind: 'tool', status: 'error', input: 'plain', events: [failed] }),
    span({ kind: 'custom' })
  ]
  const { id } = await recordTrace({ spans })
  const path = `${P}/traces/${id}/previews`
  const ids = spans.map(each => each.id)
  const read = async (query: string) => {
    const { previews } = (await ask('GET', `${path}?spans=${ids}${query}`)).body
    return ids.map(spanId => previews.find((each: { id: string }) => each.id === spanId))
  }
  const long = `${'long '.repeat(39)}long…`
  t.match(await read(''), [
    { id: ids[0], text: '→ lookup 48213', prompt: '', error: '' },
    { id: ids[1], text: `${long.slice(0, 199)}…` },
    { id: ids[2], text: 'It is \ufffdon its way.' },
    { id: ids[3], text: 'plain', error: 'Away.' },
    { id: ids[4], text: '' }
  ])
  t.match(await read('&length=long'), [
    { prompt: 'Where is\nmy order?' },
    { text: 'long '.repeat(300).trim() },
    { prompt: '', text: 'It  is\n\ufffdon its way.' },
    {},
    {}
  ])
  const other = await ask('GET', `${path}?spans=${ids[4]!.toUpperCase()},${'9'.repeat(16)}`)
  t.same(other.body, { previews: [{ id: ids[4], text: '', prompt: '', error: '' }] })
  t.match(await ask('GET', path), invalid(/^spans: /))
  t.match(await ask('GET', `${path}?spans=x`), invalid(/^spans: must be ids of 16 hexadecimal/))
  t.match(await ask('GET', `${path}?spans=${Array(51).fill(ids[0])}`), invalid(/^spans: must be at most 50$/))
  t.match(await ask('GET', `${path}?spans=${ids[0]}&length=2`), invalid(/^length: /))
  t.equal((await ask('GET', `${P}/traces/${traceId()}/previews?spans=${ids[0]}`)).status, 404)
})

t.test('filters offer the values of existing traces', async t => {
  await recordTrace({ name: 'another', status: 'error', model: 'big' })
  const { body } = await ask('GET', `${P}/facets`)
  t.match(body, { models: ['big', 'm'], environments: ['unassigned'] })
  t.strictSame(body.statuses, body.statuses.toSorted())
  t.equal(body.names[0], 'odd', 'the most frequent first')
  t.ok(body.names.includes('another') && body.statuses.includes('error'))
  t.match((await ask('GET', `${P}/score-names`)).body, [{ name: 'quality', dataType: 'numeric', count: Number }])
})

t.test('a trace is found in any project that the visitor can see', async t => {
  const { id } = await recordTrace()
  t.same((await ask('GET', `traces/${id}`)).body, { slug: 'default' })
  t.equal((await ask('GET', `traces/${traceId()}`)).status, 404)
})

t.test('messages from log records are shown as in the detail', async t => {
  const root = otlpSpan()
  const sent = await call('POST', '/api/v1/otlp/v1/traces', {
    body: exportOf(root),
    headers: { 'content-type': 'application/json' }
  })
  t.equal(sent.status, 200)
  const id = root.traceId.toLowerCase()
  const before = (await ask('GET', `${P}/traces/${id}/outline`)).body
  await service.database.pool.run(
    sql => sql`
      insert into span_messages (project_id, place, micros, trace_id, span_id, digest, input, output)
      select id, 0, 0, ${id}, ${root.spanId}, ${'0'.repeat(32)}, '["question"]', '["answer"]' from projects where slug = 'default'`
  )
  const detail = (await call('GET', `/api/v1/traces/${id}`)).body
  t.match(detail.trace, { input: ['question'], output: ['answer'] })
  const outline = (await ask('GET', `${P}/traces/${id}/outline?version=${before.version}`)).body
  t.match(outline.spans, [{ inputBytes: '["question"]'.length, outputBytes: '["answer"]'.length }])
  t.same((await ask('GET', `${P}/traces/${id}/spans/${root.spanId}`)).body, detail.spans[0])
  t.match((await ask('GET', `${P}/traces/${id}/texts`)).body, {
    trace: { input: ['question'] },
    spans: [{ output: ['answer'] }]
  })
})
