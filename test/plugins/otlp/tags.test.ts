/** Tests OTLP_TAGS: attributes that the operator chose become tags. */
import t from 'tap'
import { toProtobuf } from '../../fixtures/bodies/fuzz-otlp.ts'
import { exportOf, keyValues, otlpSpan } from '../../fixtures/bodies/otlp.ts'
import { freshId } from '../../fixtures/database/seed.ts'
import { testService } from '../../fixtures/service/service.ts'

const PATH = '/api/v1/otlp/v1/traces'
const PROTOBUF = { 'content-type': 'application/x-protobuf' }

const service = await testService(t, { config: { tagNames: ['tenant.id', 'release', 'parts'] } })
const { call } = service
const read = async (id: string) => (await call('GET', `/api/v1/traces/${id}`)).body.trace
const listed = async (tag: string) =>
  (await call('GET', `/api/v1/traces?tag=${encodeURIComponent(tag)}`)).body.traces.map(({ id }: { id: string }) => id)

/** Returns an export of spans from a process with these resource attributes. */
function exportFrom(resource: object, ...spans: object[]) {
  const [group] = exportOf(...spans).resourceSpans
  return { resourceSpans: [{ resource: { attributes: keyValues(resource) }, ...group }] }
}
const send = async (body: object) => t.match(await call('POST', PATH, { body }), { status: 200, text: '{}' })

t.test('attributes of spans and of their resource become tags, in addition to stated ones', async t => {
  const traceId = freshId(32)
  const attributes = { 'tenant.id': 'acme', parts: ['a', 7, true], 'langfuse.trace.tags': ['x'], other: 'o' }
  const root = otlpSpan({ traceId, attributes })
  await send(exportFrom({ release: '1.2', 'service.name': 'shop' }, root))
  const tags = ['parts:7', 'parts:a', 'parts:true', 'release:1.2', 'tenant.id:acme', 'x']
  t.match(await read(traceId), { tags, metadata: { spoor: undefined } })
  t.same(await listed('tenant.id:acme'), [traceId])
  t.same(await listed('acme'), [])

  await send(exportFrom({}, otlpSpan({ traceId, parentSpanId: root.spanId, attributes: { 'tenant.id': 'bravo' } })))
  t.same((await read(traceId)).tags, [...tags, 'tenant.id:bravo'].sort(), 'the trace grows')
  t.same(await listed('tenant.id:bravo'), [traceId])
})

t.test('values that do not fit are omitted, which the trace states', async t => {
  const ids = { long: freshId(32), object: freshId(32), many: freshId(32), fits: freshId(32) }
  const fits = 'é'.repeat(64 - 'tenant.id:'.length)
  await send(exportOf(otlpSpan({ traceId: ids.fits, attributes: { 'tenant.id': fits, release: '' } })))
  t.match(await read(ids.fits), { tags: [`tenant.id:${fits}`], metadata: { spoor: undefined } })
  await send(exportOf(otlpSpan({ traceId: ids.long, attributes: { 'tenant.id': `${fits}x`, release: 'r\0' } })))
  t.match(await read(ids.long), { tags: ['release:r\ufffd'], metadata: { spoor: { tagsLeftOut: true } } })
  await send(exportFrom({ release: { a: 1 } }, otlpSpan({ traceId: ids.object, attributes: { 'tenant.id': 'a' } })))
  t.match(await read(ids.object), { tags: ['tenant.id:a'], metadata: { spoor: { tagsLeftOut: true } } })
  const parts = Array.from({ length: 21 }, (_, i) => `p${String(i).padStart(2, '0')}`)
  await send(exportOf(otlpSpan({ traceId: ids.many, attributes: { parts } })))
  const kept = parts.slice(0, 20).map(part => `parts:${part}`)
  t.same((await read(ids.many)).tags, kept)
  t.match(await read(ids.many), { metadata: { spoor: { tagsLeftOut: true } } })
})

t.test('large exports, which worker threads read in portions, are tagged in both encodings', async t => {
  for (const encoding of ['json', 'protobuf']) {
    const traceId = freshId(32)
    const root = otlpSpan({ traceId, attributes: { 'tenant.id': encoding } })
    const children = Array.from({ length: 1200 }, (_, i) =>
      otlpSpan({ traceId, parentSpanId: root.spanId, attributes: i === 1100 ? { parts: 'last' } : {} })
    )
    const request = exportFrom({ release: 'large' }, root, ...children)
    const body = encoding === 'json' ? request : toProtobuf(request)
    const headers = encoding === 'json' ? {} : PROTOBUF
    t.equal((await call('POST', PATH, { body, headers })).status, 200)
    const { tags, spanCount } = await read(traceId)
    t.same([tags, spanCount], [['parts:last', 'release:large', `tenant.id:${encoding}`], 1201])
  }
})

t.test('a resend is a duplicate, and without the setting nothing is tagged', async t => {
  const traceId = freshId(32)
  const body = exportOf(otlpSpan({ traceId, attributes: { 'tenant.id': 'acme' } }))
  await send(body)
  const before = await read(traceId)
  await send(body)
  t.same(await read(traceId), before)
  const plain = await testService(t)
  await plain.call('POST', PATH, { body })
  t.same((await plain.call('GET', `/api/v1/traces/${traceId}`)).body.trace.tags, [])
})
