/** Tests GET /api/v1/search against its definition, for random histories and queries, and its rules for parameters. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { SCHEMA_NAMES } from '../../lib/database/tables.ts'
import type { TraceSearchQuery } from '../../lib/schema/search.ts'
import { type FindBounds, findTraces } from '../../lib/store/finding/find-traces.ts'
import type { Edge } from '../../lib/store/lists/cursor.ts'
import { readSearch } from '../../plugins/search.ts'
import { endBody, span, spanId, spansBody } from '../fixtures/bodies/bodies.ts'
import { exportOf, otlpSpan } from '../fixtures/bodies/otlp.ts'
import { expectedIds } from '../fixtures/found-model.ts'
import { type TestService, testService } from '../fixtures/service/service.ts'
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
      { events: [thrown('ValueError', 'Order is unknown')] }
    ),
    endedAt: fc.constantFrom(...ENDS)
  })
  .map(({ more, ...fields }) => ({ ...span({ ...fields, startedAt: TIMES[0] }), ...more }))
const spans = fc.array(someSpan, { maxLength: 3 })
const fields = some({
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
      .map(([id, end, { sessionId: _, userId: __, ...more }, spans]) =>
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
  { weight: 1, arbitrary: id.map(id => call('DELETE', `/${id}`)) }
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
      step: fc.constantFrom(...NAMES),
      stepKind: fc.constantFrom(...KINDS),
      stepStatus: fc.constant('error'),
      error: fc.constantFrom('timeouterror', 'RateLimit', 'shop answer', 'answer order', '!'),
      errors: fc.boolean(),
      score: fc.array(fc.constantFrom('h<0.6', 'h>=0.5', 'g=good', 'g=true', 'h=0.50', 'g<=9e-1'), {
        minLength: 1,
        maxLength: 2
      }),
      annotated: fc.boolean(),
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
    return fc.subarray(keys, { maxLength: Math.min(3, keys.length) }).map(kept => ({
      ...Object.fromEntries(Object.entries({ ...listed, ...found, ...times }).filter(([key]) => kept.includes(key))),
      ...sort
    }))
  }) as fc.Arbitrary<TraceSearchQuery>

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
      const page = await findTraces(sql, 1, { ...asked, query: { ...asked.query, after } }, SCHEMA_NAMES, bounds)
      ids.push(...page!.found.map(({ id }) => id))
      if (page!.reached === undefined) assert.ok(page!.next === undefined || page!.found.length === limit)
      after = page!.next
    }
  })
  return ids
}

t.test('random searches of random histories find what their definition says', async t => {
  const service = await testService(t)
  await fc.assert(
    fc
      .asyncProperty(
        fc.array(step, { minLength: 6, maxLength: 25 }),
        fc.array(fc.tuple(someQuery, fc.integer({ min: 1, max: 5 }), someBounds), { minLength: 12, maxLength: 12 }),
        async (steps, queries) => {
          for (const each of steps) await each(service)
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
})
