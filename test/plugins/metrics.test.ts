import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { endBody, ingestBody, span, spansBody, startBody, traceId } from '../fixtures/bodies/bodies.ts'
import { testDatabase } from '../fixtures/database/database.ts'
import { sendRaw } from '../fixtures/service/raw.ts'
import { testService } from '../fixtures/service/service.ts'
import { until } from '../fixtures/until.ts'

t.test('counts requests by route and status, refusals by code, and batches, without a key', async t => {
  const { call } = await testService(t)
  await call('POST', '/api/v1/traces', { body: ingestBody() })
  await call('POST', '/api/v1/traces', { body: ingestBody({ name: '' }) })
  await call('GET', `/nowhere/${'x'.repeat(50)}`)
  const { status, headers, text } = await call('GET', '/metrics', { key: null })
  t.equal(status, 200)
  t.match(headers['content-type'], /^text\/plain; version=0\.0\.4/)
  const lines = text.split('\n')
  for (const line of [
    'spoor_http_requests_total{route="recordTrace",status="201"} 1',
    'spoor_http_requests_total{route="recordTrace",status="400"} 1',
    'spoor_http_requests_total{route="unknown",status="404"} 1',
    'spoor_http_request_duration_seconds_count{route="recordTrace"} 2',
    'spoor_refusals_total{code="invalid_trace"} 1',
    'spoor_batch_operations_count 1',
    'spoor_pending_writes 0',
    'spoor_pending_write_bytes 0',
    'spoor_pool_waiting 0'
  ]) {
    t.ok(lines.includes(line), line)
  }
  t.match(text, /^spoor_database_bytes [1-9]\d{6,}$/m)
  t.match(text, /^nodejs_eventloop_lag_seconds /m)
  t.notMatch(text, /spoor_live_|nowhere/, 'no data from clients')
})

t.test('an idle process wakes 20 times a second to measure the event loop', async t => {
  const { call } = await testService(t)
  const read = async () => (await call('GET', '/metrics', { key: null })).text
  // Each read starts a new measurement.
  await read()
  await delay(500)
  // A sample that follows a late one may be short.
  const median = Number(/^nodejs_eventloop_lag_p50_seconds (\S+)$/m.exec(await read())?.[1])
  t.ok(median >= 0.045, `the median sample is ${median} s`)
})

t.test('counts by project id if enabled, and not otherwise', async t => {
  const database = await testDatabase(t)
  for (const metricsProjects of [false, true]) {
    const { call, makeProject, makeKey } = await testService(t, { database, config: { metricsProjects } })
    const slug = `other-${metricsProjects}`
    const project = await makeProject(slug)
    const { key } = await makeKey({ project: slug })
    const answer = await call('GET', '/api/v1/traces', { key })
    await call('GET', '/api/v1/traces?colour=red', { key })
    await call('GET', '/api/v1/traces', { key: null })
    const { text } = await call('GET', '/metrics', { key: null })
    if (!metricsProjects) {
      t.notMatch(text, /spoor_project|project=/)
      continue
    }
    for (const line of [
      `spoor_project_requests_total{project="${project}"} 2`,
      `spoor_project_refusals_total{project="${project}",code="invalid_request"} 1`
    ]) {
      t.ok(text.split('\n').includes(line), line)
    }
    const bytes = Number(/^spoor_project_answer_bytes_total\{project="\d+"\} (\d+)$/m.exec(text)?.[1])
    t.ok(bytes > answer.text.length)
    t.notMatch(text, slug, 'no name')
  }
})

/** The metrics that operators may rely on, with the kind of each. */
const PROMISED = {
  spoor_http_requests_total: 'counter',
  spoor_http_request_duration_seconds: 'histogram',
  spoor_refusals_total: 'counter',
  spoor_refused_spans_total: 'counter',
  spoor_unpriced_calls_total: 'counter',
  spoor_log_records_total: 'counter',
  spoor_idle_completed_total: 'counter',
  spoor_pending_writes: 'gauge',
  spoor_pending_write_bytes: 'gauge',
  spoor_unread_bytes: 'gauge',
  spoor_reads_under_way: 'gauge',
  spoor_traces_recorded_total: 'counter',
  spoor_spans_recorded_total: 'counter',
  spoor_build_info: 'gauge',
  spoor_ready: 'gauge',
  spoor_schema_version: 'gauge',
  spoor_schema_expected_version: 'gauge',
  spoor_worker_threads: 'gauge',
  spoor_worker_heap_bytes: 'gauge',
  spoor_batch_operations: 'histogram',
  spoor_batch_duration_seconds: 'histogram',
  spoor_pool_waiting: 'gauge',
  spoor_rollup_news: 'gauge',
  spoor_rollup_news_age_seconds: 'gauge',
  spoor_search_partly_indexed: 'gauge',
  spoor_search_waiting: 'gauge',
  spoor_search_waiting_age_seconds: 'gauge',
  spoor_repacking_waiting: 'gauge',
  spoor_repacking_waiting_age_seconds: 'gauge',
  spoor_backup_age_seconds: 'gauge',
  spoor_key_expiry_seconds: 'gauge',
  spoor_certificate_expiry_seconds: 'gauge',
  spoor_storage_used_ratio: 'gauge',
  spoor_unsafe_settings: 'gauge',
  spoor_transaction_age: 'gauge',
  spoor_database_bytes: 'gauge',
  nodejs_eventloop_lag_seconds: 'gauge',
  process_resident_memory_bytes: 'gauge',
  process_open_fds: 'gauge'
}

