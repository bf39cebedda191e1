/** Tests the lists of spans and of failures over random histories, against the details of all traces. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { pruneAll } from '../../lib/admin/upkeep/pruning.ts'
import type { FailureListQuery, SpanListQuery } from '../../lib/schema/history/span-list.ts'
import { type FailureQuery, groupFailures } from '../../lib/store/failures/read-failures.ts'
import { renderGroup } from '../../lib/store/failures/render-group.ts'
import type { Edge } from '../../lib/store/lists/cursor.ts'
import { listSpans, type SpanQuery } from '../../lib/store/spans/span-list.ts'
import { type Failure, FailureGroups } from '../../lib/trace/failures/failure-groups.ts'
import { failureOfStep } from '../../lib/trace/failures/step-failure.ts'
import { readFailureQuery, readSpanQuery } from '../../plugins/spans.ts'
import { AT, endBody, ingestBody, LATER, span, spansBody, startBody, traceId } from '../fixtures/bodies/bodies.ts'
import { exportOf, otlpSpan } from '../fixtures/bodies/otlp.ts'
import { relabelAll } from '../fixtures/database/upkeep.ts'
import { testService } from '../fixtures/service/service.ts'
import { runs } from '../torture/orders.ts'

const TRACES = '/api/v1/traces'
const RANGE = { from: '2026-11-01T00:00:00.000Z', to: '2026-11-30T00:00:00.000Z' }
const TIMES = ['2026-11-21T12:00:00.000Z', '2026-11-21T12:00:00.000001Z', '2026-11-21T12:00:01.000Z']
const PATHS = { spans: '/api/v1/spans', errors: '/api/v1/errors' }

const someEvent = fc.record({
  name: fc.constantFrom('exception', 'retry'),
  timestamp: fc.constant(AT),
  attributes: fc.constantFrom({ 'exception.type': 'TypeError', 'exception.message': 'bad order 12' }, { n: 1 })
})
const someText = fc.constantFrom(undefined, 'short', { error: 'no stock of 17' }, { long: 'word '.repeat(400) })
const someSpan = fc.record({
  name: fc.constantFrom('chat', 'lookup'),
  kind: fc.constantFrom('llm', 'tool', 'chain'),
  status: fc.constantFrom('ok', 'error', 'error', 'unset'),
  startedAt: fc.constantFrom(...TIMES),
  endedAt: fc.constantFrom(LATER, '2026-11-21T12:00:01.000400Z', '2026-11-21T12:00:04.000Z'),
  model: fc.constantFrom(undefined, 'm'),
  input: someText,
  output: someText,
  attributes: fc.constantFrom(undefined, {}, { 'error.type': '429' }, { 'error.message': 'no route to /a/b/c' }),
  events: fc.array(someEvent, { maxLength: 2 }),
  costUsd: fc.constantFrom(undefined, 0, 0.1),
  isChild: fc.boolean()
})
const someSpans = fc.array(someSpan, { maxLength: 4 })
const which = fc.nat(5)
const someStep = fc.oneof(
  fc.record({
    do: fc.constant('record' as const),
    at: fc.constantFrom(...TIMES),
    spans: someSpans,
    fails: fc.boolean(),
    pick: fc.nat(15)
  }),
  fc.record({
    do: fc.constant('record' as const),
    at: fc.constantFrom(...TIMES),
    spans: someSpans,
    fails: fc.boolean(),
    pick: fc.nat(15)
  }),
  fc.record({ do: fc.constant('start' as const), at: fc.constantFrom(...TIMES), spans: someSpans, pick: fc.nat(15) }),
  fc.record({ do: fc.constant('append' as const), which, spans: someSpans.filter(spans => spans.length > 0) }),
  fc.record({ do: fc.constant('end' as const), which, fails: fc.boolean() }),
  fc.record({ do: fc.constant('export' as const), which, start: fc.nat(3), fails: fc.boolean() }),
  fc.record({ do: fc.constantFrom('patch' as const, 'score' as const, 'delete' as const), which }),
  fc.record({
    do: fc.constant('prune' as const),
    conditions: fc.constantFrom<object>({ name: 'ask' }, { tag: 'b' }, { status: 'error' })
  }),
  fc.record({
    do: fc.constant('relabel' as const),
    environment: fc.constantFrom('production', 'unassigned', 'other'),
    tag: fc.constantFrom(undefined, 'b')
  })
)

const someFilters = {
  environment: fc.constantFrom('production', 'unassigned'),
  traceName: fc.constantFrom('ask', 'run', 'nothing'),
  tag: fc.constantFrom('prompt:v1', 'b'),
  userId: fc.constantFrom('u', 'nobody'),
  sessionId: fc.constant('s')
}

/** Returns spans to send; each may be a child of the one before. */
function spansOf(given: typeof someSpans extends fc.Arbitrary<infer T> ? T : never) {
  let parentSpanId: string | null = null
  return given.map(({ isChild, ...fields }) => {
    const one = span({ ...fields, parentSpanId: isChild ? parentSpanId : null })
    parentSpanId = one.id
    return one
  })
}

