/** Tests one lane alone, with a real database and without a queue. */

import t, { type Test } from 'tap'
import { CopyConnection } from '../../../lib/database/copy-connection.ts'
import { Pool } from '../../../lib/database/pool.ts'
import { ExportWrite } from '../../../lib/ingest/exports/export-write.ts'
import type { Pending } from '../../../lib/ingest/pending.ts'
import { StateCache } from '../../../lib/ingest/state-cache.ts'
import { Writer } from '../../../lib/ingest/writer.ts'
import { createLog } from '../../../lib/log.ts'
import type { SpanRows } from '../../../lib/rows/copy-rows.ts'
import { KnownFloors } from '../../../lib/store/rankings/known-floors.ts'
import { SearchedProjects } from '../../../lib/store/search/searched-projects.ts'
import { makeReady, type ReadyExport, type ReadyRecord, type ReadySpans } from '../../../lib/threads/ready.ts'
import { encodeSpans } from '../../../lib/threads/sent-spans.ts'
import { endBody, ingestBody, span, spansBody, startBody } from '../../fixtures/bodies/bodies.ts'
import { exportOf, otlpSpan } from '../../fixtures/bodies/otlp.ts'
import { testDatabase } from '../../fixtures/database/database.ts'
import { testRelay } from '../../fixtures/database/relay.ts'
import { freshId, seedProject } from '../../fixtures/database/seed.ts'
import { bytes } from '../../fixtures/database/write-path.ts'
import { makePending } from './make-pending.ts'

const database = await testDatabase(t)
const projectId = await database.pool.run(seedProject)
const stored = (traceId: string) =>
  database.pool.run(async sql => {
    const [row] = await sql`
      select status, span_count as spans, name from traces where project_id = ${projectId} and id = ${traceId}`
    return row && { ...row }
  })

/** Returns a lane and the operations that it sent back to the queue. */
function lane(t: Test, connect = database.connect, log = createLog('silent')) {
  const pool = new Pool(onClose => connect({ onClose }), { size: 1 })
  const sentBack: [Pending, number][] = []
  const again = (pending: Pending, pauseMs: number) => void sentBack.push([pending, pauseMs])
  const { limit } = database
  const routes = { forget() {}, avoid() {}, hold() {} }
  const searched = new SearchedProjects()
  const options = {
    slot: 1,
    routes,
    running: new StateCache(),
    floors: new KnownFloors(),
    searched,
    again,
    failures: { fail() {} },
    log
  }
  const serverOf = () => ({ open: () => CopyConnection.open(connect, {}), limit })
  const writer = new Writer(pool, serverOf, options)
  t.teardown(() => writer.close())
  t.teardown(() => pool.end())
  return { writer, sentBack }
}

const pendingOf = (name: 'record' | 'append' | 'end', traceId: string, body: object) =>
  makePending(projectId, name, traceId, body)
const recording = (body = ingestBody()) => pendingOf('record', body.trace.id, body)
const pendings = (list: readonly { readonly pending: Pending }[]) => list.map(({ pending }) => pending)

t.test('all new traces of a batch are written', async t => {
  const { writer, sentBack } = lane(t)
  const batch = Array.from({ length: 20 }, () => recording(ingestBody({ spans: [span()] })))
  t.equal(await writer.process(pendings(batch)), undefined)
  for (const { pending, answer } of batch) {
    t.match(answer(), { type: 'insert' })
    t.match(await stored(pending.traceId), { status: 'unset', spans: 1 })
  }
  t.strictSame(sentBack, [])
})

t.test('an existing trace is answered from its state, and its neighbours are still written', async t => {
  const { writer } = lane(t)
  const body = ingestBody()
  await writer.process([recording(body).pending])
  const other = { ...body, trace: { ...body.trace, name: 'other' } }
  // A batch contains at most one operation per trace, as the queue ensures.
  for (const [again, expected] of [
    [recording(body), { type: 'duplicate' }],
    [recording(other), { type: 'refused', code: 'trace_id_conflict' }]
  ] as const) {
    const neighbours = [recording(), recording()]
    await writer.process([neighbours[0]!.pending, again.pending, neighbours[1]!.pending])
    t.match(again.answer(), expected)
    for (const { pending, answer } of neighbours) {
      t.match(answer(), { type: 'insert' })
      t.ok(await stored(pending.traceId))
    }
  }
  t.match(await stored(body.trace.id), { name: 'run' })
})

t.test('a trace continues and ends, even if another lane has changed it meanwhile', async t => {
  const [here, there] = [lane(t).writer, lane(t).writer]
  const body = startBody()
  const { id } = body.trace
  const step = async (writer: Writer, name: 'append' | 'end', sent: object) => {
    const { pending, answer } = pendingOf(name, id, sent)
    await writer.process([pending])
    return answer()
  }
  await here.process([recording(body as never).pending])
  t.match(await step(here, 'append', spansBody(span())), { type: 'change', added: 1 }, 'from the remembered state')
  t.match(await step(there, 'append', spansBody(span())), { type: 'change', added: 1 }, 'from the stored state')
  const last = spansBody(span(), span())
  t.match(
    await step(here, 'append', last),
    { type: 'change', added: 2 },
    'the remembered state is outdated, so the stored one is read'
  )
  t.match(await stored(id), { status: 'running', spans: 4 })
  t.match(await step(there, 'append', last), { type: 'duplicate', duplicate: 2 })
  t.match(await step(there, 'end', endBody({ status: 'ok' })), { type: 'change' })
  t.match(await step(here, 'append', spansBody(span())), { type: 'refused', code: 'trace_finished' })
  t.match(await stored(id), { status: 'ok', spans: 4 })
})

