/** Tests GET /api/v1/search against its definition, for random histories and queries, and its rules for parameters. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { pruneAll } from '../../lib/admin/upkeep/pruning.ts'
import { SCHEMA_NAMES } from '../../lib/database/tables.ts'
import type { TraceSearchQuery } from '../../lib/schema/history/search.ts'
import { type FindBounds, findTracePage } from '../../lib/store/finding/find-traces.ts'
import { explainEmpty } from '../../lib/store/hints/explain-empty.ts'
import type { Edge } from '../../lib/store/lists/cursor.ts'
import { addMessages } from '../../lib/store/trace/messages.ts'
import { readSearch } from '../../plugins/search.ts'
import { endBody, ingestBody, span, spanId, spansBody } from '../fixtures/bodies/bodies.ts'
import { exportOf, otlpSpan } from '../fixtures/bodies/otlp.ts'
import { testDatabase } from '../fixtures/database/database.ts'
import { relabelAll } from '../fixtures/database/upkeep.ts'
import { expectedIds } from '../fixtures/found-model.ts'
import { indexNow, searchOn } from '../fixtures/service/searching.ts'
import { type TestService, testService } from '../fixtures/service/service.ts'
import { lintAll } from '../fixtures/statements/lint-all.ts'
import { Recording, recorded } from '../fixtures/statements/record.ts'
import { runs } from '../torture/orders.ts'

const IDS = ['a', 'b', 'c', 'd'].map(digit => digit.repeat(32))
const TIMES = ['2026-11-21T12:00:00.000Z', '2026-11-21T12:00:00.000001Z', '2026-11-21T12:00:01.000Z']
const ENDS = ['2026-11-21T12:00:01.000Z', '2026-11-21T12:00:01.500Z', '2026-11-21T12:00:09.000Z']
const NAMES = ['lookup', 'answer']
const KINDS = ['tool', 'llm', 'custom'] as const
const STATUSES = ['ok', 'error', 'unset'] as const
const LONG = 'x'.repeat(600)

const some = <T>(fields: { [name in keyof T]: fc.Arbitrary<T[name]> }) => fc.record(fields, { requiredKeys: [] })

const thrown = (type: string, message: string) => ({
  name: 'exception',
  timestamp: TIMES[0],
  attributes: { 'exception.type': type, 'exception.message': message }
})
/** Texts are sometimes long, so that they are packed. */
const someSpan = fc
  .record({
    name: fc.constantFrom(...NAMES),
    kind: fc.constantFrom(...KINDS),
    status: fc.constantFrom(...STATUSES),
    more: fc.constantFrom<object>(
      {},
      { attributes: { 'error.type': 'RateLimit', pad: LONG.repeat(4) } },
      { events: [thrown('TimeoutError', `the shop did not answer ${LONG}`)], input: LONG.repeat(4) },
      { events: [thrown('ValueError', 'Order is unknown')] },
      { output: { error: 'the stock is empty' } },
      { output: 'the stock is empty', attributes: { 'error.type': 'ShopError' } }
    ),
    endedAt: fc.constantFrom(...ENDS)
  })
  .map(({ more, ...fields }) => ({ ...span({ ...fields, startedAt: TIMES[0] }), ...more }))
const spans = fc.array(someSpan, { maxLength: 3 })
const fields = some({
  input: fc.constantFrom('a refund, please', { question: 'where is my order' }, LONG.repeat(4)),
  model: fc.constantFrom('m', 'n'),
  sessionId: fc.constant('s'),
  userId: fc.constantFrom('u', 'v'),
  tags: fc.subarray(['x', 'y', 'z']),
  costUsd: fc.constantFrom(0, 0.1, 0.3),
  usage: fc.constantFrom({ inputTokens: 5 }, { totalTokens: 7 }, { inputTokens: 5, outputTokens: 2 })
})
const ended = fc.record({ endedAt: fc.constantFrom(...ENDS), status: fc.constantFrom(...STATUSES) })
const score = fc
  .record({ name: fc.constantFrom('h', 'g') })
  .chain(({ name }) =>
    fc
      .constantFrom<object>(
        { dataType: 'numeric', value: 0.5 },
        { dataType: 'numeric', value: 0.9 },
        { dataType: 'categorical', value: 'good' },
        { dataType: 'boolean', value: true }
      )
      .map(value => ({ name, ...value }))
  )

