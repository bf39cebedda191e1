import t, { type Test } from 'tap'
import { StateCache } from '../../../lib/ingest/state-cache.ts'
import { prepare } from '../../../lib/trace/prepare.ts'
import { decide } from '../../../lib/trace/states/decide.ts'
import { changedState, type KeptState, startedState } from '../../../lib/trace/states/state-after.ts'
import { endBody, span, spansBody, startBody } from '../../fixtures/bodies/bodies.ts'
import { exportOf, otlpSpan } from '../../fixtures/bodies/otlp.ts'
import { testDatabase } from '../../fixtures/database/database.ts'
import { bytes, testWritePath, writer } from '../../fixtures/database/write-path.ts'

const key = writer()

function stateOf(spans: number): KeptState {
  const body = startBody({ tags: ['é', '"'], metadata: { k: 1 }, spans: Array.from({ length: spans }, () => span()) })
  const started = startedState(prepare('record', bytes(body)))
  return { ...started, seq: 7, version: 2 ** 53 - 1, environment: 'prod' }
}

t.test('a state is remembered until it is dropped', async t => {
  const running = new StateCache()
  const [first, second] = [stateOf(2), stateOf(0)]
  running.set('1/a', first)
  running.set('1/b', second)
  t.equal(running.get('1/a'), first)
  running.set('1/a', second)
  t.equal(running.get('1/a'), second, 'a later state replaces it')
  running.forget('1/a')
  t.equal(running.get('1/a'), undefined)
  t.equal(running.get('1/b'), second)
})

t.test(
  'the least recently used state is dropped, and traces with too many spans or too much metadata are not remembered',
  async t => {
    const running = new StateCache()
    const keys = Array.from({ length: 4000 }, (_, i) => `1/${i}`)
    const state = stateOf(200)
    for (const key of keys) {
      running.set(key, state)
      running.set('1/0', state)
    }
    const known = keys.filter(key => running.get(key) !== undefined)
    t.ok(known.length > 500 && known.length < 4000, `${known.length} of 4000 are remembered`)
    t.same(known, ['1/0', ...keys.slice(4001 - known.length)])

    running.set('1/0', { ...state, spanHashes: new Map([0, 1, 2].flatMap(() => [...stateOf(200).spanHashes])) })
    t.equal(running.get('1/0'), undefined, 'nor is its old state')
    running.set('1/0', { ...state, metadata: `{"k":"${'x'.repeat(50_000)}"}` })
    t.equal(running.get('1/0'), undefined)
  }
)

t.test('a grown trace releases as much as it took', async t => {
  const running = new StateCache()
  const keys = Array.from({ length: 16000 }, (_, i) => `1/${i}`)
  const fill = () => {
    for (const key of keys) running.set(key, stateOf(0))
    return keys.filter(key => running.get(key) !== undefined).length
  }
  const before = fill()
  t.ok(before < keys.length)
  for (let i = 0; i < 500; i++) {
    const state = stateOf(0)
    const spans = Array.from({ length: 100 }, () => span())
    const append = prepare('append', bytes(spansBody(...spans)))
    const decision = decide(state, { ...append, environment: 'prod' })
    if (decision.type !== 'change') throw new Error(decision.type)
    running.set('1/grown', state)
    running.set('1/grown', changedState(state, decision.change, i))
    t.equal(running.get('1/grown')?.spanHashes.size, 100)
    running.forget('1/grown')
  }
  t.equal(fill(), before)
})

/** Returns a write path, and counts its reads of stored states. */
async function countedPath(t: Test) {
  const database = await testDatabase(t)
  const read = { looks: 0 }
  const counted = <T extends { unsafe(text: string, ...rest: never[]): unknown }>(sql: T): T => {
    const { unsafe } = sql
    sql.unsafe = (text, ...rest) => {
      if (text.includes('"spanCount"')) read.looks++
      return unsafe(text, ...rest)
    }
    return sql
  }
  const connect = (...request: Parameters<typeof database.connect>) => counted(database.connect(...request))
  return { path: testWritePath(t, { ...database, connect }), read, database }
}