t.test('a write that lacks rows is rejected alone, in every operation, and its neighbours are written', async t => {
  const lines: string[] = []
  const { writer, sentBack } = lane(t, database.connect, createLog('error', { write: line => lines.push(line) }))
  const running = startBody()
  const traceId = freshId(32)
  const spansOfTrace = Array.from({ length: 3 }, () => otlpSpan({ traceId }))
  // If `short` is true, the worker thread expected that the last span would get no slot.
  const exportPending = (short: boolean, ...sent: object[]) => {
    const task = {
      operation: 'export-json',
      body: bytes(exportOf(...sent)),
      environment: null,
      hurries: false
    } as const
    const [trace] = (makeReady(task) as { ready: ReadyExport }).ready.traces as readonly [ReadySpans]
    const { spans } = new ExportWrite(trace, null)
    const toGather = encodeSpans({ spans, storable: spans.slice(0, -1) }, length => new Uint8Array(length))
    const first = { ...trace.first!, rows: withoutLast(trace.first!.rows) }
    const operation = new ExportWrite(short ? { ...trace, first, toGather } : trace, null)
    const made = pendingOf('record', traceId, ingestBody())
    return { ...made, pending: Object.assign(made.pending, { operation, look: true }) }
  }
  const shortened = (made: ReturnType<typeof pendingOf>) => {
    const operation = made.pending.operation as ReadyRecord
    Object.assign(made.pending, { operation: { ...operation, rows: withoutLast(operation.rows) } })
    return made
  }
  await writer.process([recording(running as never).pending])
  await writer.process([exportPending(false, spansOfTrace[0]!).pending])
  const { id } = running.trace
  const fault = { message: /expected \d+ rows for the spans of trace [0-9a-f]{32}, but got \d+: nothing was written/ }
  const lineOf = (body: object) => {
    const made = makeReady({ operation: 'restore', body: bytes(body), environment: null, hurries: false })
    return (made as unknown as { ready: ReadyRecord }).ready
  }
  const imported = { trace: ingestBody().trace, spans: [span(), span()] }
  const restored = pendingOf('record', imported.trace.id, ingestBody())
  Object.assign(restored.pending, { operation: lineOf(imported), look: true })
  for (const [short, expected, count] of [
    [shortened(recording(ingestBody({ spans: [span(), span()] }))), fault, undefined],
    [shortened(pendingOf('append', id, spansBody(span(), span()))), fault, 0],
    [shortened(pendingOf('end', id, endBody({ spans: [span()] }))), fault, 0],
    [shortened(restored), fault, undefined],
    [exportPending(true, ...spansOfTrace), { code: 'unavailable', status: 503 }, 1]
  ] as const) {
    const neighbours = [recording(), recording(ingestBody({ spans: [span()] }))]
    lines.length = 0
    await writer.process([neighbours[0]!.pending, short.pending, neighbours[1]!.pending])
    t.match(short.answer(), expected)
    t.match(lines, [/rejected a write because of a bug in spoor/])
    t.equal((await stored(short.pending.traceId))?.spans, count)
    for (const { pending, answer } of neighbours) {
      t.match(answer(), { type: 'insert' })
      t.ok(await stored(pending.traceId))
    }
  }
  const whole = exportPending(false, ...spansOfTrace)
  await writer.process([whole.pending])
  t.match(whole.answer(), { type: 'grow' }, 'complete operations are written')
  t.match(await stored(traceId), { spans: 3 })
  t.strictSame(sentBack, [])
})

/** Returns the rows without the last span's row. */
function withoutLast<T extends SpanRows>(rows: T): T {
  const last = rows.spans.at(-1)
  return { ...rows, spans: rows.spans.slice(0, -1), bytes: rows.bytes.subarray(0, last) }
}

t.test('without a trace, an append is rejected', async t => {
  const { writer } = lane(t)
  const { pending, answer } = pendingOf('append', 'f'.repeat(32), spansBody(span()))
  await writer.process([pending])
  t.match(answer(), { type: 'refused', code: 'not_found' })
})

t.test('if there is no connection, the whole batch is rejected, and the lane reports it', async t => {
  const relay = await testRelay(t, database.target)
  const { writer, sentBack } = lane(t, relay.connect)
  relay.cut()
  const batch = [recording(), recording()]
  t.match(await writer.process(pendings(batch)), { code: 'NOT_CONNECTED' })
  for (const { pending, answer } of batch) {
    t.match(answer(), { code: 'quota_exhausted', message: /nothing was stored/ })
    t.equal(await stored(pending.traceId), undefined)
  }
  t.strictSame(sentBack, [])
  relay.mend()
  const later = recording()
  t.equal(await writer.process([later.pending]), undefined)
  t.match(later.answer(), { type: 'insert' })
})

t.test('a lost attempt is handed back, and the retry finds it if it was committed', async t => {
  const { writer, sentBack } = lane(t)
  const { pending, answer } = recording()
  await writer.process([pending])
  // The response to the first attempt never arrived.
  const lost = recording({ schemaVersion: 1, trace: { ...ingestBody().trace, id: pending.traceId } })
  lost.pending.attempts = pending.attempts
  lost.pending.decision = answer() as NonNullable<Pending['decision']>
  await writer.fail([lost.pending], Object.assign(new Error('closed'), { code: 'CONNECTION_CLOSED' }))
  t.match(sentBack, [[{ look: true, tries: 1, settled: false }, Number]])
  await writer.process([lost.pending])
  t.match(lost.answer(), { type: 'insert' }, 'answered as the attempt would have been')
})