type Step = (service: TestService) => Promise<unknown>
const id = fc.constantFrom(...IDS)
const call =
  (method: string, path: string, body?: object): Step =>
  service =>
    service.call(method, `/api/v1/traces${path}`, { body })
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(id, fields, fc.option(ended, { nil: {} }), fc.constantFrom(...TIMES), fc.constantFrom(...NAMES), spans)
      .map(([id, more, end, startedAt, name, spans]) =>
        call('POST', '', { schemaVersion: 1, trace: { id, name, startedAt, ...more, ...end, spans } })
      )
  },
  { weight: 2, arbitrary: fc.tuple(id, spans).map(([id, list]) => call('POST', `/${id}/spans`, spansBody(...list))) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(id, ended, fields, spans)
      .map(([id, end, { input: _, sessionId: __, userId: ___, ...more }, spans]) =>
        call('POST', `/${id}/end`, endBody({ ...end, ...more, spans }))
      )
  },
  {
    weight: 2,
    arbitrary: fc.tuple(id, fc.nat(2)).map(([traceId, status]): Step => {
      const body = exportOf(otlpSpan({ traceId, spanId: spanId(), name: 'lookup', status }))
      return service => service.call('POST', '/api/v1/otlp/v1/traces', { body })
    })
  },
  { weight: 1, arbitrary: id.map(id => call('PATCH', `/${id}`, { metadata: { seen: true } })) },
  { weight: 3, arbitrary: fc.tuple(id, score).map(([id, body]) => call('POST', `/${id}/scores`, body)) },
  {
    weight: 1,
    arbitrary: id.map(
      (id): Step =>
        async service => {
          const [newest] = (await service.call('GET', `/api/v1/traces/${id}/scores`)).body.scores ?? []
          if (newest !== undefined) await service.call('DELETE', `/api/v1/traces/${id}/scores/${newest.id}`)
        }
    )
  },
  {
    weight: 1,
    arbitrary: id.map(
      (id): Step =>
        service =>
          service.database.pool.run(
            sql =>
              sql`update scores set source = 'annotation' where trace_seq = (select seq from traces where id = ${id})`
          )
    )
  },
  { weight: 1, arbitrary: id.map(id => call('DELETE', `/${id}`)) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<object>({ status: 'error' }, { tag: 'x' }, { model: 'n' }).map(
      (conditions): Step =>
        ({ database }) =>
          database.pool.run(sql => pruneAll(sql, 1, conditions))
    )
  },
  {
    weight: 1,
    arbitrary: fc
      .record({ environment: fc.constantFrom('other', 'unassigned'), tag: fc.constantFrom(undefined, 'x') })
      .map(
        (request): Step =>
          ({ database }) =>
            database.pool.run(sql => relabelAll(sql, { project: 'default', ...request }))
      )
  }
)

