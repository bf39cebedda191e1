import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import t from 'tap'
import { EXAMPLES, INGEST_EXAMPLES } from '../../../lib/openapi/examples.ts'
import { SCOPES, type Scope } from '../../../lib/schema/scopes.ts'
import { hexId, ingestBody, span, spanId, traceId } from '../../fixtures/bodies/bodies.ts'
import { callMessage, mcpClient, modernClient, post } from '../../fixtures/service/mcp.ts'
import { testService } from '../../fixtures/service/service.ts'

const service = await testService(t)
const { client, use } = await mcpClient(t, service)
const TRACES = '/api/v1/traces'

const WRITE = ['get_ingest_schema', 'record_trace', 'add_score']
const READ = [
  'list_traces',
  'search_traces',
  'get_trace',
  'list_scores',
  'get_trace_scores',
  'list_spans',
  'list_errors',
  'list_sessions',
  'list_users',
  'list_changes',
  'get_project',
  'get_usage'
]
const DELETE = ['delete_trace']

/** Records a trace over HTTP. Returns its id. */
async function record(fields: object = {}): Promise<string> {
  const body = ingestBody(fields)
  t.equal((await service.call('POST', TRACES, { body })).status, 201)
  return body.trace.id
}

t.test("offers only the key's tools", async t => {
  const offers: [Scope[], string[]][] = [
    [['traces:write'], WRITE],
    [['traces:read'], READ],
    [['traces:delete'], DELETE],
    [
      ['traces:write', 'traces:read'],
      [...WRITE, ...READ]
    ],
    [[...SCOPES], [...WRITE, ...READ, ...DELETE]]
  ]
  for (const [scopes, names] of offers) {
    const { key } = await service.makeKey({ scopes })
    const { toolNames } = await mcpClient(t, service, key)
    t.same(await toolNames(), names, scopes.join())
  }
})

t.test('says what each tool does, when to use it, and what it can change', async t => {
  const { tools } = await client.listTools()
  for (const tool of tools) {
    const { name, title, description = '', annotations, inputSchema, outputSchema } = tool
    t.ok(title && description.length > 80, `${name} describes itself`)
    t.same(
      annotations?.readOnlyHint,
      [...READ, 'get_ingest_schema'].includes(name),
      `${name}: the read-only hint is right`
    )
    t.same(annotations?.destructiveHint ?? false, name === 'delete_trace', `${name}: the destructive hint is right`)
    t.same([inputSchema.type, inputSchema.additionalProperties], ['object', false])
    t.equal(outputSchema?.type, 'object')
    const check = compile(inputSchema)
    const examples = (inputSchema.examples ?? []) as object[]
    t.ok(examples.length > 0 || Object.keys(inputSchema.properties ?? {}).length === 0, `${name} has examples`)
    for (const example of examples) t.ok(check(example), `an example of ${name} is valid`)
  }
})

t.test('introduces itself', async t => {
  t.match(client.getServerVersion(), { name: 'spoor', version: /^\d/ })
  t.match(client.getServerCapabilities(), { tools: {}, resources: {} })
  t.match(client.getInstructions(), /get_ingest_schema.*record_trace.*list_traces.*get_trace.*add_score/s)
  t.same(await client.ping(), {})
})

t.test('the newest clients use 2026-07-28, pinned or negotiated, and get the same tools', async t => {
  const id = await record()
  const { tools } = await client.listTools()
  for (const version of ['2026-07-28', undefined]) {
    const newest = await modernClient(t, service, version)
    t.equal(newest.getNegotiatedProtocolVersion(), '2026-07-28')
    t.match(newest.getServerVersion(), { name: 'spoor' })
    t.match(newest.getInstructions(), /get_ingest_schema/)
    t.same((await newest.listTools()).tools, tools)
    const { structuredContent, content } = await newest.callTool({ name: 'get_trace', arguments: { traceId: id } })
    t.match(structuredContent, { trace: { id } })
    t.same(content, [{ type: 'text', text: (await service.call('GET', `${TRACES}/${id}`)).text }])
    const name = 'naïve “name” 名'
    await record({ name })
    t.match(await newest.callTool({ name: 'list_traces', arguments: { name } }), {
      structuredContent: { traces: [{ name }] }
    })
  }
})