/** Returns fields by which lists filter traces. */
const fieldsOf = (pick: number) => ({
  name: pick & 1 ? 'ask' : 'run',
  ...(pick & 2 && { userId: 'u' }),
  ...(pick & 4 && { tags: ['prompt:v1', 'b'] }),
  ...(pick & 8 && { sessionId: 's' })
})

type Query = { readonly [name in keyof SpanListQuery]?: SpanListQuery[name] | undefined }

// biome-ignore lint/suspicious/noExplicitAny: details of traces.
type Any = any

t.test('over random histories', async t => {
  const { app, call, database, makeKey, makeProject } = await testService(t)
  let projects = 0

  await fc.assert(
    fc.asyncProperty(
      fc.array(someStep, { maxLength: 14, size: 'max' }),
      fc.array(
        fc.record(
          {
            kind: fc.constantFrom('llm', 'tool'),
            name: fc.constantFrom('chat', 'lookup', 'nothing'),
            status: fc.constantFrom('ok', 'error'),
            model: fc.constant('m'),
            ...someFilters,
            sort: fc.constantFrom('newest', 'slowest'),
            minDurationMs: fc.constantFrom(0, 1000, 1001, 4000),
            withoutCost: fc.boolean(),
            from: fc.constantFrom(...TIMES),
            to: fc.constantFrom(...TIMES),
            traceId: which,
            texts: fc.boolean(),
            limit: fc.integer({ min: 1, max: 5 })
          },
          { requiredKeys: ['limit'] }
        ),
        { minLength: 4, maxLength: 4 }
      ),
      fc.array(fc.record({ ...someFilters, model: fc.constant('m') }, { requiredKeys: [] }), { maxLength: 2 }),
      async (steps, queries, filters) => {
        const slug = `random-${++projects}`
        const projectId = Number(await makeProject(slug))
        const { key } = await makeKey({ project: slug })
        const { key: labelled } = await makeKey({ project: slug, environment: 'production' })
        const send = (method: string, path: string, body?: object) => call(method, path, { key, body })
        const ids: string[] = []
        for (const step of steps) {
          const id = 'which' in step ? (ids[step.which % Math.max(ids.length, 1)] ?? traceId()) : traceId()
          const at = `${TRACES}/${id}`
          if (step.do === 'record') {
            const status = step.fails ? 'error' : 'ok'
            const over = { id, startedAt: step.at, status, spans: spansOf(step.spans), ...fieldsOf(step.pick) }
            await call('POST', TRACES, {
              key: step.fails ? key : labelled,
              body: ingestBody({ ...over, endedAt: LATER })
            })
          } else if (step.do === 'start')
            await send(
              'POST',
              TRACES,
              startBody({ id, startedAt: step.at, spans: spansOf(step.spans), ...fieldsOf(step.pick) })
            )
          else if (step.do === 'append') await send('POST', `${at}/spans`, spansBody(...spansOf(step.spans)))
          else if (step.do === 'end') await send('POST', `${at}/end`, endBody({ status: step.fails ? 'error' : 'ok' }))
          else if (step.do === 'export') {
            const spans = [0, 1].map(i => otlpSpan({ traceId: id, start: step.start + i, status: step.fails ? 2 : 0 }))
            await send('POST', '/api/v1/otlp/v1/traces', exportOf(...spans))
          } else if (step.do === 'patch') await send('PATCH', at, { metadata: { seen: true } })
          else if (step.do === 'score')
            await send('POST', `${at}/scores`, { name: 'n', dataType: 'boolean', value: true })
          else if (step.do === 'prune') await database.pool.run(sql => pruneAll(sql, projectId, step.conditions))
          else if (step.do === 'relabel') {
            const { environment, tag } = step
            await database.pool.run(sql => relabelAll(sql, { project: slug, environment, tag }))
          } else await send('DELETE', at)
          if (!ids.includes(id)) ids.push(id)
        }
        const details: Any[] = []
        for (const id of ids) {
          const { status, body } = await send('GET', `${TRACES}/${id}`)
          if (status === 200) details.push(body)
        }
        for (const given of queries) {
          const id = ids[(given.traceId ?? 0) % ids.length]
          const query = { ...given, traceId: given.traceId === undefined ? undefined : id }
          await checkSpans(query, details, projectId, key)
        }
        await checkErrors({}, details, projectId, key)
        for (const filter of filters) await checkErrors(filter, details, projectId, key)
      }
    ),
    runs(25)
  )

  async function checkSpans(query: Query, details: readonly Any[], projectId: number, key: string) {
    const expected = details
      .filter(({ trace }) => isMet(query, trace))
      .flatMap(({ trace, spans }) => spans.map((each: Any) => ({ ...each, trace })))
      .filter(each => isOfQuery(query, each))
      .sort((a, b) => (query.sort === 'slowest' ? lengthOf(b) - lengthOf(a) : 0) || compare(placeOf(b), placeOf(a)))
    const isSlowest = query.sort === 'slowest'
    if (isSlowest) expected.splice(query.limit ?? 50)
    const plain = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]))
    const listed: Any[] = []
    for (let after: string | null = ''; after !== null; ) {
      const parameters = new URLSearchParams([...plain, ...(after === '' ? [] : [['after', after]])] as [
        string,
        string
      ][])
      const { status, body, text } = await call('GET', `${PATHS.spans}?${parameters}`, { key })
      assert.equal(status, 200, text)
      assert.equal(body.reached, null)
      assert.ok(body.nextCursor === null || (body.spans.length === query.limit && !isSlowest))
      listed.push(...body.spans)
      after = body.nextCursor
    }
    assert.deepEqual(
      listed.map(({ id }) => id),
      expected.map(({ id }) => id)
    )
    for (const [i, { trace, ...whole }] of expected.entries()) {
      const { input, output, attributes, events, ...head } = whole
      const size = (value: unknown, absent: string) =>
        JSON.stringify(value) === absent ? 0 : Buffer.byteLength(JSON.stringify(value))
      assert.deepEqual(listed[i], {
        ...(query.texts ? whole : head),
        traceName: trace.name,
        environment: trace.environment,
        error: whole.status === 'error' ? failureIn(whole) : null,
        inputBytes: size(input, 'null'),
        outputBytes: size(output, 'null'),
        attributesBytes: size(attributes, '{}'),
        eventCount: events.length
      })
    }
    if (isSlowest) return
    // A walk with narrow bounds finds the same spans, page by page.
    const ids: string[] = []
    for (let after: Edge | undefined, isFirst = true; isFirst || after !== undefined; isFirst = false) {
      const asked: SpanQuery = { ...readSpanQuery(query as SpanListQuery), after }
      const page = await app.sql.readOf(projectId, (sql, names) =>
        listSpans(sql, projectId, asked, names, { traces: 2, ms: 1e9 })
      )
      const spans = JSON.parse(page.spans)
      ids.push(...spans.map(({ id }: Any) => id))
      assert.ok(page.next === undefined || spans.length === query.limit || page.reached !== undefined)
      after = page.next
    }
    assert.deepEqual(
      ids,
      expected.map(({ id }) => id)
    )
  }

  async function checkErrors(filter: Query, details: readonly Any[], projectId: number, key: string) {
    const failures = details
      .filter(({ trace }) => isMet(filter, trace))
      .sort((a, b) => compare(startOf(b.trace), startOf(a.trace)))
      .flatMap(failuresIn)
      .filter(({ model }) => filter.model === undefined || model === filter.model)
    for (const kind of [undefined, 'tool', 'trace']) {
      const groups = new FailureGroups()
      const own = failures.filter(failure => kind === undefined || failure.kind === kind)
      for (const failure of own) groups.add(failure)
      const expected = groups.list().map(group => JSON.parse(renderGroup(group)))
      const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined))
      const query = new URLSearchParams({ ...RANGE, ...(kind !== undefined && { kind }), ...(given as object) })
      const { status, body, text } = await call('GET', `${PATHS.errors}?${query}`, { key })
      assert.equal(status, 200, text)
      assert.deepEqual(withoutExample(body.errors), withoutExample(expected))
      for (const { example, ...group } of body.errors) {
        assert.ok(
          own.some(each => each.traceId === example.traceId && each.spanId === example.spanId && sameGroup(each, group))
        )
      }
      const { errors: _, steps, ...rest } = body
      assert.deepEqual(
        steps.map(({ traces, ...step }: Any) => step),
        groups.steps().map(({ traces, ...step }) => step)
      )
      assert.deepEqual(
        steps.map(({ traces }: Any) => traces),
        groups.steps().map(({ traces }) => traces.size)
      )
      assert.deepEqual(rest, {
        ...{ ...RANGE, failureCount: own.length, groupCount: expected.length, complete: true, reached: null },
        hint: body.hint,
        ...{ nextCursor: null, pageSize: 50 }
      })
      // Calls with narrow bounds together count the same failures.
      for (const bounds of [
        { traces: 3, ms: 1e9, bytes: 3000 },
        { traces: 1000, ms: 0, bytes: 1e9 }
      ]) {
        let count = 0
        for (let after: Edge | undefined, isFirst = true; isFirst || after !== undefined; isFirst = false) {
          const asked: FailureQuery = { ...readFailureQuery({ ...RANGE, kind, ...filter } as FailureListQuery), after }
          const found = await app.sql.readOf(projectId, (sql, names) =>
            groupFailures(sql, projectId, asked, names, bounds)
          )
          count += found.count
          assert.equal(found.reached !== undefined, found.next !== undefined)
          after = found.next
        }
        assert.equal(count, own.length)
      }
    }
  }
})

