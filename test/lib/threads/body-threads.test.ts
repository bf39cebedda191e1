import { createRequire } from 'node:module'
import { setTimeout as delay } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { createLog } from '../../../lib/log.ts'
import { BodyThreads } from '../../../lib/threads/body-threads.ts'
import { makeReady, type ReadyExport, type ReadyRecord } from '../../../lib/threads/ready.ts'
import { endBody, ingestBody, span, spansBody, startBody } from '../../fixtures/bodies/bodies.ts'
import { exportOf, otlpSpan } from '../../fixtures/bodies/otlp.ts'
import { freshId } from '../../fixtures/database/seed.ts'
import { bytes } from '../../fixtures/database/write-path.ts'

const log = createLog('silent')
const bodyOf = (length: number) => Buffer.from(JSON.stringify(ingestBody({ input: 'x'.repeat(length) })))
const CALM = { environment: null, hurries: false }

t.test('small bodies are prepared on the main thread and large ones on a thread, with the same result', async t => {
  const threads = new BodyThreads(1, log)
  t.teardown(() => threads.close())
  for (const length of [10, 100_000]) {
    t.match(await threads.makeReady({ operation: 'record', body: bodyOf(length), ...CALM }), {
      operation: 'record'
    })
    const refused = threads.makeReady({
      operation: 'append',
      body: bodyOf(length),
      ...CALM
    })
    await t.rejects(refused, { code: 'invalid_trace', message: 'spans: is required' })
  }
})

t.test('creates the rows of all spans, and drops the texts that they contain', async t => {
  const threads = new BodyThreads(1, log)
  t.teardown(() => threads.close())
  for (const length of [10, 100_000]) {
    const spans = [span({ output: 'x'.repeat(length) }), span()]
    for (const [operation, body] of [
      ['append', spansBody(...spans)],
      ['end', endBody({ spans })]
    ] as const) {
      const ready = await threads.makeReady({ operation, body: bytes(body), ...CALM })
      t.match(ready, { operation, spans: spans.map(({ id }) => ({ id })), rows: { spans: [0, Number] } })
      t.notMatch(ready, { spans: [{ output: String }] })
    }
  }
})

t.test('an export keeps its settings if a thread receives it with other bodies', async t => {
  const threads = new BodyThreads(1, log)
  t.teardown(() => threads.close())
  const traceId = freshId(32)
  const attributes = { tenant: 'acme', padding: 'x'.repeat(1000) }
  const body = bytes(exportOf(...Array.from({ length: 30 }, () => otlpSpan({ traceId, attributes }))))
  const settings = { maxSpans: 10, tagNames: ['tenant'] }
  const [, ready] = await Promise.all([
    threads.makeReady({ operation: 'record', body: bodyOf(30_000), ...CALM }),
    threads.makeReady({ operation: 'export-json', body, ...CALM, ...settings })
  ])
  const [trace] = (ready as ReadyExport).traces
  t.match(trace?.refusals, [{ reason: 'too_many' }])
  t.ok(Buffer.from(trace!.first!.rows.bytes).includes('tenant:acme'))
})

t.test('if more bodies arrive than a thread receives together, each gets its own result', async t => {
  const threads = new BodyThreads(2, log)
  t.teardown(() => threads.close())
  const lengths = Array.from({ length: 64 }, (_, i) => (i % 16 === 5 ? 200_000 : 5_000 + i))
  const bodies = lengths.map((length, i) =>
    ingestBody({ input: 'x'.repeat(length), ...(i % 7 === 3 && { status: `s${i}` }) })
  )
  const outcomes = await Promise.allSettled(
    bodies.map(body => threads.makeReady({ operation: 'record', body: bytes(body), ...CALM }))
  )
  for (const [i, outcome] of outcomes.entries()) {
    if (i % 7 === 3) t.match(outcome, { reason: { code: 'invalid_trace', message: /^trace\.status: / } })
    else t.match(outcome, { value: { operation: 'record', traceId: bodies[i]?.trace.id } })
  }
})

t.test('while few requests are in flight, a medium-sized body needs no thread, with the same rows', async t => {
  const threads = new BodyThreads(1, log)
  t.teardown(() => threads.close())
  const spans = [span({ output: 'x'.repeat(10_000) }), span()]
  const exported = exportOf(otlpSpan({ attributes: { 'input.value': 'y'.repeat(10_000) } }))
  const tasks = [
    { operation: 'record', body: bytes(ingestBody({ spans })), ...CALM },
    { operation: 'record', body: bytes(startBody({ input: 'x'.repeat(10_000) })), ...CALM },
    { operation: 'append', body: bytes(spansBody(...spans)), ...CALM },
    { operation: 'end', body: bytes(endBody({ spans })), ...CALM },
    { operation: 'export-json', body: bytes(exported), ...CALM }
  ] as const
  const inline = await Promise.all(tasks.map(task => threads.makeReady(task, true)))
  t.same(threads.heaps, [], 'no thread has started')
  for (const [i, task] of tasks.entries())
    t.same(plain(inline[i]), plain(await threads.makeReady(task)), task.operation)
  t.equal(threads.heaps.length, 1)
})