t.test('get_ingest_schema returns a schema, and examples that it and record_trace accept', async t => {
  const { value } = await use('get_ingest_schema')
  t.same(Object.keys(value), ['schema', 'examples'])
  const check = compile(value.schema)
  for (const name of ['minimal', 'full']) {
    const example = value.examples[name]
    t.ok(check(example), name)
    const body = { ...example, trace: { ...example.trace, id: traceId() } }
    t.match(await use('record_trace', body), { isError: false, value: { duplicate: false, running: false } })
  }
  t.notOk(check({ ...value.examples.minimal, extra: 1 }))
})

t.test('record_trace stores the same as POST /api/v1/traces', async t => {
  const body = ingestBody({ spans: [span()], metadata: { a: 1 } })
  const { value } = await use('record_trace', body)
  t.match(value, { ok: true, traceId: body.trace.id, spanCount: 1, duplicate: false, running: false })
  t.match(await service.call('POST', TRACES, { body }), { status: 200, body: { duplicate: true } })
  t.match(await use('record_trace', body), { isError: false, value: { duplicate: true } })
})

t.test("record_trace sets the key's environment, and accepts a large trace", async t => {
  const { key } = await service.makeKey({ environment: 'staging' })
  const { use } = await mcpClient(t, service, key)
  const spans = Array.from({ length: 3 }, () => span({ input: 'x'.repeat(600_000) }))
  const body = ingestBody({ spans })
  t.match(await use('record_trace', body), { value: { spanCount: 3 } })
  t.match(await use('get_trace', { traceId: body.trace.id }), {
    value: { detail: 'outline', trace: { environment: 'staging' } }
  })
})

t.test('free JSON is preserved exactly, with numbers that a double cannot hold', async t => {
  const id = traceId()
  const step = spanId()
  const input = '{"big":12345678901234567890,"huge":1e400,"__proto__":{"":1},"nul":"\\u0000"}'
  const times = '"startedAt":"2026-01-01T00:00:00Z","endedAt":"2026-01-01T00:00:01Z"'
  const spans = `[{"id":"${step}","name":"s",${times},"output":${input}}]`
  const trace = `{"id":"${id}","name":"exact",${times},"input":${input},"spans":${spans}}`
  const message = JSON.stringify(callMessage('record_trace', { schemaVersion: 1 }))
  const recorded = await post(service, message.replace('"schemaVersion":1', `"schemaVersion":1,"trace":${trace}`))
  t.match(recorded.body.result, { structuredContent: { ok: true } })
  t.match((await service.call('GET', `${TRACES}/${id}`)).text, `"input":${input}`)
  const answers: [object, string][] = [
    [{ traceId: id }, `"input":${input}`],
    [{ traceId: id, detail: 'outline' }, `"output":${input}`],
    [{ traceId: id, spanIds: [step] }, `"output":${input}`]
  ]
  for (const [args, part] of answers) {
    const { text, body } = await post(service, callMessage('get_trace', args))
    t.ok(text.includes(part), 'in the structured content')
    t.ok(body.result.content[0].text.includes(part), 'in the text')
  }
})

t.test('search_traces finds runs by their steps, and names existing values if it finds nothing', async t => {
  const failed = span({ name: 'charge_card', kind: 'tool', status: 'error', attributes: { 'error.type': 'CardError' } })
  const id = await record({ name: 'checkout', userId: 'customer-9', tags: ['shop', 'beta'], spans: [failed] })
  const args = { stepKind: 'tool', error: 'CardError', tag: ['shop', 'beta'], userId: 'customer-9' }
  t.match(await use('search_traces', args), {
    isError: false,
    value: {
      detail: 'outline',
      traces: [{ id, name: 'checkout', firstError: { step: 'charge_card', type: 'CardError' } }],
      nextCursor: null
    }
  })
  const full = await use('search_traces', { ...args, detail: 'full' })
  t.same(full.value.traces[0].firstError.spanId, failed.id)
  t.ok('ingestedAt' in full.value.traces[0])
  t.match(await use('search_traces', { step: 'chargeCard' }), {
    value: { traces: [], hint: /^No recent step is named "chargeCard"\. The nearest: "charge_card"/ }
  })
  t.match(await use('search_traces', { tag: 'shop' }), {
    isError: true,
    value: { error: { code: 'invalid_request', message: 'tag: must be an array' } }
  })
  t.match(await use('search_traces', { score: ['x'] }), { isError: true, value: { error: { message: /^score: / } } })
  t.match(await use('search_traces', { detail: 'short' }), {
    isError: true,
    value: { error: { message: /^detail: / } }
  })
})

