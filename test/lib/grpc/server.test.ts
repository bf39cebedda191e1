/** Tests OTLP over gRPC with the clients that applications use. */

import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { copyFile, writeFile } from 'node:fs/promises'
import { constants } from 'node:http2'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { credentials, Metadata, Server } from '@grpc/grpc-js'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-grpc'
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node'
import protobuf from 'protobufjs'
import t from 'tap'
import { Certificate } from '../../../lib/grpc/certificate.ts'
import { createLog } from '../../../lib/log.ts'
import { PROTOBUF_SCHEMA } from '../../../lib/otlp/wire/protobuf.ts'
import { testDatabase } from '../../fixtures/database/database.ts'
import { testRelay } from '../../fixtures/database/relay.ts'
import { freshId } from '../../fixtures/database/seed.ts'
import { testFolder } from '../../fixtures/folder.ts'
import { grpcClient, grpcSession, METRICS, TRACES } from '../../fixtures/service/grpc.ts'
import { sendRaw } from '../../fixtures/service/raw.ts'
import { type TestService, type TestServiceOptions, testService } from '../../fixtures/service/service.ts'
import { until } from '../../fixtures/until.ts'

const { root } = protobuf.parse(PROTOBUF_SCHEMA)
const [Request, Response] = [root.lookupType('Request'), root.lookupType('Response')]
const PEM = (name: string) =>
  join(fileURLToPath(new URL('../../../../', import.meta.url)), 'test/lib/database/sockets/tls', name)
const NOTHING = new Uint8Array()

const grpcService = (t: Parameters<typeof testService>[0], options: TestServiceOptions = {}) =>
  testService(t, { ...options, config: { grpcPort: 0, ...options.config } })
const portOf = ({ grpcPort }: TestService): number => grpcPort as number

function spanOf(traceId = freshId(32), name = 'step', text = '') {
  return {
    traceId: Buffer.from(traceId, 'hex'),
    spanId: Buffer.from(freshId(16), 'hex'),
    name,
    startTimeUnixNano: '1780000000000000000',
    endTimeUnixNano: '1780000001000000000',
    attributes: [{ key: 'text', value: { stringValue: text } }]
  }
}
const exportOf = (...spans: object[]) => Request.encode({ resourceSpans: [{ scopeSpans: [{ spans }] }] }).finish()

t.test('is off unless a port is set', async t => {
  t.equal((await testService(t)).grpcPort, undefined)
})

t.test('a renewed certificate is used without a restart, and a mismatched pair is not', async t => {
  const folder = await testFolder(t)
  const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') }
  const install = async (cert: string, key: string) => {
    await copyFile(PEM(`${cert}.pem`), files.cert)
    await copyFile(PEM(`${key}.key`), files.key)
  }
  await install('localhost', 'localhost')
  const lines: string[] = []
  const log = createLog('info', { write: (line: string) => void lines.push(line) } as never)
  const certificate = new Certificate(files, log, 10)
  t.teardown(() => certificate.close())
  const server = new Server()
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', certificate, (error, bound) => (error === null ? resolve(bound) : reject(error)))
  )
  t.teardown(() => server.forceShutdown())
  const served = async (): Promise<string> => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['h2'] })
    await once(socket, 'secureConnect')
    const { fingerprint256 } = socket.getPeerX509Certificate() as X509Certificate
    socket.destroy()
    return fingerprint256
  }
  const own = (name: string) => new X509Certificate(readFileSync(PEM(`${name}.pem`))).fingerprint256
  t.equal(await served(), own('localhost'))
  await writeFile(files.key, 'half a key')
  await until(() => lines.some(line => line.includes('could not be reloaded')))
  await install('127.0.0.1', 'localhost')
  await until(() => lines.some(line => line.includes('does not match the certificate')))
  t.equal(await served(), own('localhost'))
  await install('127.0.0.1', '127.0.0.1')
  await until(() => lines.some(line => line.includes('was reloaded')))
  t.equal(await served(), own('127.0.0.1'))
  t.type(certificate.expiresAt, Date)
  t.equal(
    lines.filter(line => line.includes('does not match the certificate')).length,
    1,
    'the same error is logged once'
  )
})

