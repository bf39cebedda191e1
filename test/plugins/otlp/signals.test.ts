/** A successful response means that everything was stored except what the response reports as not stored. */
import protobuf from 'protobufjs'
import t from 'tap'
import { readStatus } from '../../../lib/admin/status.ts'
import { PROTOBUF_SCHEMA } from '../../../lib/otlp/wire/protobuf.ts'
import { exportOf, otlpSpan } from '../../fixtures/bodies/otlp.ts'
import { encodeLogs, logsOf } from '../../fixtures/bodies/otlp-logs.ts'
import { freshId } from '../../fixtures/database/seed.ts'
import { signedIn } from '../../fixtures/service/people.ts'
import { testService } from '../../fixtures/service/service.ts'
import { until } from '../../fixtures/until.ts'

const SIGNALS = ['traces', 'logs', 'metrics'] as const
type Signal = (typeof SIGNALS)[number]
const FIELDS = { traces: 'resourceSpans', logs: 'resourceLogs', metrics: 'resourceMetrics' }
const pathOf = (signal: Signal) => `/api/v1/otlp/v1/${signal}`
const PROTOBUF = { 'content-type': 'application/x-protobuf' }

const Spans = protobuf.parse(PROTOBUF_SCHEMA).root.lookupType('Request')
const Metrics = protobuf
  .parse(`
syntax = "proto3";
message Request { repeated ResourceMetrics resource_metrics = 1; }
message ResourceMetrics { repeated ScopeMetrics scope_metrics = 2; }
message ScopeMetrics { repeated Metric metrics = 2; }
message Metric { string name = 1; string description = 2; string unit = 3; Sum sum = 7; }
message Sum { repeated Point data_points = 1; }
message Point { fixed64 time_unix_nano = 3; double as_double = 4; }
`)
  .root.lookupType('Request')

const metric = { name: 'tokens.used', unit: '1', sum: { dataPoints: [{ timeUnixNano: 5, asDouble: 1 }] } }
const BODIES: Record<Signal, object> = {
  traces: exportOf(otlpSpan()),
  logs: logsOf([{ body: 'started', at: 1 }]),
  metrics: { resourceMetrics: [{ scopeMetrics: [{ metrics: [metric] }] }] }
}
const binaryIds = (_: string, value: unknown) =>
  typeof value === 'string' && /^([0-9a-f]{16}|[0-9a-f]{32})$/.test(value)
    ? Buffer.from(value, 'hex').toString('base64')
    : value
const encoded = (type: protobuf.Type, body: object) =>
  type.encode(type.fromObject(JSON.parse(JSON.stringify(body), binaryIds))).finish()
const BINARY: Record<Signal, Uint8Array> = {
  traces: encoded(Spans, BODIES.traces),
  logs: encodeLogs(logsOf([{ body: 'started', at: 1 }])),
  metrics: encoded(Metrics, BODIES.metrics)
}

t.test('a body of another signal is rejected with the right address', async t => {
  const { call } = await testService(t)
  for (const at of SIGNALS) {
    for (const sent of SIGNALS) {
      const json = await call('POST', pathOf(at), { body: BODIES[sent] })
      const binary = await call('POST', pathOf(at), { body: BINARY[sent], headers: PROTOBUF })
      const title = `${sent} at the address of ${at}`
      t.same([json.status, binary.status], at === sent ? [200, 200] : [400, 400], title)
      if (at === sent) continue
      t.equal(json.body.error.code, 'invalid_request', title)
      const hint = `contains ${sent}, but this endpoint accepts ${at}; use /api/v1/otlp/v1/${sent}`
      t.equal(json.body.error.message, `${FIELDS[sent]}: ${hint}`)
      t.match(binary.text, hint, title)
    }
    const both = { ...BODIES.traces, ...BODIES.logs, ...BODIES.metrics }
    t.match(await call('POST', pathOf(at), { body: both }), { status: 400 }, 'several signals')
  }
})