t.test('the list of tools is short', async t => {
  const { text } = await post(service, { jsonrpc: '2.0', id: 1, method: 'tools/list' })
  t.ok(Buffer.byteLength(text) < 39_000, `${Buffer.byteLength(text)} bytes`)
})

t.test('the arguments of add_score are an object without alternatives, which some models cannot read', async t => {
  const { tools } = await client.listTools()
  const { inputSchema } = tools.find(({ name }) => name === 'add_score')!
  t.same(Object.keys(inputSchema.properties ?? {}), ['traceId', 'name', 'dataType', 'value', 'comment', 'spanId'])
  t.same(inputSchema.required, ['traceId', 'name', 'dataType', 'value'])
  t.match(inputSchema.properties?.dataType, { enum: ['numeric', 'categorical', 'boolean'] })
  t.notOk(['oneOf', 'anyOf', 'allOf'].some(keyword => keyword in inputSchema))
})

t.test('an unpaired surrogate is U+FFFD in the structured content, and unchanged in the text', async t => {
  const pair = '\\\\ud800 \\ud83d\\ude00 \\ud800 \\uDFFFx \\ud800\\ud83d\\ude00 \\\\\\ud800'
  const read = '\\ud800 😀 \ufffd \ufffdx \ufffd😀 \\\ufffd'
  const body = ingestBody({ input: 'HALVES', metadata: { HALVES: 1 } })
  const recorded = await service.call('POST', TRACES, { body: JSON.stringify(body).replaceAll('HALVES', pair) })
  t.equal(recorded.status, 201)
  const message = callMessage('get_trace', { traceId: body.trace.id })
  for (const _meta of [undefined, { progressToken: 1 }]) {
    const { text, body } = await post(service, { ...message, params: { ...message.params, _meta } })
    const { structuredContent, content } = body.result
    t.equal(structuredContent.trace.input, read)
    t.same(structuredContent.trace.metadata, { [read]: 1 })
    t.equal(JSON.parse(content[0].text).trace.input, JSON.parse(`"${pair}"`), 'the text is exact')
    t.notOk(/(?<!\\)(?:\\\\)*\\ud800/i.test(text), 'a strict parser can read the response')
  }
})

t.test('each call of a batch has its own arguments, exactly', async t => {
  const bodies = [ingestBody({ input: 'one' }), ingestBody({ input: 'two' })]
  const batch = JSON.stringify(bodies.map((body, index) => callMessage('record_trace', body, `call ${index}`)))
  const { body } = await post(service, batch.replace('"two"', '98765432109876543210'))
  t.same(
    // biome-ignore lint/suspicious/noExplicitAny: the responses of the protocol differ.
    body.map((answer: any) => [answer.id, answer.result.structuredContent.traceId]),
    bodies.map(({ trace }, index) => [`call ${index}`, trace.id])
  )
  t.match((await service.call('GET', `${TRACES}/${bodies[0]?.trace.id}`)).text, '"input":"one"')
  t.match((await service.call('GET', `${TRACES}/${bodies[1]?.trace.id}`)).text, '"input":98765432109876543210')
})

/** Tools whose results are outlines unless a call asks for everything. */
const OUTLINED = [
  'list_traces',
  'search_traces',
  'list_scores',
  'list_spans',
  'list_errors',
  'list_sessions',
  'list_users',
  'list_changes',
  'get_usage'
]
const USAGE_TIME = 'from=2026-11-20T00:00:00Z&to=2026-11-22T00:00:00Z'