t.test("OpenTelemetry's exporter records a trace, with or without gzip", async t => {
  const service = await grpcService(t)
  for (const compression of ['none', 'gzip'] as const) {
    const metadata = new Metadata()
    metadata.set('authorization', `Bearer ${service.key}`)
    const options = { url: `http://localhost:${portOf(service)}`, metadata, compression }
    const exporter = new OTLPTraceExporter(options as ConstructorParameters<typeof OTLPTraceExporter>[0])
    const provider = new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] })
    const span = provider.getTracer('shop').startSpan(compression)
    span.end()
    await provider.shutdown()
    const { body } = await service.call('GET', `/api/v1/traces/${span.spanContext().traceId}`)
    t.match(body.trace, { name: compression, spanCount: 1 })
  }
})

t.test('the same trace sent over HTTP is recognised, and rejected spans are counted', async t => {
  const service = await grpcService(t)
  const call = grpcClient(t, portOf(service))
  const authorization = `Bearer ${service.key}`
  const traceId = freshId(32)
  const span = spanOf(traceId)
  const bad = { ...spanOf(traceId), traceId: Buffer.alloc(3) }
  const stored = await call(TRACES, exportOf(span), authorization)
  t.match(stored, { status: 'OK', bytes: { length: 0 } })
  const headers = { 'content-type': 'application/x-protobuf' }
  t.match(await service.call('POST', '/api/v1/otlp/v1/traces', { body: exportOf(span), headers }), {
    status: 200,
    text: ''
  })
  t.match((await service.call('GET', `/api/v1/traces/${traceId}`)).body.trace, { spanCount: 1 })
  const { bytes } = await call(TRACES, exportOf(span, bad), authorization, { gzip: true })
  t.match(Response.decode(bytes as Buffer).toJSON(), {
    partialSuccess: { rejectedSpans: '1', errorMessage: /^1 rejected: spans without a valid trace id/ }
  })
  t.match(await call(METRICS, Buffer.from('0a00', 'hex'), authorization), { status: 'OK', bytes: { length: 0 } })
})

t.test('refusals have the gRPC status and its details, and are not retryable', async t => {
  const service = await grpcService(t)
  const call = grpcClient(t, portOf(service))
  const { key: reader } = await service.makeKey({ scopes: ['traces:read'] })
  const ours = `Bearer ${service.key}`
  const cases: [string, string, Uint8Array, string | undefined, string, RegExp][] = [
    ['no key', TRACES, NOTHING, undefined, 'UNAUTHENTICATED', /key is missing/],
    ['a wrong key', TRACES, NOTHING, `${ours}x`, 'UNAUTHENTICATED', /key is missing/],
    ['a key without the scope', METRICS, NOTHING, `Bearer ${reader}`, 'PERMISSION_DENIED', /lacks the scope/],
    ['a message that is not OTLP', TRACES, Buffer.from('{}'), ours, 'INVALID_ARGUMENT', /not a protobuf/]
  ]
  for (const [title, path, message, authorization, status, details] of cases) {
    const answer = await call(path, message, authorization)
    t.match(answer, { status, details, told: { message: details } }, title)
    t.equal(answer.told?.retryAfterS, undefined, title)
  }
  for (const authorization of [
    `Bearer%20${service.key}`,
    `Basic ${Buffer.from(`pk:${service.key}`).toString('base64')}`
  ]) {
    t.match(await call(TRACES, NOTHING, authorization), { status: 'OK' })
  }
  t.match(await call('/opentelemetry.proto.collector.profiles.v1.ProfilesService/Export', NOTHING, ours), {
    status: 'UNIMPLEMENTED'
  })
  const large = Buffer.alloc(8 * 1024 * 1024 + 1)
  for (const gzip of [false, true]) t.match(await call(TRACES, large, ours, { gzip }), { status: 'RESOURCE_EXHAUSTED' })
  t.match(await call(TRACES, exportOf(spanOf(undefined, 'x', 'x'.repeat(700_000))), ours), { status: 'OK' })
})

t.test('a retryable write states when to retry', async t => {
  const database = await testDatabase(t)
  const relay = await testRelay(t, database.target)
  const service = await grpcService(t, { database, view: { connect: relay.connect } })
  const call = grpcClient(t, portOf(service))
  relay.cut()
  t.match(await call(TRACES, exportOf(spanOf()), `Bearer ${service.key}`), {
    status: 'RESOURCE_EXHAUSTED',
    told: { code: 8, retryAfterS: 1 }
  })
})