const someQuery: fc.Arbitrary<TraceSearchQuery> = fc
  .tuple(
    some({
      status: fc.constantFrom('ok', 'error', 'running'),
      model: fc.constantFrom('m', 'n'),
      name: fc.constantFrom(...NAMES),
      tag: fc.subarray(['x', 'y'], { minLength: 1 }),
      environment: fc.constantFrom('unassigned', 'Unassigned', 'other'),
      sessionId: fc.constant('s'),
      userId: fc.constantFrom('u', 'v'),
      runsOnly: fc.boolean()
    }),
    some({
      q: fc.constantFrom('refund', 'order', 'lookup', '"my order"', 'answer order'),
      step: fc.constantFrom(...NAMES),
      stepKind: fc.constantFrom(...KINDS),
      stepStatus: fc.constant('error'),
      error: fc.constantFrom('timeouterror', 'RateLimit', 'shop answer', 'answer order', 'stock empty', '!'),
      errors: fc.boolean(),
      score: fc.array(fc.constantFrom('h<0.6', 'h>=0.5', 'g=good', 'g=true', 'h=0.50', 'g<=9e-1'), {
        minLength: 1,
        maxLength: 2
      }),
      annotated: fc.boolean(),
      withoutCost: fc.boolean(),
      minDurationMs: fc.constantFrom(0, 500),
      maxDurationMs: fc.constantFrom(500, 1500),
      minCostUsd: fc.constantFrom(0, 0.2),
      maxCostUsd: fc.constantFrom(0.1, 1e-1),
      minTotalTokens: fc.constantFrom(0, 6),
      maxTotalTokens: fc.constantFrom(0, 6)
    }),
    some({ from: fc.constantFrom(...TIMES), to: fc.constantFrom(...TIMES) }),
    some({ sort: fc.constantFrom('newest', 'slowest', 'costliest') })
  )
  // Most queries have few conditions, so that they find traces.
  .chain(([listed, found, times, sort]) => {
    const keys = [...Object.keys(listed), ...Object.keys(found), ...Object.keys(times)]
    return fc
      .subarray(keys, { maxLength: Math.min(3, keys.length) })
      .map(kept => ({
        ...Object.fromEntries(Object.entries({ ...listed, ...found, ...times }).filter(([key]) => kept.includes(key))),
        ...sort
      }))
      .filter(query => !isContradiction(query))
  }) as fc.Arbitrary<TraceSearchQuery>

/** Returns whether the server rejects the query, because traces without a cost cannot be selected by cost. */
const isContradiction = ({ withoutCost, sort, minCostUsd, maxCostUsd }: Partial<TraceSearchQuery>): boolean =>
  withoutCost === true && (sort === 'costliest' || minCostUsd !== undefined || maxCostUsd !== undefined)

const someBounds: fc.Arbitrary<FindBounds> = fc.record({
  sorted: fc.constantFrom(0, 2, 1000),
  few: fc.constantFrom(0, 2, 1000),
  spans: fc.constantFrom(1, 1000),
  walk: fc.record({ traces: fc.constantFrom(1, 2, 1000), ms: fc.constantFrom(0, 1000) })
})

const pathOf = (query: object): string => {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    [value].flat().map((each): [string, string] => [name, String(each)])
  )
  return `/api/v1/search?${new URLSearchParams(pairs)}`
}

/** Reads all pages by HTTP. Returns their ids. */
async function readAll(service: TestService, query: object, limit: number): Promise<string[]> {
  const ids: string[] = []
  for (let after: string | null | undefined; after !== null; ) {
    const { status, body } = await service.call('GET', pathOf({ ...query, limit, ...(after && { after }) }))
    assert.equal(status, 200, JSON.stringify(body))
    assert.ok(body.traces.length <= limit)
    ids.push(...body.traces.map((trace: { id: string }) => trace.id))
    after = body.nextCursor
  }
  return ids
}

/** Reads all pages from the store, with bounds that are met early. */
async function readBounded(service: TestService, query: TraceSearchQuery, limit: number, bounds: FindBounds) {
  const ids: string[] = []
  const asked = readSearch({ ...query, limit })
  await service.database.pool.run(async sql => {
    for (let after: Edge | undefined, pages = 0; pages === 0 || after !== undefined; pages++) {
      assert.ok(pages < 50)
      const page = await findTracePage(sql, 1, { ...asked, query: { ...asked.query, after } }, SCHEMA_NAMES, bounds)
      ids.push(...page!.found.map(({ id }) => id))
      if (page!.reached === undefined) assert.ok(page!.next === undefined || page!.found.length === limit)
      after = page!.next
    }
  })
  return ids
}

