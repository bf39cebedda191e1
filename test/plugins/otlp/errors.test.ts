/**
 * Tests that a rejected exporter gets errors that it can read, and learns the right address. Also tests the forms in
 * which an exporter may send its key.
 */
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { request } from 'undici'
import { MAX_EXPORT_BYTES } from '../../../lib/schema/otlp.ts'
import { exportOf, otlpSpan } from '../../fixtures/bodies/otlp.ts'
import { decodeStatus } from '../../fixtures/bodies/rpc-status.ts'
import { testDatabase } from '../../fixtures/database/database.ts'
import { testRelay } from '../../fixtures/database/relay.ts'
import { testService } from '../../fixtures/service/service.ts'

const PATH = '/api/v1/otlp/v1/traces'
const TYPE = 'application/x-protobuf'

async function sendBytes(url: string, method: string, path: string, body: Uint8Array, headers: Record<string, string>) {
  const {
    statusCode: status,
    headers: got,
    body: answer
  } = await request(url + path, { method: method as 'POST', body, headers })
  return { status, headers: got, bytes: new Uint8Array(await answer.arrayBuffer()) }
}

t.test('errors to protobuf are google.rpc.Status, errors to JSON the envelope', async t => {
  const service = await testService(t)
  const { key: reader } = await service.makeKey({ scopes: ['traces:read'] })
  const good = service.key
  const large = Buffer.alloc(MAX_EXPORT_BYTES + 1)
  const cases: [string, string, string, string | undefined, Uint8Array, Record<string, string>, number, number][] = [
    ['no key', 'POST', PATH, undefined, Buffer.alloc(0), {}, 401, 16],
    ['a key without the scope', 'POST', PATH, reader, Buffer.alloc(0), {}, 403, 7],
    ['not protobuf', 'POST', PATH, good, Buffer.from('{"resourceSpans":[]}'), {}, 400, 3],
    ['not gzip', 'POST', PATH, good, Buffer.from('x'), { 'content-encoding': 'gzip' }, 400, 3],
    ['another encoding', 'POST', PATH, good, Buffer.from('x'), { 'content-encoding': 'zstd' }, 415, 3],
    ['too large', 'POST', PATH, good, large, {}, 413, 3],
    ['too large, decoded', 'POST', PATH, good, gzipSync(large, { level: 1 }), { 'content-encoding': 'gzip' }, 413, 3],
    ['another address', 'POST', '/v1/traces', good, Buffer.alloc(0), {}, 404, 5],
    ['another method', 'PUT', PATH, good, Buffer.alloc(0), {}, 405, 12]
  ]
  for (const [title, method, path, key, body, headers, status, code] of cases) {
    const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` }
    for (const type of [TYPE, 'application/protobuf']) {
      const answer = await sendBytes(service.url, method, path, body, {
        ...authorization,
        ...headers,
        'content-type': type
      })
      t.match(answer, { status, headers: { 'content-type': TYPE } }, title)
      t.match(decodeStatus(answer.bytes), { code, message: /\w/ }, title)
    }
    const json = await sendBytes(service.url, method, path, body, { ...authorization, ...headers })
    t.equal(json.status, title === 'not protobuf' ? 200 : status, title)
    t.equal(json.headers['content-type'], 'application/json', title)
  }
  const elsewhere = await service.call('POST', '/api/v1/traces', { body: '', headers: { 'content-type': TYPE } })
  t.match(elsewhere, { status: 400, body: { error: { code: 'invalid_json' } } }, 'other routes do not support protobuf')
})

t.test('a retryable write states this, and when, in its Status', async t => {
  const database = await testDatabase(t)
  const relay = await testRelay(t, database.target)
  const service = await testService(t, { database, view: { connect: relay.connect } })
  const headers = { authorization: `Bearer ${service.key}`, 'content-type': TYPE }
  relay.cut()
  const answer = await sendBytes(service.url, 'POST', PATH, Buffer.alloc(0), headers)
  t.match(answer, { status: 429, headers: { 'retry-after': '1' } })
  t.match(decodeStatus(answer.bytes), { code: 8, retryAfterS: 1 })
})

t.test('a wrong address near the right one is corrected', async t => {
  const service = await testService(t)
  const right = `${service.url}/api/v1/otlp`
  const wrong = [
    '/v1/traces',
    '/v1/logs',
    '/v1/metrics/',
    '/api/public/otel',
    '/api/public/otel/v1/traces?x=1',
    '/api/v1/otlp',
    '/api/v1/otlp/',
    '/api/v1/otlp/v1/traces/v1/traces'
  ]
  for (const path of wrong) {
    const { status, body } = await service.call('POST', path, { body: {} })
    t.equal(status, 404, path)
    t.ok(body.error.message.includes(`${right}/v1/traces`), body.error.message)
    t.ok(body.error.message.endsWith(`set OTEL_EXPORTER_OTLP_ENDPOINT to ${right}.`), body.error.message)
  }
  for (const path of ['/v1', '/v1/tracesx', '/v2/traces', '/api/v1/otlpx', '/api/public', '/x/v1/traces']) {
    const { status, body } = await service.call('POST', path, { body: {} })
    t.match({ status, message: body.error.message }, { status: 404, message: /^There is nothing at this address\.$/ })
  }
})

t.test('a key is accepted in every form that exporters send, only here', async t => {
  const { key, call } = await testService(t)
  const basic = (pair: string) => `Basic ${Buffer.from(pair).toString('base64')}`
  const body = exportOf(otlpSpan())
  for (const authorization of [`Bearer%20${key}`, basic(`pk-lf-1:${key}`)]) {
    t.match(await call('POST', PATH, { key: null, headers: { authorization }, body }), { status: 200 }, authorization)
    t.match(await call('GET', '/api/v1/key', { key: null, headers: { authorization } }), { status: 401 })
  }
  for (const authorization of [basic(`${key}:`), basic(key), basic(`pk:${key}x`), `Basic ${key}`]) {
    t.match(await call('POST', PATH, { key: null, headers: { authorization }, body }), { status: 401 }, authorization)
  }
})
