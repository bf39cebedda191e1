import { gzipSync } from 'node:zlib'
import t from 'tap'
import { createLog } from '../../../lib/log.ts'
import { testService } from '../../fixtures/service/service.ts'

const PATH = '/api/v1/otlp/v1/metrics'
const PROTOBUF = { 'content-type': 'application/x-protobuf' }

t.test('metrics are accepted with a key that may write, and are not stored', async t => {
  const said: string[] = []
  const log = createLog('info', { write: (line: string) => said.push(line) })
  const { call, makeKey } = await testService(t, { log })
  const body = JSON.stringify({ resourceMetrics: [{ scopeMetrics: [{ metrics: [{ name: 'm' }] }] }] })
  const json = { 'content-type': 'application/json' }
  t.match(await call('POST', PATH, { body, headers: json }), { status: 200, text: '{}' })
  const zipped = { body: gzipSync(body), headers: { ...json, 'content-encoding': 'gzip' } }
  t.match(await call('POST', PATH, zipped), { status: 200, text: '{}' })
  t.match(await call('POST', PATH, { body: Buffer.from('0a00', 'hex'), headers: PROTOBUF }), {
    status: 200,
    text: '',
    headers: PROTOBUF
  })
  t.match((await call('GET', '/api/v1/project')).body, { traceCount: 0, spanCount: 0 })
  t.equal(said.filter(line => line.includes('OTLP metrics are accepted')).length, 1, 'said once')

  const { key: reader } = await makeKey({ scopes: ['traces:read'] })
  t.match(await call('POST', PATH, { body, key: reader }), { status: 403 })
  t.match(await call('POST', PATH, { body, key: null }), { status: 401 })
  t.match(await call('POST', PATH, { body: 'x'.repeat(8 * 1024 * 1024 + 1) }), { status: 413 })
})