t.test("a reading tool returns its route's response if asked for everything", async t => {
  const id = await record({ ...INGEST_EXAMPLES.full.trace, id: traceId(), name: 'read me', tags: ['read'] })
  const score = EXAMPLES.addScore?.body?.numeric as object
  for (const name of ['a', 'b']) await use('add_score', { ...score, traceId: id, name })
  const reads: [string, object, string][] = [
    ['list_traces', { limit: 50 }, TRACES],
    ['list_traces', { tag: 'read', limit: 1 }, `${TRACES}?tag=read&limit=1`],
    ['list_traces', { runsOnly: true }, `${TRACES}?runsOnly=true&limit=20`],
    ['list_traces', { environment: 'UNASSIGNED' }, `${TRACES}?environment=UNASSIGNED&limit=20`],
    ['get_trace', { traceId: id.toUpperCase() }, `${TRACES}/${id}`],
    ['get_trace', { traceId: id, detail: 'full' }, `${TRACES}/${id}`],
    ['list_scores', { name: 'a' }, '/api/v1/scores?name=a&limit=20'],
    ['get_trace_scores', { traceId: id }, `${TRACES}/${id}/scores`],
    ['list_spans', { status: 'ok', limit: 2 }, '/api/v1/spans?status=ok&limit=2'],
    ['list_spans', { traceId: id, texts: true }, `/api/v1/spans?texts=true&traceId=${id}&limit=5`],
    ['list_errors', { to: '2026-11-22T00:00:00Z' }, '/api/v1/errors?to=2026-11-22T00:00:00Z&limit=20'],
    ['list_sessions', {}, '/api/v1/sessions?limit=20'],
    ['list_users', { from: '2026-11-20T00:00:00Z' }, '/api/v1/users?from=2026-11-20T00:00:00Z&limit=20'],
    ['list_changes', { limit: 3 }, '/api/v1/changes?limit=3'],
    ['get_usage', { from: '2026-11-20T00:00:00Z', to: '2026-11-22T00:00:00Z' }, `/api/v1/usage?${USAGE_TIME}`],
    ['get_project', {}, '/api/v1/project']
  ]
  for (const [name, args, path] of reads) {
    const { text, isError } = await use(name, OUTLINED.includes(name) ? { ...args, detail: 'full' } : args)
    t.notOk(isError, name)
    t.equal(text, (await service.call('GET', path)).text, `${name} ${JSON.stringify(args)}`)
  }
})