t.test('random searches of random histories match a model', async t => {
  const database = await testDatabase(t)
  const recording = new Recording()
  const service = await testService(t, { database, view: recorded(database, recording) })
  await searchOn(service)
  await fc.assert(
    fc
      .asyncProperty(
        fc.array(step, { minLength: 6, maxLength: 25 }),
        fc.array(fc.tuple(someQuery, fc.integer({ min: 1, max: 5 }), someBounds), { minLength: 12, maxLength: 12 }),
        async (steps, queries) => {
          for (const each of steps) await each(service)
          await indexNow(service)
          const details = (await Promise.all(IDS.map(id => service.call('GET', `/api/v1/traces/${id}`))))
            .filter(({ status }) => status === 200)
            .map(({ body }) => body)
          const rows = await service.database.pool.run(sql => sql<{ id: string }[]>`select id from traces where is_run`)
          const isRun = new Set(rows.map(({ id }) => id))
          for (const [query, limit, bounds] of queries) {
            const expected = expectedIds(details, query, ({ trace }) => isRun.has(trace.id))
            const found = await readBounded(service, query, limit, bounds)
            assert.deepEqual(found, expected, JSON.stringify([query, limit, bounds]))
            assert.deepEqual(await readAll(service, query, limit), expected, JSON.stringify(query))
          }
        }
      )
      .afterEach(async () => {
        for (const id of IDS) await service.call('DELETE', `/api/v1/traces/${id}`)
      }),
    runs(25)
  )
  t.same(lintAll(recording.texts), [], 'a cluster accepts every statement')
})

const invalid = (message: RegExp) => ({ status: 400, body: { error: { code: 'invalid_request', message } } })

t.test('errors name commands as SPOOR_COMMAND says', async t => {
  const service = await testService(t, { config: { command: 'docker exec s spoor' } })
  const message = /`docker exec s spoor project update SLUG --search on`$/
  t.match(await service.call('GET', '/api/v1/search?q=a'), invalid(message))
  const params = { name: 'search_traces', arguments: { q: 'a' } }
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
  const headers = { accept: 'application/json, text/event-stream' }
  const { result } = (await service.call('POST', '/api/mcp', { body, headers })).body
  t.match(result, { isError: true, structuredContent: { error: { message } } })
})

t.test('invalid parameters are rejected by name', async t => {
  const { call } = await testService(t)
  const wrong: [query: string, message: RegExp][] = [
    ['words=x', /^words: unknown parameter; the parameters are q, status, /],
    ['before=x', /^before: unknown parameter; /],
    ['q=', /^q: must not be empty$/],
    ['q=%21', /^q: must contain a letter or a digit$/],
    [`q=${'a'.repeat(201)}`, /^q: must have at most 200 characters/],
    ['q=a', /^q: cannot be used: search is off .*--search on/],
    ['status=failed', /^status: must be one of ok, error, unset, running$/],
    ['model=a&model=b', /^model: must not be repeated$/],
    ['name=%00', /^name: /],
    ['tag=a&tag=', /^tag: must not be empty$/],
    ['tag=a&tag=%00', /^tag: /],
    [Array.from({ length: 21 }, (_, i) => `tag=${i}`).join('&'), /^tag: must have at most 20 items/],
    ['environment=a%20b', /^environment: /],
    ['sessionId=', /^sessionId: must not be empty$/],
    ['userId=%ff', /^userId: must be percent-encoded UTF-8$/],
    ['runsOnly=yes', /^runsOnly: must be true or false$/],
    ['step=%00', /^step: /],
    ['stepKind=model', /^stepKind: must be one of llm, /],
    ['stepStatus=running', /^stepStatus: must be one of ok, error, unset$/],
    ['error=x&stepStatus=ok', /^error: cannot be combined with `stepStatus=ok`/],
    [`error=${'a'.repeat(201)}`, /^error: must have at most 200 characters/],
    ['errors=1', /^errors: must be true or false$/],
    ['score=h', /^score: must be a name, a comparison/],
    ['score=h%3C', /^score: must be a name, a comparison/],
    ['score=h%3C+', /^score: must be a name, a comparison/],
    ['score=a%20b%3C1', /^score: must be a name, a comparison/],
    ['score=h%3Cgood', /^score: must be a number after <$/],
    ['score=h%3E%3D1e999', /^score: must be a number after >=$/],
    [Array.from({ length: 11 }, () => 'score=h=1').join('&'), /^score: must have at most 10 items/],
    ['withoutCost=true&sort=costliest', /^withoutCost: cannot be combined with `sort=costliest`$/],
    ['withoutCost=true&minCostUsd=0', /^withoutCost: cannot be combined with `minCostUsd`$/],
    ['annotated=no', /^annotated: must be true or false$/],
    ['minDurationMs=1.5', /^minDurationMs: must be an integer/],
    ['maxDurationMs=-1', /^maxDurationMs: must be at least 0/],
    ['minCostUsd=0x1', /^minCostUsd: must be a number/],
    ['maxCostUsd=-0.1', /^maxCostUsd: must be at least 0/],
    ['minCostUsd=1e999', /^minCostUsd: /],
    ['minTotalTokens=1e3', /^minTotalTokens: must be an integer/],
    ['maxTotalTokens=many', /^maxTotalTokens: must be an integer/],
    ['from=yesterday', /^from: must be an ISO 8601/],
    ['to=2026-11-21T12:00:00+01:00', /^to: must be an ISO 8601.*%2B/],
    ['sort=oldest', /^sort: must be one of newest, slowest, costliest$/],
    ['limit=0', /^limit: must be at least 1/],
    ['limit=201', /^limit: must be at most 200/],
    ['after=x', /^after: must be a cursor/]
  ]
  for (const [query, message] of wrong) {
    t.match(await call('GET', `/api/v1/search?${query}`), invalid(message), query)
  }
  for (let i = 0; i < 2; i++) t.equal((await call('POST', '/api/v1/traces', { body: ingestBody() })).status, 201)
  const list = (await call('GET', '/api/v1/traces?limit=1')).body.nextCursor
  t.match(await call('GET', `/api/v1/search?after=${list}`), invalid(/^after: must be a cursor/), 'of the list')
  const newest = (await call('GET', '/api/v1/search?limit=1')).body.nextCursor
  t.match(await call('GET', `/api/v1/search?after=${newest}`), {
    status: 200,
    body: { traces: [{}], nextCursor: null }
  })
  t.match(await call('GET', `/api/v1/search?sort=slowest&after=${newest}`), invalid(/^after: must be a cursor/))
  t.match(await call('GET', `/api/v1/traces?after=${newest}`), invalid(/^after: must be a cursor/))
})