const sameGroup = (failure: Failure, group: Any): boolean => failure.kind === group.kind && failure.name === group.name
const withoutExample = (groups: readonly Any[]) => groups.map(({ example: _, ...group }) => group)
const micros = (time: string): string => time.slice(0, -1).padEnd(26, '0')
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
const startOf = ({ startedAt, id }: Any): string => micros(startedAt) + id
const placeOf = (each: Any): string => startOf(each.trace) + startOf(each)

const lengthOf = ({ startedAt, endedAt }: Any): number => {
  const at = (time: string) => Date.parse(time) * 1000 + Number(micros(time).slice(23))
  return at(endedAt) - at(startedAt)
}

const isMet = (query: Query, trace: Any): boolean =>
  isOfTime(query, trace) &&
  (query.traceName === undefined || query.traceName === trace.name) &&
  (query.tag === undefined || trace.tags.includes(query.tag)) &&
  (query.userId === undefined || query.userId === trace.userId) &&
  (query.sessionId === undefined || query.sessionId === trace.sessionId)

const isOfTime = ({ environment, from, to, traceId }: Query, trace: Any): boolean =>
  (environment === undefined || environment === (trace.environment ?? 'unassigned')) &&
  (from === undefined || micros(from) <= micros(trace.startedAt)) &&
  (to === undefined || micros(to) >= micros(trace.startedAt)) &&
  (traceId === undefined || traceId === trace.id)

