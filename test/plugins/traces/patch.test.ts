import t from 'tap'
import { checker } from '../../../lib/schema/check.ts'
import { MetadataPatched } from '../../../lib/schema/output.ts'
import { ingestBody, startBody, traceId } from '../../fixtures/bodies/bodies.ts'
import { testService } from '../../fixtures/service/service.ts'

t.test('PATCH /api/v1/traces/{traceId}', async t => {
  const { call, makeKey } = await testService(t)
  const patch = (id: string, body: unknown, key?: string) =>
    call('PATCH', `/api/v1/traces/${id}`, { body, ...(key !== undefined && { key }) })
  const record = async (body: { trace: { id: string } }) => {
    t.equal((await call('POST', '/api/v1/traces', { body })).status, 201)
    return body.trace.id
  }
  const read = async (id: string) => (await call('GET', `/api/v1/traces/${id}`)).body.trace

  await t.test('merges, leaves bodyHash and duplicates unchanged, and marks the trace as edited', async t => {
    const body = ingestBody({ metadata: { a: { deep: 1 }, b: 2 } })
    const id = await record(body)
    const before = await read(id)
    const answer = await patch(id, { metadata: { a: { other: 1 }, c: null } })
    t.equal(answer.status, 200)
    t.ok(checker(MetadataPatched).check(answer.body))
    const metadata = { a: { other: 1 }, b: 2, c: null }
    const requestId = answer.headers['x-request-id']
    t.strictSame(answer.body, { ok: true, traceId: id, metadata, changed: true, requestId })
    const after = await read(id)
    t.strictSame(after.metadata, metadata)
    t.equal(after.bodyHash, before.bodyHash)
    t.match(after.metadataUpdatedAt, /^20.*Z$/)
    const added = JSON.stringify(metadata).length - JSON.stringify({ a: { deep: 1 }, b: 2 }).length
    t.equal(after.estimatedBytes, before.estimatedBytes + added)
    t.equal((await call('GET', '/api/v1/project')).body.estimatedBytes, after.estimatedBytes)
    t.match(await call('POST', '/api/v1/traces', { body }), { status: 200, body: { duplicate: true } })
    t.strictSame(await read(id), after)

    t.match(await patch(id, { metadata: { b: 2 } }), { status: 200, body: { metadata, changed: false } })
    t.strictSame(await read(id), after, 'a patch without changes writes nothing')
  })

  await t.test('preserves numbers and keys exactly, even on a running trace', async t => {
    const id = await record(startBody({ metadata: { a: 1 } }))
    const raw = '"n":12345678901234567890,"e":1e400,"__proto__":{"x":"\\u0000\\ud800"},"":0'
    const { text } = await patch(id, `{"metadata":{${raw}}}`)
    t.ok(text.includes(`"metadata":{"a":1,${raw}}`))
    t.ok((await call('GET', `/api/v1/traces/${id}`)).text.includes(`"metadata":{"a":1,${raw}}`))
    await patch(id, { metadata: { later: true } })
    t.ok((await call('GET', `/api/v1/traces/${id}`)).text.includes(`"metadata":{"a":1,${raw},"later":true}`))
  })

  await t.test('preserves concurrent writes of different keys', async t => {
    const id = await record(ingestBody())
    const answers = await Promise.all(Array.from({ length: 16 }, (_, i) => patch(id, { metadata: { [`key${i}`]: i } })))
    t.ok(answers.every(answer => answer.status === 200 && answer.body.changed))
    t.equal(Object.keys((await read(id)).metadata).length, 16)
  })

  const id = await record(ingestBody())
  const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
  for (const [claim, body, status, code, message] of [
    ['no metadata', {}, 400, 'invalid_request', /metadata/],
    ['metadata that is null', { metadata: null }, 400, 'invalid_request', /^metadata: /],
    ['metadata that is a list', { metadata: [] }, 400, 'invalid_request', /^metadata: /],
    ['metadata that is a string', { metadata: 'x' }, 400, 'invalid_request', /^metadata: /],
    ['another field', { metadata: {}, name: 'x' }, 400, 'invalid_request', /^name: /],
    ['__proto__ beside metadata', '{"metadata":{},"__proto__":1}', 400, 'invalid_request', /__proto__/],
    ['a list', [], 400, 'invalid_request', /^body: /],
    ['an empty body', '', 400, 'invalid_json', /./],
    ['broken JSON', '{"metadata":', 400, 'invalid_json', /./],
    ['101 levels', `{"metadata":{"a":${nested(99)}}}`, 400, 'invalid_request', /100/],
    ['a document above its limit', { metadata: { x: 'x'.repeat(768_000) } }, 413, 'payload_too_large', /768000/],
    ['a request over 2 MiB', { metadata: { x: 'x'.repeat(2_097_152) } }, 413, 'payload_too_large', /2097152/]
  ] as const) {
    await t.test(`rejects ${claim}`, async t => {
      t.match(await patch(id, body), { status, body: { error: { code, message } } })
      t.strictSame((await read(id)).metadata, {})
    })
  }
  t.match(await patch(id, `{"metadata":{"a":${nested(98)}}}`), { status: 200 }, '100 levels are allowed')

  await t.test('responds with 404 for an unknown trace, and 403 to a key that cannot write', async t => {
    t.match(await patch(traceId(), { metadata: {} }), { status: 404, body: { error: { code: 'not_found' } } })
    t.match(await patch('x', { metadata: {} }), { status: 404 })
    const reader = await makeKey({ scopes: ['traces:read'] })
    t.match(await patch(id, { metadata: {} }, reader.key), { status: 403 })
  })
})