t.test("summaries equal the list's, with the first error and the beginnings of the texts", async t => {
  const { call } = await testService(t)
  const message = 'The order service did not respond. '.repeat(20)
  const failed = span({ name: 'lookup', kind: 'tool', status: 'error', startedAt: TIMES[0], endedAt: ENDS[0] })
  const around = { ...failed, id: spanId(), name: 'agent', kind: 'agent', endedAt: ENDS[1] }
  const input = [
    { role: 'system', content: 'You are helpful.' },
    { role: 'user', content: `Where is my\n order? ${'😀'.repeat(300)}` }
  ]
  const body = ingestBody({
    input,
    output: { answer: 'Tomorrow' },
    spans: [
      { ...around, events: [thrown('AgentError', 'a step failed')] },
      { ...failed, events: [thrown('TimeoutError', message)], input, output: LONG.repeat(5) }
    ]
  })
  const bare = ingestBody({ startedAt: TIMES[2], endedAt: ENDS[2], input: 5 })
  for (const each of [body, bare]) t.equal((await call('POST', '/api/v1/traces', { body: each })).status, 201)
  const found = (await call('GET', '/api/v1/search')).body
  const listed = (await call('GET', '/api/v1/traces')).body.traces
  t.match(found, { nextCursor: null, pageSize: 50, examined: 2, reached: null, hint: null, index: null })
  const [first, second] = found.traces
  t.same(
    [first, second].map(({ firstError, inputPreview, outputPreview, excerpt, moreExcerpts, ...summary }) => summary),
    listed
  )
  t.match(first, { firstError: null, inputPreview: '5', outputPreview: null, excerpt: null })
  t.same(second.firstError, {
    spanId: failed.id,
    step: 'lookup',
    kind: 'tool',
    type: 'TimeoutError',
    message: `${message.slice(0, 199)}…`
  })
  t.equal(second.inputPreview, `Where is my order? ${'😀'.repeat(180)}…`)
  t.equal(second.outputPreview, 'Tomorrow')
  const ids = async (query: string) =>
    (await call('GET', `/api/v1/search?${query}`)).body.traces.map(({ id }: { id: string }) => id)
  t.same(await ids('error=TimeoutError&step=lookup'), [body.trace.id])
  t.same(await ids('error=TimeoutError&step=agent'), [], 'all conditions apply to the same step')
  t.same(await ids('error=respond+order&stepKind=tool'), [body.trace.id])
})