t.test('a body without a known field is rejected, and an empty export is not', async t => {
  const { call } = await testService(t)
  for (const at of SIGNALS) {
    for (const body of [{}, { hello: 1 }, { resource: [] }]) {
      const { status, body: answer } = await call('POST', pathOf(at), { body })
      t.equal(status, 400, JSON.stringify(body))
      t.match(
        answer.error.message,
        `${FIELDS[at]}: is required at this endpoint; send resourceSpans to /api/v1/otlp/v1/traces`
      )
    }
    t.match(await call('POST', pathOf(at), { body: { [FIELDS[at]]: [] } }), { status: 200, text: '{}' })
    t.match(await call('POST', pathOf(at), { body: '', headers: PROTOBUF }), { status: 200, text: '' })
    t.match(await call('POST', pathOf(at), { body: Buffer.from('0a05', 'hex'), headers: PROTOBUF }), { status: 400 })
  }
})

t.test('field names can be in snake_case', async t => {
  const { call } = await testService(t)
  const [trace_id, span_id] = [freshId(32), freshId(16)]
  const times = { start_time_unix_nano: '1795718421556909000', end_time_unix_nano: '1795718422556909000' }
  const span = {
    trace_id,
    span_id,
    name: 'chat',
    ...times,
    attributes: [{ key: 'k_e', value: { string_value: 'v_e' } }]
  }
  const message = { key: 'content', value: { string_value: 'hello_there' } }
  const record = {
    ...{ trace_id, span_id, time_unix_nano: '1795718421556909000', event_name: 'gen_ai.user.message' },
    body: { kvlist_value: { values: [message] } }
  }
  const spans = { resource_spans: [{ scope_spans: [{ spans: [span] }] }] }
  const logs = { resource_logs: [{ scope_logs: [{ log_records: [record] }] }] }
  t.match(await call('POST', pathOf('traces'), { body: spans }), { status: 200, text: '{}' })
  t.match(await call('POST', pathOf('logs'), { body: logs }), { status: 200, text: '{}' })
  const { body } = await call('GET', `/api/v1/traces/${trace_id}`)
  t.match(body.spans, [{ attributes: { k_e: 'v_e' }, input: [{ role: 'user', content: 'hello_there' }] }])
})

t.test('discarded data is reported to the sender once, and counted in the status and the settings', async t => {
  const service = await testService(t)
  const { call, makeProject, makeKey, database, config } = service
  await makeProject('other')
  const { key: other } = await makeKey({ project: 'other' })
  const records = logsOf([{ eventName: 'job.started' }, { attributes: { 'event.name': 'job.ended' } }], [{ body: 'x' }])
  const send = (body: object, key = service.key) => call('POST', pathOf('logs'), { body, key })
  const told = {
    status: 200,
    body: { partialSuccess: { rejectedLogRecords: '3', errorMessage: /^3 log records not kept/ } }
  }
  const { body } = await send(records)
  t.match({ status: 200, body }, told)
  t.match(body.partialSuccess.errorMessage, /\(1 job\.started, 1 job\.ended, 1 unnamed\): .* once an hour$/)
  t.match(await send(records), { status: 200, text: '{}' }, 'the same names again')
  t.match(await send(logsOf([{ eventName: 'job.started' }, { eventName: 'job.failed' }])), {
    body: { partialSuccess: { rejectedLogRecords: '1', errorMessage: /1 job\.failed/ } }
  })
  t.match(await send(records, other), told, 'another project')
  t.match(await call('POST', pathOf('metrics'), { body: BODIES.metrics }), { status: 200, text: '{}' })

  const read = () => database.pool.run(sql => readStatus(config, database, sql, { expectsServer: false }))
  await until(async () => (await read()).unkept.length === 8)
  const { unkept } = await read()
  t.match(
    unkept.map(({ project, signal, name, count }) => `${project} ${signal} ${count} ${name}`),
    [
      ...['default logs 3 job.started', 'default logs 2 job.ended', 'default logs 2 unnamed'],
      ...['default logs 1 job.failed', 'default metrics 1 tokens.used'],
      ...['other logs 1 job.ended', 'other logs 1 job.started', 'other logs 1 unnamed']
    ]
  )
  const viewer = await signedIn(service, 'viewer@example.com', 'viewer')
  const { body: project } = await viewer.ask('GET', 'p/default')
  t.match(project.unkept[0], { signal: 'logs', name: 'job.started', count: 3 })
  t.equal(project.unkept.length, 5)
})
