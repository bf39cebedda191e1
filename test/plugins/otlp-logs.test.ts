import { gzipSync } from 'node:zlib'
import t from 'tap'
import { createLog } from '../../lib/log.ts'
import { encodeLogs, logsOf } from '../fixtures/bodies/otlp-logs.ts'
import { grpcClient, LOGS } from '../fixtures/service/grpc.ts'
import { testService } from '../fixtures/service/service.ts'

const PATH = '/api/v1/otlp/v1/logs'
const PROTOBUF = { 'content-type': 'application/x-protobuf' }
const OTHER = logsOf([{ text: 'started' }, { eventName: 'device.app.lifecycle' }])
const MESSAGES = logsOf([{ eventName: 'gen_ai.choice' }, { text: 'started' }], [{ attribute: 'gen_ai.user.message' }])

t.test('records are accepted and counted; of messages the sender is told that they are left out', async t => {
  const said: string[] = []
  const log = createLog('info', { write: (line: string) => said.push(line) })
  const service = await testService(t, { log, config: { grpcPort: 0 } })
  const { call } = service
  t.match(await call('POST', PATH, { body: OTHER }), { status: 200, text: '{}' })
  const quiet = { status: 200, text: '', headers: PROTOBUF }
  t.match(await call('POST', PATH, { body: encodeLogs(OTHER), headers: PROTOBUF }), quiet)
  t.notOk(said.some(line => line.includes('came as log records')))

  const told = { rejectedLogRecords: '2', errorMessage: /^2 left out: .*CAPTURE_MESSAGE_CONTENT=SPAN_ONLY$/ }
  t.match((await call('POST', PATH, { body: MESSAGES })).body, { partialSuccess: told })
  const zipped = { body: gzipSync(encodeLogs(MESSAGES)), headers: { ...PROTOBUF, 'content-encoding': 'gzip' } }
  t.match(await call('POST', PATH, zipped), { status: 200, headers: PROTOBUF, text: /2 left out/ })
  const overGrpc = await grpcClient(t, service.grpcPort as number)(LOGS, encodeLogs(MESSAGES), `Bearer ${service.key}`)
  t.match(overGrpc, { status: 'OK', bytes: /2 left out/ })
  t.equal(said.filter(line => line.includes('came as log records')).length, 1, 'said once')

  const { text } = await call('GET', '/metrics')
  t.match(text, /^spoor_log_records_total\{kind="messages"\} 6$/m)
  t.match(text, /^spoor_log_records_total\{kind="others"\} 7$/m)
  t.match((await call('GET', '/api/v1/project')).body, { traceCount: 0, spanCount: 0 })
})

t.test('refuses what is no export of logs, and who may not write', async t => {
  const { call, makeKey } = await testService(t)
  const { key: reader } = await makeKey({ scopes: ['traces:read'] })
  t.match(await call('POST', PATH, { body: '{' }), { status: 400, body: { error: { code: 'invalid_json' } } })
  t.match(await call('POST', PATH, { body: '[]' }), { status: 400, body: { error: { code: 'invalid_request' } } })
  t.match(await call('POST', PATH, { body: '{}', headers: PROTOBUF }), {
    status: 400,
    headers: PROTOBUF,
    text: /not a protobuf ExportLogsServiceRequest/
  })
  t.match(await call('POST', PATH, { body: OTHER, key: reader }), { status: 403 })
  t.match(await call('POST', PATH, { body: OTHER, key: null }), { status: 401 })
  t.match(await call('POST', PATH, { body: 'x'.repeat(8 * 1024 * 1024 + 1) }), { status: 413 })
})