t.test("the first error of a search for steps is a matching step's, if one failed", async t => {
  const { call } = await testService(t)
  const at = (second: number) => `2026-11-21T12:00:0${second}.000Z`
  const step = (name: string, kind: string, status: string, second: number, type: string) => ({
    ...span({ name, kind, status, startedAt: TIMES[0], endedAt: at(second) }),
    events: [thrown(type, `the ${name} step failed at second ${second}`)]
  })
  const spans = [
    step('plan', 'llm', 'error', 1, 'PlanError'),
    step('pay', 'tool', 'error', 2, 'CardError'),
    step('pay', 'tool', 'error', 3, 'BankError'),
    step('refund', 'tool', 'error', 4, 'StockError'),
    step('pay', 'agent', 'error', 5, 'AgentError'),
    step('answer', 'llm', 'ok', 6, 'None')
  ]
  const body = ingestBody({ spans, output: LONG, endedAt: at(9) })
  t.equal((await call('POST', '/api/v1/traces', { body })).status, 201)
  for (const [query, type] of [
    ['', 'PlanError'],
    ['errors=true', 'PlanError'],
    ['stepStatus=error', 'PlanError'],
    ['step=pay', 'CardError'],
    ['step=pay&stepStatus=error', 'CardError'],
    ['stepKind=tool', 'CardError'],
    ['step=refund', 'StockError'],
    ['step=pay&stepKind=agent', 'AgentError'],
    ['error=BankError', 'BankError'],
    ['error=second+4', 'StockError'],
    ['error=failed', 'PlanError'],
    ['error=failed&stepKind=agent', 'AgentError'],
    ['step=answer', 'PlanError'],
    ['step=answer&stepStatus=ok', 'PlanError']
  ] as const) {
    const { traces } = (await call('GET', `/api/v1/search?${query}`)).body
    t.same(
      traces.map(({ firstError }: { firstError: { type: string } }) => firstError.type),
      [type],
      query
    )
  }
})

t.test('the list of spans and a search read the same errors', async t => {
  const { database, call } = await testService(t)
  const failed = (over: object) => ({ ...span({ name: 'pay', kind: 'tool', status: 'error' }), ...over })
  const spans = [
    failed({ output: { error: { type: 'CardError', message: 'the card expired' } } }),
    failed({ output: 'the bank refused' }),
    failed({ kind: 'llm', output: 'the model answered' }),
    failed({ attributes: { error: 'the purse is empty' }, input: LONG.repeat(4) }),
    failed({ name: 'heard' })
  ]
  const bodies = spans.map(one => ingestBody({ spans: [one] }))
  for (const body of bodies) t.equal((await call('POST', '/api/v1/traces', { body })).status, 201)
  const heard = { input: null, output: null, micros: 1, place: 0, digest: 'ab'.repeat(16) }
  await database.pool.run(sql =>
    addMessages(sql, 1, [
      {
        ...heard,
        traceId: bodies[4]!.trace.id,
        spanId: spans[4]!.id,
        event: JSON.stringify(thrown('LogError', 'the record tells'))
      }
    ])
  )
  const { body: listed } = await call('GET', '/api/v1/spans?status=error')
  const errors = new Map(listed.spans.map((one: { id: string; error: object }) => [one.id, one.error]))
  t.same(
    spans.map(({ id }) => errors.get(id)),
    [
      { type: 'CardError', message: 'the card expired' },
      { type: null, message: 'the bank refused' },
      { type: null, message: null },
      { type: null, message: 'the purse is empty' },
      { type: 'LogError', message: 'the record tells' }
    ]
  )
  for (const { firstError } of (await call('GET', '/api/v1/search?errors=true')).body.traces)
    t.match(firstError, errors.get(firstError.spanId), 'the summary has the same')
  const ids = async (query: string) =>
    (await call('GET', `/api/v1/search?${query}`)).body.traces.map(({ id }: { id: string }) => id)
  for (const [words, i] of [
    ['card+expired', 0],
    ['CardError', 0],
    ['refused', 1],
    ['purse', 3],
    ['LogError', 4],
    ['record+tells', 4]
  ] as const)
    t.same(await ids(`error=${words}`), [bodies[i]!.trace.id], words)
  t.same(await ids('error=answered'), [], "a model's output is not an error")
})