t.test('exports of one trace take one look, for its first spans, until it is complete', async t => {
  const { path, read, database } = await countedPath(t)
  const traceId = '5'.repeat(32)
  const root = otlpSpan({ traceId, start: 0, end: 100, attributes: { 'output.value': 'answer '.repeat(50) } })
  const step = (i: number) =>
    otlpSpan({ traceId, parentSpanId: root.spanId, start: i, attributes: { 'output.value': `step ${i} `.repeat(50) } })
  const steps = Array.from({ length: 6 }, (_, i) => step(i))
  const outputs = []
  for (const spans of [steps.slice(0, 2), steps.slice(2, 4), steps.slice(4), [root]]) {
    await path.export(key, bytes(exportOf(...spans)), 'json')
    outputs.push(
      ...(await database.pool.run(
        sql => sql`select encode(output_span_id, 'hex') as id, output_bytes as bytes, output from traces`
      ))
    )
  }
  t.equal(read.looks, 1)
  t.same(
    outputs,
    [steps[1]!, steps[3]!, steps[5]!, root].map(({ spanId }) => ({ id: spanId, bytes: 352, output: null })),
    'the output is always the last step, and is read from its span'
  )
  await path.export(key, bytes(exportOf(step(7))), 'json')
  t.equal(read.looks, 2, 'the trace was complete')
  await path.export(key, bytes(exportOf(...steps)), 'json')
  t.equal(read.looks, 3, 'a resend')
})

t.test('remembered states serve appends and ends without a look; responses without a write take one', async t => {
  const { path, read } = await countedPath(t)
  const start = startBody()
  await path.record(key, bytes(start))
  const [first, second] = [bytes(spansBody(span())), bytes(spansBody(span()))]
  for (const body of [first, second]) t.match(await path.append(key, start.trace.id, body), { added: 1 })
  t.equal(read.looks, 0)
  t.match(await path.append(key, start.trace.id, first), { added: 0, duplicate: 1, spanCount: 2 })
  t.equal(read.looks, 1, 'a resend')
  t.match(await path.end(key, start.trace.id, bytes(endBody())), { duplicate: false, spanCount: 2 })
  t.equal(read.looks, 1)
  t.match(await path.end(key, start.trace.id, bytes(endBody())), { duplicate: true })
  t.equal(read.looks, 2, 'the trace has ended')
})

t.test('a large start is remembered like any other', async t => {
  const database = await testDatabase(t)
  const path = testWritePath(t, database)
  const { trace } = startBody({ input: 'x'.repeat(100_000) })
  await path.record(key, bytes({ schemaVersion: 1, trace }))
  // Only a query would show that the trace is gone. The append is decided from the cached state, and undone because no
  // stored trace has the cached version.
  await database.pool.run(sql => sql`delete from traces`)
  await t.rejects(path.append(key, trace.id, bytes(spansBody(span()))), { code: 'not_found' })
})

t.test('a remembered state does not overwrite what another process has added since', async t => {
  const database = await testDatabase(t)
  const here = testWritePath(t, database)
  const there = testWritePath(t, database)
  const { trace } = startBody()
  await here.record(key, bytes({ schemaVersion: 1, trace }))
  const [first, second] = [span(), span()]
  t.match(await there.append(key, trace.id, bytes(spansBody(first))), { added: 1, spanCount: 1 })
  t.match(await here.append(key, trace.id, bytes(spansBody(second))), { added: 1, duplicate: 0, spanCount: 2 })
  t.match(await there.append(key, trace.id, bytes(spansBody(second))), { added: 0, duplicate: 1, spanCount: 2 })
  t.match(await here.append(key, trace.id, bytes(spansBody(first))), { added: 0, duplicate: 1, spanCount: 2 })
  t.match(await there.end(key, trace.id, bytes(endBody())), { duplicate: false, spanCount: 2 })
  await t.rejects(here.append(key, trace.id, bytes(spansBody(span()))), { message: 'the trace has already ended' })
})