t.test('every metric has a description, and changes when it should', async t => {
  const { call, app, database } = await testService(t)
  const read = async () => (await call('GET', '/metrics', { key: null })).text
  const value = async (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(await read())?.[1])
  const text = await read()
  for (const [name, kind] of Object.entries(PROMISED)) {
    t.match(text, new RegExp(`^# HELP ${name} \\S.{10,}$`, 'm'))
    t.match(text, new RegExp(`^# TYPE ${name} ${kind}$`, 'm'))
  }
  const ours = [...text.matchAll(/^# TYPE (spoor_\w+) /gm)].map(([, name]) => name!)
  t.same(
    ours.filter(name => !(name in PROMISED)),
    [],
    'a new metric belongs in the list above'
  )

  const room = app.ingest.admit(1000)
  t.same([await value('spoor_pending_writes'), await value('spoor_pending_write_bytes')], [1, 1000])
  room.release()
  t.same([await value('spoor_pending_writes'), await value('spoor_pending_write_bytes')], [0, 0])

  const holder = database.connect()
  await holder.unsafe('begin; lock table traces in access exclusive mode')
  const lists = Array.from({ length: 10 }, () => call('GET', '/api/v1/traces'))
  await until(async () => (await value('spoor_pool_waiting')) > 0)
  await holder.unsafe('rollback')
  await Promise.all(lists)
  await holder.end({ timeout: 1 })
  t.equal(await value('spoor_pool_waiting'), 0)

  const batches = await value('spoor_batch_duration_seconds_count')
  await call('POST', '/api/v1/traces', { body: ingestBody() })
  t.equal(await value('spoor_batch_duration_seconds_count'), batches + 1)
  t.ok((await value('spoor_batch_duration_seconds_sum')) > 0)

  const body = ingestBody({ input: 'x'.repeat(50_000), spans: [span(), span()] })
  const stored = (what: string, way: string) => value(`spoor_${what}_recorded_total\\{way="${way}"\\}`)
  const [traces, spans] = [await stored('traces', 'native'), await stored('spans', 'native')]
  for (const status of [201, 200]) t.equal((await call('POST', '/api/v1/traces', { body })).status, status)
  t.equal(await stored('traces', 'native'), traces + 1, 'a resend does not count')
  t.equal(await stored('spans', 'native'), spans + 2)
  const started = startBody()
  const path = `/api/v1/traces/${started.trace.id}`
  await call('POST', '/api/v1/traces', { body: started })
  await call('POST', `${path}/spans`, { body: spansBody(span(), span()) })
  await call('POST', `${path}/end`, { body: { ...endBody(), spans: [span()] } })
  t.equal(await stored('traces', 'native'), traces + 2)
  t.equal(await stored('spans', 'native'), spans + 5)
  t.equal(await value('spoor_worker_threads'), 1, 'a body of 50 kB is not prepared on the main thread')
  t.ok((await value('spoor_worker_heap_bytes')) > 1e6)
})

t.test('clients cannot add labels: unknown values share one', async t => {
  const { call, port } = await testService(t)
  const series = async () =>
    new Set((await call('GET', '/metrics')).text.split('\n').map(line => line.replace(/ \S+$/, '')))
  const abuse = async () => {
    for (const path of [`/${traceId()}`, `/api/v1/traces/${traceId()}`, `/api/v1/traces/${traceId()}/scores/x`]) {
      for (const method of ['GET', 'PUT', 'DELETE']) await call(method, path, { key: `spoor_live_${traceId()}` })
    }
    for (const method of ['PURGE', 'M-SEARCH', 'LINK']) {
      await sendRaw(port, `${method} /${traceId()} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    }
  }
  await abuse()
  await series()
  const before = await series()
  await abuse()
  // Node's own metrics appear once they have a value, for example after the first garbage collection.
  const own = (names: Iterable<string>) => [...names].filter(name => !name.startsWith('nodejs_')).sort()
  t.same(own(await series()), own(before))
})