t.test('previews show messages that arrived as log records', async t => {
  const { call, database } = await testService(t)
  const [traceId, id] = [IDS[0]!, spanId()]
  const attributes = { 'gen_ai.operation.name': 'chat' }
  const body = exportOf(otlpSpan({ traceId, spanId: id, name: 'chat', attributes }))
  t.equal((await call('POST', '/api/v1/otlp/v1/traces', { body })).status, 200)
  const heard = { traceId, spanId: id, micros: 1, place: 0, digest: '00'.repeat(16) }
  const input = '[{"role":"user","content":"Where is the parcel?"}]'
  await database.pool.run(sql => addMessages(sql, 1, [{ ...heard, input, output: null }]))
  t.match((await call('GET', '/api/v1/search')).body.traces, [
    { id: traceId, inputPreview: 'Where is the parcel?', outputPreview: null }
  ])
})

t.test('numbers beyond the precision of a double are compared exactly', async t => {
  const { call } = await testService(t)
  const { trace } = ingestBody({ costUsd: 5e-324 })
  t.equal((await call('POST', '/api/v1/traces', { body: { schemaVersion: 1, trace } })).status, 201)
  const ids = async (query: string) => {
    const { status, body } = await call('GET', `/api/v1/search?${query}`)
    t.equal(status, 200, query)
    return body.traces?.map(({ id }: { id: string }) => id)
  }
  for (const [value, smaller] of [
    ['1e-400', true],
    ['12345678901234567890.123', false],
    ['1e308', false]
  ] as const) {
    const body = `{"name":"h","dataType":"numeric","value":${value}}`
    t.equal((await call('POST', `/api/v1/traces/${trace.id}/scores`, { body })).status, 201, value)
    t.same(await ids('score=h<1'), smaller ? [trace.id] : [], value)
    t.same(await ids('score=h>=1'), smaller ? [] : [trace.id], value)
    t.same(await ids('score=+h+>%3D+1+'), smaller ? [] : [trace.id], 'spaces make no difference')
  }
  t.same(await ids('minCostUsd=1e-400&maxCostUsd=5e-324&sort=costliest'), [trace.id])
  t.same(await ids('maxCostUsd=0'), [])
  t.same(await ids('minCostUsd=1.7976931348623157e308'), [])
})