const isOfQuery = ({ kind, name, status, model, minDurationMs = 0, withoutCost }: Query, each: Any): boolean =>
  (withoutCost !== true || each.costUsd === null) &&
  [
    [kind, each.kind],
    [name, each.name],
    [status, each.status],
    [model, each.model]
  ].every(([wanted, value]) => wanted === undefined || wanted === value) &&
  each.durationMs >= minDurationMs

const failureIn = ({ kind, output, attributes, events }: Any) =>
  failureOfStep({
    kind,
    output: JSON.stringify(output),
    attributes: JSON.stringify(attributes),
    events: JSON.stringify(events)
  })

function failuresIn({ trace, spans }: Any): Failure[] {
  const failed = spans.filter(({ status }: Any) => status === 'error')
  const parents = new Set(failed.map(({ parentSpanId }: Any) => parentSpanId))
  if (failed.length === 0 && trace.status === 'error') {
    const own = failureIn({ ...trace, kind: 'trace', attributes: trace.metadata, events: null })
    const { id, name, startedAt } = trace
    return [{ ...own, kind: 'trace', name, model: null, traceId: id, spanId: null, at: startedAt, isPassedOn: false }]
  }
  return failed.map((each: Any) => ({
    ...failureIn(each),
    ...{ kind: each.kind, name: each.name, model: each.model, traceId: trace.id, spanId: each.id, at: each.startedAt },
    isPassedOn: parents.has(each.id)
  }))
}
