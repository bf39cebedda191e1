import t from 'tap'
import { ingestBody, span, spansBody, startBody, traceId } from '../../fixtures/bodies/bodies.ts'
import { testService } from '../../fixtures/service/service.ts'

const SCORE = { name: 'quality', dataType: 'numeric', value: 1 }

t.test('DELETE /api/v1/traces/{traceId}', async t => {
  const { call, makeKey, makeProject } = await testService(t)
  const record = (body: { trace: { id: string } }) => call('POST', '/api/v1/traces', { body })
  const addScore = (id: string) => call('POST', `/api/v1/traces/${id}/scores`, { body: SCORE })
  const remove = (id: string, key?: string) => call('DELETE', `/api/v1/traces/${id}`, key === undefined ? {} : { key })
  const counts = async () => {
    const { traceCount, spanCount, estimatedBytes } = (await call('GET', '/api/v1/project')).body
    return { traceCount, spanCount, estimatedBytes }
  }
  const NONE = { traceCount: 0, spanCount: 0, estimatedBytes: 0 }

  await t.test('deletes the trace with everything below it, and corrects the counters', async t => {
    const body = ingestBody({ metadata: { a: 1 }, spans: [span(), span()] })
    const { id } = body.trace
    await record(body)
    await call('PATCH', `/api/v1/traces/${id}`, { body: { metadata: { b: 'patched' } } })
    t.match(await addScore(id), { status: 201 })
    t.match(await counts(), { traceCount: 1, spanCount: 2 })

    const answer = await remove(id.toUpperCase())
    t.strictSame([answer.status, answer.body], [200, { ok: true, traceId: id }])
    t.strictSame(await counts(), NONE)
    for (const path of [`/api/v1/traces/${id}`, `/api/v1/traces/${id}/scores`]) {
      t.match(await call('GET', path), { status: 404, body: { error: { code: 'not_found' } } })
    }
    t.strictSame((await call('GET', '/api/v1/scores')).body.scores, [])
    t.match(await remove(id), { status: 404 })

    t.match(await record(body), { status: 201, body: { duplicate: false } }, 'the id can be used again')
    const again = (await call('GET', `/api/v1/traces/${id}`)).body
    t.strictSame([again.trace.metadata, again.spans.length, again.scores], [{ a: 1 }, 2, []])
    await remove(id)
  })

  await t.test('leaves nothing behind of concurrent writes', async t => {
    for (let round = 0; round < 6; round++) {
      const body = startBody()
      const { id } = body.trace
      await record(body)
      const append = () => call('POST', `/api/v1/traces/${id}/spans`, { body: spansBody(span()) })
      const add = () => addScore(id)
      const [removed, ...others] = await Promise.all([remove(id), append(), add(), append(), add(), append(), add()])
      t.equal(removed.status, 200)
      t.ok(others.every(answer => [200, 201, 404].includes(answer.status)))
      t.strictSame(await counts(), NONE)
      t.strictSame((await call('GET', '/api/v1/scores')).body.scores, [])
    }
  })

  await t.test('responds with 404 if the project has no such trace, and 403 to a key that cannot delete', async t => {
    const body = ingestBody()
    await record(body)
    await makeProject('other')
    const { key: other } = await makeKey({ project: 'other' })
    const { key: writer } = await makeKey({ scopes: ['traces:write', 'traces:read'] })
    t.match(await remove(body.trace.id, other), { status: 404 })
    t.match(await remove(traceId()), { status: 404 })
    t.match(await remove('x'), { status: 404 })
    t.match(await remove(body.trace.id, writer), { status: 403, body: { error: { code: 'insufficient_scope' } } })
    t.match(await counts(), { traceCount: 1 })
  })
})