t.test('an empty page names existing values', async t => {
  const { call, database } = await testService(t)
  const hint = async (query: string) => (await call('GET', `/api/v1/search?${query}`)).body.hint
  t.equal(await hint('name=run'), 'The project has no traces.')
  const steps = [span({ name: 'lookup_order' }), span({ name: 'answer' })]
  const more = { model: 'gpt-4o', userId: 'customer-7', sessionId: 'chat-1', tags: ['web', 'beta'], spans: steps }
  const { trace } = ingestBody({ name: 'answer-question', ...more })
  t.equal((await call('POST', '/api/v1/traces', { body: { schemaVersion: 1, trace } })).status, 201)
  const score = { name: 'helpfulness', dataType: 'numeric', value: 0.5 }
  t.equal((await call('POST', `/api/v1/traces/${trace.id}/scores`, { body: score })).status, 201)
  t.equal(await hint('name=answer-question'), null)
  t.equal(await hint('name=AnswerQuestion'), 'No trace has the name "AnswerQuestion". The nearest: "answer-question".')
  t.equal(await hint('model=gpt4o'), 'No trace has the model "gpt4o". The nearest: "gpt-4o".')
  t.equal(await hint('tag=web&tag=bta'), 'No trace has the tag "bta". The nearest: "beta".')
  t.equal(await hint('userId=customer7'), 'No trace has the user ID "customer7". The nearest: "customer-7".')
  t.equal(await hint('sessionId=x'), 'No trace has the session ID "x". The most frequent: "chat-1".')
  t.match(await hint('environment=prod'), /^No trace has the environment "prod"\. The most frequent: "unassigned"\.$/)
  t.equal(await hint('step=lookup'), 'No recent step is named "lookup". The nearest: "lookup_order".')
  t.equal(await hint('score=helpful<1'), 'No recent score is named "helpful". The nearest: "helpfulness".')
  const both = await hint('from=2030-01-01T00:00:00Z&model=gpt')
  t.match(both, /^No trace started in this period; the newest started at 2026-.*Z\. No trace has the model "gpt"/)
  const none = 'No trace meets all conditions.'
  const newest = `The newest trace started at ${trace.startedAt}.`
  t.equal(await hint('errors=true'), `${none} ${newest}`)
  t.equal(await hint('name=answer-question&tag=web&errors=true'), `${none} Each value exists. ${newest}`)
  for (const [stopped, said] of [
    [{ examined: 5000 }, 'No matches in the 5,000 traces searched so far.'],
    [{ examined: 1 }, 'No matches in the trace searched so far.'],
    [{}, 'No matches in the traces searched so far.']
  ] as const) {
    const empty = { sought: 'trace', values: {}, stopped }
    t.equal(await database.pool.run(sql => explainEmpty(sql, 1, empty)), `${said} ${newest}`)
  }
})

t.test('words can be combined with every other condition and sort', async t => {
  const service = await testService(t)
  const { call } = service
  await searchOn(service)
  const record = async (more: object) => {
    const body = ingestBody(more)
    t.equal((await call('POST', '/api/v1/traces', { body })).status, 201)
    return body.trace.id
  }
  const failed = {
    spans: [span({ name: 'pay', kind: 'tool', status: 'error', events: [thrown('CardError', 'declined')] })]
  }
  const slow = await record({ input: 'refund my order', endedAt: ENDS[2], tags: ['x', 'y'], userId: 'u' })
  const cheap = await record({
    startedAt: TIMES[2],
    input: 'the order was refunded',
    costUsd: 0.1,
    model: 'm',
    ...failed
  })
  const dear = await record({ output: ['a refund for this order'], costUsd: 0.9, userId: 'u', endedAt: ENDS[0] })
  await record({ input: 'nothing' })
  await indexNow(service)
  const search = async (query: string) => (await call('GET', `/api/v1/search?${query}`)).body
  const ids = async (query: string) => (await search(query)).traces.map(({ id }: { id: string }) => id)
  const all = await search('q=order')
  t.match(all, { index: { isFilled: false, backTo: null, waiting: 0 }, nextCursor: null, examined: 3 })
  t.match((await search('q=order&sort=slowest')).traces, [
    { id: slow, durationMs: 9000, excerpt: { place: 'input', text: 'refund my order', marks: [[10, 15]] } },
    { id: dear, durationMs: 1000 },
    { id: cheap, durationMs: 500 }
  ])
  t.same(await ids('q=order&sort=costliest'), [dear, cheap])
  const first = await search('q=order&sort=costliest&limit=1')
  t.match(await search(`q=order&sort=costliest&limit=1&after=${first.nextCursor}`), { traces: [{ id: cheap }] })
  t.same(await ids('q=refund&sort=slowest&userId=u'), [slow, dear])
  t.same(await ids('q=order&tag=x&tag=y'), [slow])
  t.same(await ids('q=order&errors=true'), [cheap])
  t.same(await ids('q=order&error=declined&stepKind=tool'), [cheap])
  t.same(await ids('q=order&error=declined&sort=slowest'), [cheap])
  t.same(await ids('q=order&error=accepted'), [])
  t.same(await ids('q=order&minCostUsd=0.5'), [dear])
  t.same(await ids('q=order&from=2026-11-21T12:00:00.5Z'), [cheap])
  t.same(await ids('q=%22my+order%22'), [slow])
})