t.test('many concurrent calls are all answered, and calls that never send their message block nobody', async t => {
  const service = await grpcService(t)
  const session = grpcSession(t, portOf(service))
  const silent = Array.from({ length: 40 }, () =>
    session.request({
      ':method': 'POST',
      ':path': TRACES,
      'content-type': 'application/grpc',
      te: 'trailers',
      authorization: `Bearer ${service.key}`
    })
  )
  for (const stream of silent) stream.on('error', () => {})
  await new Promise(resolve => session.ping(resolve))
  for (const stream of silent) stream.close()
  const call = grpcClient(t, portOf(service))
  const traceId = freshId(32)
  const answers = await Promise.all(
    Array.from({ length: 150 }, () => call(TRACES, exportOf(spanOf(traceId)), `Bearer ${service.key}`))
  )
  t.same([...new Set(answers.map(({ status }) => status))], ['OK'])
  t.match((await service.call('GET', `/api/v1/traces/${traceId}`)).body.trace, { spanCount: 150 })
})

t.test('a draining server tells its connections to end, answers calls in flight, and loses none', async t => {
  const service = await grpcService(t)
  const authorization = `Bearer ${service.key}`
  const call = grpcClient(t, portOf(service))
  const message = exportOf(spanOf())
  t.match(await call(TRACES, message, authorization), { status: 'OK' })

  const session = grpcSession(t, portOf(service))
  const headers = {
    ':method': 'POST',
    ':path': TRACES,
    te: 'trailers',
    authorization,
    'content-type': 'application/grpc'
  }
  const open = session.request(headers)
  // The headers have arrived once the server has responded to later data.
  await once(session, 'remoteSettings')
  await new Promise(resolve => session.ping(resolve))
  const told = once(session, 'goaway')
  service.drain()
  t.equal((await told)[0], constants.NGHTTP2_NO_ERROR)
  t.match(await service.call('GET', '/readyz', { key: null }), { status: 503 })

  const size = Buffer.alloc(5)
  size.writeUInt32BE(message.length, 1)
  const trailers = once(open, 'trailers')
  open.resume().end(Buffer.concat([size, message]))
  t.equal((await trailers)[0]['grpc-status'], '0', 'calls in flight are answered')
  await once(session, 'close')

  const calls = Array.from({ length: 20 }, () => call(TRACES, exportOf(spanOf()), authorization))
  t.same(new Set((await Promise.all(calls)).map(({ status }) => status)), new Set(['OK']), 'on a new connection')
})

t.test('uses TLS with a certificate, and rejects one that is unreadable or does not match its key', async t => {
  const database = await testDatabase(t)
  const grpcTls = { cert: PEM('localhost.pem'), key: PEM('localhost.key') }
  const service = await grpcService(t, { database, config: { grpcTls } })
  const secure = grpcClient(t, portOf(service), credentials.createSsl(readFileSync(PEM('ca.pem'))))
  t.match(await secure(TRACES, exportOf(spanOf()), `Bearer ${service.key}`), { status: 'OK' })
  for (const cert of [PEM('missing.pem'), PEM('ca.pem')]) {
    const config = { grpcTls: { ...grpcTls, cert } }
    await t.rejects(grpcService(t, { database, config }), { name: 'ConfigError', message: /^OTLP_GRPC_CERT/ })
  }
  await t.rejects(grpcService(t, { database, config: { grpcPort: portOf(service) } }), {
    name: 'ConfigError',
    message: /^OTLP_GRPC_PORT \d+ on 127.0.0.1 cannot be used/
  })
})

t.test('gRPC on the HTTP port gets a response, and the log says once what to set', async t => {
  const said: string[] = []
  const log = createLog('info', { write: (line: string) => said.push(line) })
  const service = await testService(t, { log })
  for (let i = 0; i < 2; i++) {
    const answer = await sendRaw(service.port, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
    t.match(answer, /^HTTP\/1.1 400 .*OTLP_GRPC_PORT/s)
  }
  await until(async () => said.some(line => line.includes('HTTP/2 connection reached')))
  t.equal(said.filter(line => line.includes('HTTP/2 connection reached')).length, 1)
})