t.test('list_spans and list_errors return outlines, and name existing values if they find nothing', async t => {
  const failed = span({ name: 'lookup_order', kind: 'tool', status: 'error', output: 'order 17 is unknown' })
  const long = span({ name: 'chat', kind: 'llm', output: 'word '.repeat(1000) })
  const id = await record({ name: 'outlined', spans: [failed, long] })
  const spans = await use('list_spans', { traceId: id, status: 'error' })
  t.match(spans.value, {
    detail: 'outline',
    note: /^To read a step's full texts, call get_trace with its traceId and spanIds\./,
    spans: [{ id: failed.id, traceName: 'outlined', error: { message: 'order 17 is unknown' }, outputBytes: 21 }]
  })
  t.notOk('model' in spans.value.spans[0])
  const texts = await use('list_spans', { traceId: id, kind: 'llm', texts: true })
  t.match(texts.value.spans, [{ output: /^"word .*… \[4\d+ of 5002 bytes left out\]$/ }])
  const to = '2026-11-22T00:00:00Z'
  const errors = await use('list_errors', { to, name: 'lookup_order' })
  t.match(errors.value, {
    detail: 'outline',
    errors: [{ name: 'lookup_order', message: 'order <number> is unknown', count: 1, example: { traceId: id } }]
  })
  const nothing = await use('list_errors', { to, name: 'lookup_ordr' })
  t.match(nothing.value, { errors: [], hint: /"lookup_ordr".*"lookup_order"/ })
  const big = 'x'.repeat(250_000)
  const many = await record({ spans: Array.from({ length: 5 }, () => span({ output: big })) })
  const cut = await use('list_spans', { traceId: many, texts: true, limit: 2 })
  t.match(cut.value.spans, [{ outputBytes: 250_002, output: /bytes left out\]$/ }, { outputBytes: 250_002 }])
})

t.test('list_traces names the nearest existing values if it finds nothing', async t => {
  await record({ name: 'summarise-ticket', tags: ['release:7'] })
  for (const args of [{ name: 'summarize-ticket' }, { tag: 'release:8' }]) {
    const { value } = await use('list_traces', args)
    t.match(value, { detail: 'outline', traces: [], hint: /^No trace has the .*The nearest: "(summarise|release)/ })
    t.match((await use('list_traces', { ...args, detail: 'full' })).value, { traces: [], nextCursor: null })
  }
  t.equal((await use('list_traces', { status: 'running', model: 'none', after: 'x' })).isError, true)
})

t.test("list_changes follows writes, and list_users lists the traces' users", async t => {
  const { value: now } = await use('list_changes', { after: 'now' })
  t.match(now, {
    detail: 'outline',
    traces: [],
    caughtUp: true,
    note: /^Nothing has been written since\. Call again later/
  })
  const id = await record({
    userId: 'written-later',
    startedAt: '2020-01-01T00:00:00Z',
    endedAt: '2020-01-01T00:00:01Z'
  })
  const { value } = await use('list_changes', { after: now.nextCursor })
  t.match(value, { traces: [{ id, userId: 'written-later' }], caughtUp: true, note: /call get_trace with its id/ })
  const users = (prefix: string) => use('list_users', { prefix, from: '2020-01-01T00:00:00Z' })
  t.match((await users('written')).value, { users: [{ id: 'written-later', traceCount: 1 }] })
  t.match((await users('writen-')).value, { users: [], hint: /"writen-"/ })
})

t.test('pages through a list with its cursors', async t => {
  for (let i = 0; i < 3; i++) await record({ name: 'walked' })
  const first = await use('list_traces', { name: 'walked', limit: 2 })
  const second = await use('list_traces', { name: 'walked', limit: 2, after: first.value.nextCursor })
  t.same([first.value.traces.length, second.value.traces.length, second.value.nextCursor], [2, 1, null])
})

t.test('add_score scores a trace, and delete_trace deletes it with its scores', async t => {
  const id = await record()
  const added = await use('add_score', { traceId: id, name: 'ok', dataType: 'boolean', value: true })
  t.match(added.value, { ok: true, score: { traceId: id, value: true, source: 'api' } })
  t.same((await use('delete_trace', { traceId: id })).value, { ok: true, traceId: id })
  t.equal((await service.call('GET', `${TRACES}/${id}`)).status, 404)
  t.match(await use('delete_trace', { traceId: id }), { isError: true, value: { error: { code: 'not_found' } } })
})

t.test('a request that HTTP rejects is rejected by the tool in the same words, as a result', async t => {
  const id = await record({ name: 'taken' })
  const score = { name: 'ok', dataType: 'boolean', value: true }
  const huge = ingestBody({ input: 'x'.repeat(768_000) })
  const deep = ingestBody({ input: JSON.parse('['.repeat(99) + ']'.repeat(99)) })
  const refusals: [string, object, string, string, unknown?][] = [
    ['record_trace', {}, 'POST', TRACES, {}],
    ['record_trace', { schemaVersion: 2 }, 'POST', TRACES, { schemaVersion: 2 }],
    ['record_trace', ingestBody({ nam: 1 }), 'POST', TRACES, ingestBody({ nam: 1 })],
    ['record_trace', ingestBody({ id: 'x' }), 'POST', TRACES, ingestBody({ id: 'x' })],
    ['record_trace', { ...ingestBody(), extra: 1 }, 'POST', TRACES, { ...ingestBody(), extra: 1 }],
    ['record_trace', ingestBody({ id }), 'POST', TRACES, ingestBody({ id })],
    ['record_trace', ingestBody({ name: '\u0000' }), 'POST', TRACES, ingestBody({ name: '\u0000' })],
    ['record_trace', huge, 'POST', TRACES, huge],
    ['record_trace', deep, 'POST', TRACES, deep],
    ['add_score', { traceId: id, ...score, value: 1 }, 'POST', `${TRACES}/${id}/scores`, { ...score, value: 1 }],
    ['add_score', { traceId: id, ...score, x: 1 }, 'POST', `${TRACES}/${id}/scores`, { ...score, x: 1 }],
    ['add_score', { traceId: id }, 'POST', `${TRACES}/${id}/scores`, {}],
    ['add_score', { traceId: traceId(), ...score }, 'POST', `${TRACES}/${hexId(16)}/scores`, score],
    ['list_traces', { colour: 'red' }, 'GET', `${TRACES}?colour=red`],
    ['list_traces', { limit: 0 }, 'GET', `${TRACES}?limit=0`],
    ['list_traces', { limit: 2.5 }, 'GET', `${TRACES}?limit=2.5`],
    ['list_traces', { name: '' }, 'GET', `${TRACES}?name=`],
    ['list_traces', { sort: 'best' }, 'GET', `${TRACES}?sort=best`],
    ['list_traces', { sort: 'slowest', userId: 'u' }, 'GET', `${TRACES}?sort=slowest&userId=u`],
    ['list_traces', { after: 'nonsense' }, 'GET', `${TRACES}?after=nonsense`],
    ['list_traces', { from: 'yesterday' }, 'GET', `${TRACES}?from=yesterday`],
    ['list_scores', { limit: 501 }, 'GET', '/api/v1/scores?limit=501'],
    ['list_spans', { texts: true, limit: 21 }, 'GET', '/api/v1/spans?texts=true&limit=21'],
    ['list_errors', { kind: 'step' }, 'GET', '/api/v1/errors?kind=step'],
    ['get_trace', { traceId: traceId() }, 'GET', `${TRACES}/${traceId()}`],
    ['get_trace', { traceId: 'nonsense' }, 'GET', `${TRACES}/nonsense`],
    ['get_trace_scores', { traceId: traceId() }, 'GET', `${TRACES}/${traceId()}/scores`],
    ['delete_trace', { traceId: traceId() }, 'DELETE', `${TRACES}/${traceId()}`]
  ]
  for (const [name, args, method, path, body] of refusals) {
    const { isError, value } = await use(name, args)
    const answer = await service.call(method, path, body === undefined ? {} : { body })
    const { code, message } = answer.body.error
    t.ok(isError, `${name}: ${message}`)

    // A tool lists its own parameters.
    const shared = (text: string) => text.replace(/(?<=unknown parameter);.*$/, '')
    t.same([value.error.code, shared(value.error.message)], [code, shared(message)], `${name} ${path}`)
  }
})

t.test('unknown arguments are rejected by name', async t => {
  const id = await record()
  const refusals: [string, object, string][] = [
    ['get_trace', {}, 'traceId: is required'],
    ['get_trace', { traceId: 7 }, 'traceId: must be a string'],
    ['get_trace', { traceId: id, detail: 'everything' }, 'detail: must be one of auto, outline, full'],
    ['get_trace', { traceId: id, spanIds: [] }, 'spanIds: must have at least 1 item'],
    ['get_trace', { traceId: id, spanIds: ['x'] }, 'spanIds[0]: must be 16 hexadecimal characters'],
    ['get_trace', { traceId: id, depth: 2 }, 'depth: unknown parameter; the parameters are traceId, detail, spanIds,'],
    ['get_trace', { traceId: id, field: 'spans' }, 'field: must be one of input, output, metadata'],
    ['get_trace', { traceId: id, offset: 1 }, 'offset: requires `field`'],
    ['get_trace', { traceId: id, field: 'input', offset: -1 }, 'offset: must be at least 0'],
    ['get_trace', { traceId: id, field: 'input', spanIds: [spanId()] }, 'field: cannot be combined with `spanIds`'],
    ['get_trace', { traceId: id, field: 'input', offset: 9e9 }, 'offset: must be at most 4'],
    ['delete_trace', { traceId: id, force: true }, 'force: unknown parameter'],
    ['get_project', { id: 1 }, 'id: unknown parameter'],
    ['get_ingest_schema', { version: 1 }, 'version: unknown field'],
    ['list_traces', { limit: '10' }, 'limit: must be an integer']
  ]
  for (const [name, args, message] of refusals) {
    t.match(await use(name, args), { isError: true, value: { error: { code: 'invalid_request', message } } }, message)
  }
})

t.test(
  'a result that is too long to be sent twice is complete as structured content, and shortened as text',
  async t => {
    const big = { input: `${'漢字'.repeat(20_000)}\ud800`, output: 'x'.repeat(260_000) }
    const first = span(big)
    const id = await record({ spans: [first, span(big)] })
    const comment = 'c'.repeat(2000)
    const score = { name: 'quality', dataType: 'numeric', value: 1, comment }
    for (let i = 0; i < 100; i++) await service.call('POST', `${TRACES}/${id}/scores`, { body: score })
    const other = await record()
    for (let i = 0; i < 60; i++) await service.call('POST', `${TRACES}/${other}/scores`, { body: score })
    const whole = (await service.call('GET', `${TRACES}/${id}`)).text.replaceAll('\\ud800', '\ufffd')
    const results: [tool: string, args: object, structured: RegExp | string, text: RegExp][] = [
      [
        'get_trace',
        { traceId: id, detail: 'full' },
        whole,
        /^This is an outline .* structuredContent have the full trace\.$/
      ],
      ['get_trace', { traceId: id, spanIds: [first.id] }, /^\{"traceId"/, /the beginning of the first of 1 spans/],
      ['list_scores', { limit: 150, detail: 'full' }, /^\{"scores"/, /the first \d+ of 150 scores/]
    ]
    for (const [tool, args, structured, note] of results) {
      const message = callMessage(tool, args)
      // The SDK must answer the second message.
      for (const body of [message, [message, callMessage('get_project', {}, 2)]]) {
        const { status, text, body: answer } = await post(service, body)
        t.equal(status, 200)
        const { result } = Array.isArray(answer) ? answer[0] : answer
        const shown = JSON.parse(result.content[0].text)
        t.match(shown.note, note, tool)
        t.ok(result.content[0].text.length < 37_000)
        if (typeof structured === 'string') t.ok(text.includes(`"structuredContent":${structured}`), `${tool}: whole`)
        else t.match(JSON.stringify(result.structuredContent), structured)
        t.ok(JSON.stringify(result.structuredContent).length > 256 * 1024)
        t.ok(text.isWellFormed() && !/\\ud8/.test(text), 'without unpaired surrogates')
      }
    }
  }
)

t.test('a batch collects 32 MiB of results, and tells further calls to come separately', async t => {
  const id = await record({ spans: Array.from({ length: 4 }, () => span({ input: 'x'.repeat(250_000) })) })
  const reads = Array.from({ length: 46 }, (_, i) => callMessage('get_trace', { traceId: id, detail: 'full' }, i))
  const trace = ingestBody()
  const { status, body } = await post(service, [...reads, callMessage('record_trace', trace, 'last')])
  t.equal(status, 200)
  const results = new Map<unknown, Result>(body.map(({ id, result }: Answered) => [id, result]))
  const refused = reads.filter(({ id }) => results.get(id)?.isError)
  const gathered = (reads.length - refused.length) * 1_000_000
  t.ok(refused.length > 0 && gathered > 31e6 && gathered < 38e6, `${refused.length} of ${reads.length} are rejected`)
  for (const { id } of refused) {
    const { error } = results.get(id)?.structuredContent ?? {}
    t.match(error, { code: 'invalid_request', message: /^batch: .* Send this call in another message\.$/ })
  }
  t.match(results.get('last')?.structuredContent, { traceId: trace.trace.id }, 'a write is not rejected')
})

/** The parts of the protocol's responses that the tests use. */
interface Result {
  readonly isError?: boolean
  readonly structuredContent: { readonly error?: object }
}
interface Answered {
  readonly id: unknown
  readonly result: Result
}

t.test('an outline fits if the whole does not, and whole spans can be requested', async t => {
  const root = spanId()
  const texts = Array.from({ length: 150 }, (_, index) => `${index} ${'long '.repeat(200)}`)
  const children = texts.map(text =>
    span({ parentSpanId: root, kind: 'llm', model: 'm', input: text, output: 'short' })
  )
  const id = await record({ input: 'y'.repeat(9000), spans: [span({ id: root, kind: 'agent' }), ...children] })
  const { text, value } = await use('get_trace', { traceId: id, detail: 'outline' })
  t.ok(Buffer.byteLength(text) < 35_000)
  t.match(value, { detail: 'outline', scoreCount: 0, note: /outline.*spanIds.*"full"/s })
  t.match(value.trace, { id, spanCount: 151, input: /^"yyy.*… \[\d+ of 9002 bytes left out\]$/ })
  t.equal(value.spans.length, 151)
  t.match(value.spans[0], { id: root, depth: 0, kind: 'agent' })
  t.match(value.spans[1], { depth: 1, kind: 'llm', status: 'unset', durationMs: 1500, model: 'm', bytes: /^1\d\d\d$/ })

  const full = await service.call('GET', `${TRACES}/${id}`)
  const chosen = [children[7]?.id ?? '', children[3]?.id ?? '']
  const missing = spanId()
  const some = await use('get_trace', { traceId: id, spanIds: [chosen[0]?.toUpperCase(), chosen[1], missing] })
  const whole = full.body.spans.filter((span: { id: string }) => chosen.includes(span.id))
  t.same(some.value, { traceId: id, spans: whole, missing: [missing] })
  t.equal((await use('get_trace', { traceId: id, detail: 'full' })).text, full.text)
})

function compile(schema: object): ValidateFunction {
  return new Ajv2020({ strict: false, validateFormats: false }).compile(schema)
}