/** Returns what `ready` contains. Byte arrays may be parts of larger ones. */
const plain = (ready: unknown) =>
  JSON.stringify(ready, (_, value) => {
    if (value instanceof Map) return [...value]
    return value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value
  })

t.test("a running trace's state does not keep its body in memory", async t => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const threads = new BodyThreads(1, log)
  t.teardown(() => threads.close())
  const start = async () => {
    const body = bytes(
      startBody({ input: 'x'.repeat(30_000), userId: 'a user whose name is long enough to be a slice' })
    )
    const ready = (await threads.makeReady({ operation: 'record', body, ...CALM }, true)) as ReadyRecord
    return ready.started
  }
  await start()
  collectGarbage()
  const before = process.memoryUsage().heapUsed
  const states: unknown[] = []
  for (let i = 0; i < 300; i++) states.push(await start())
  collectGarbage()
  const each = (process.memoryUsage().heapUsed - before) / states.length
  t.ok(each < 10_000, `${Math.round(each)} bytes each`)
})

t.test('waits for a thread that is loading, and for its work', async t => {
  const threads = new BodyThreads(1, log)
  const made = threads.makeReady({ operation: 'record', body: bodyOf(100_000), ...CALM })
  await delay(1)
  await threads.close()
  t.match(await made, { operation: 'record' })
})

t.test('shuts down cleanly at any moment of its threads’ start', async t => {
  for (let moment = 0; moment < 4; moment++) {
    const threads = new BodyThreads(1, log)
    const made = threads.makeReady({
      operation: 'record',
      body: bodyOf(100_000),
      ...CALM
    })
    await delay(moment * 120)
    await Promise.all([made.catch(() => {}), threads.close()])
  }
  t.pass('the process is alive')
})

t.test('a body that needs more memory than a thread has is rejected, without affecting others', async t => {
  const threads = new BodyThreads(1, log, 64)
  t.teardown(() => threads.close())
  const greedy = Buffer.from(`{"a":[${'{"b":{}},'.repeat(660_000)}{}]}`)
  const makeGreedy = () => threads.makeReady({ operation: 'export-json', body: greedy, ...CALM })
  const makeRecord = (length: number) => threads.makeReady({ operation: 'record', body: bodyOf(length), ...CALM })
  // A thread receives more jobs than it runs at once, so that some jobs wait for it when it dies.
  const lengths = Array.from({ length: 12 }, (_, i) => 170_000 + i)
  const [first, second, ...records] = await Promise.allSettled([
    makeGreedy(),
    makeGreedy(),
    ...lengths.map(makeRecord),
    makeRecord(5_000)
  ])
  for (const each of [first, second]) {
    t.match(each, { reason: { code: 'payload_too_large', message: /^body: needs more memory/ } })
  }
  for (const record of records) t.match(record, { value: { operation: 'record' } })
  t.match(await makeRecord(100_000), { operation: 'record' }, 'and it continues')
})

t.test('prices are loaded only on a thread, and are then known on the main thread', async t => {
  const threads = new BodyThreads(1, log)
  t.teardown(() => threads.close())
  const call = {
    ...{ 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'openai', 'gen_ai.response.model': 'gpt-4o' },
    'gen_ai.usage.input_tokens': 1_000_000
  }
  const body = bytes(exportOf(otlpSpan({ attributes: call })))
  const task = { operation: 'export-json' as const, body, ...CALM, prices: [] }
  t.throws(() => makeReady(task, false), { message: 'the prices are not loaded on this thread' })
  const first = (await threads.makeReady(task)) as ReadyExport
  const { heaps } = threads
  t.equal(heaps.length, 1, 'it was sent to a thread')
  t.match(makeReady(task, false), { ready: { traces: [{ first: { rows: { keys: { costUsd: 2.5 } } } }] } })
  t.match(first.traces, [{ first: { rows: { keys: { costUsd: 2.5 } } } }])
  t.notOk(Object.keys(createRequire(import.meta.url).cache).some(name => name.includes('genai-prices')))
})
