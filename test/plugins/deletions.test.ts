/** Tests the deletion of many traces. test/whole/people.test.ts compares it with a model. */
import t, { type Test } from 'tap'
import { hexId, ingestBody, span, spansBody, startBody, traceId } from '../fixtures/bodies/bodies.ts'
import { countOrphans, countStrays, NO_ORPHANS, NO_STRAYS } from '../fixtures/database/seed.ts'
import { testService } from '../fixtures/service/service.ts'

const service = await testService(t)
const { call, makeKey, makeProject, database } = service
const record = (more: object = {}, key?: string) => {
  const body = ingestBody({ spans: [span(), span()], tags: ['a'], ...more })
  return call('POST', '/api/v1/traces', { body, ...(key !== undefined && { key }) }).then(({ status, text }) => {
    t.equal(status, 201, text)
    return body.trace.id
  })
}
const remove = (body: unknown, key?: string) =>
  call('POST', '/api/v1/deletions', { body, ...(key !== undefined && { key }) })
const counts = async (key?: string) => {
  const { traceCount, spanCount, estimatedBytes } = (await call('GET', '/api/v1/project', key ? { key } : {})).body
  return { traceCount, spanCount, estimatedBytes }
}
const NONE = { traceCount: 0, spanCount: 0, estimatedBytes: 0 }
const auditEntries = () =>
  database.pool.run(
    sql => sql<{ detail: string }[]>`
    select detail from audit where action = 'trace.delete' order by id`
  )
const consistent = async (t: Test) => {
  t.same(await database.pool.run(countOrphans), NO_ORPHANS)
  t.same(await database.pool.run(countStrays), NO_STRAYS)
}

t.test('only the traces of a user, of a session or of a list are deleted', async t => {
  const ofAda = [await record({ userId: 'ada' }), await record({ userId: 'ada', model: 'm', sessionId: 'one' })]
  const ofOne = [await record({ userId: 'bob', sessionId: 'one' }), await record({ sessionId: 'one' })]
  const listed = [await record(), await record({ userId: 'bob' })]
  const score = { name: 'quality', dataType: 'numeric', value: 1 }
  await call('POST', `/api/v1/traces/${ofAda[0]}/scores`, { body: score })
  const isGone = async (id: string | undefined) => (await call('GET', `/api/v1/traces/${id}`)).status === 404
  const goneOf = (ids: readonly string[]) => Promise.all(ids.map(isGone))

  const before = await counts()
  const dry = { ok: true, deleted: 0, remaining: 2 }
  t.strictSame((await remove({ userId: 'ada', dryRun: true })).body, dry)
  t.strictSame((await remove({ dryRun: true, traceIds: [...listed, traceId()] })).body, dry)
  t.strictSame((await remove({ sessionId: 'one', dryRun: true })).body, { ...dry, remaining: 3 })
  const nobody = { ...dry, remaining: 0, hint: 'No trace has the user ID "adda". The nearest: "ada".' }
  t.strictSame((await remove({ userId: 'adda', dryRun: true })).body, nobody)
  t.strictSame((await remove({ userId: 'adda' })).body, nobody)
  t.match((await remove({ sessionId: 'onne' })).body, {
    deleted: 0,
    hint: /^No trace has the session ID "onne"\. The nearest: "one"/
  })
  const { key: blind } = await makeKey({ scopes: ['traces:delete'] })
  t.strictSame((await remove({ userId: 'adda' }, blind)).body.hint, 'No trace has the user ID "adda".')
  t.same(await counts(), before, 'a dry run deletes nothing')
  t.strictSame((await remove({ userId: 'ada', dryRun: false })).body, { ok: true, deleted: 2, remaining: 0 })
  t.same(await goneOf([...ofAda, ...ofOne, ...listed]), [true, true, false, false, false, false])
  t.strictSame((await remove({ sessionId: 'one' })).body, { ok: true, deleted: 2, remaining: 0 })
  t.same(await goneOf([...ofOne, ...listed]), [true, true, false, false])
  const [first = '', second = ''] = listed
  const ids = { traceIds: [first.toUpperCase(), first, traceId(), second] }
  t.strictSame((await remove(ids)).body, { ok: true, deleted: 2, remaining: 0 })
  t.strictSame((await remove(ids)).body, { ok: true, deleted: 0, remaining: 0 }, 'repeating it has no effect')
  t.same(await counts(), NONE)
  t.same((await call('GET', '/api/v1/scores')).body.scores, [])
  t.same((await call('GET', '/api/v1/users')).body.users, [])
  const { keyId } = (await call('GET', '/api/v1/key')).body
  t.same(
    (await auditEntries()).map(({ detail }) => JSON.parse(detail)),
    [
      { userId: 'ada', traces: 2, keyId },
      { sessionId: 'one', traces: 2, keyId },
      { traceIds: [first, second].sort(), traces: 2, keyId }
    ]
  )
  await consistent(t)
})

t.test('a request deletes a bounded number of traces and spans, and reports how many are left', async t => {
  const spans = Array.from({ length: 200 }, () => span())
  for (let i = 0; i < 53; i++)
    await record({ sessionId: 'long', spans: spans.map(each => ({ ...each, id: hexId(8) })) })
  t.strictSame((await remove({ sessionId: 'long' })).body, { ok: true, deleted: 50, remaining: 3 })
  t.strictSame((await remove({ sessionId: 'long' })).body, { ok: true, deleted: 3, remaining: 0 })
  t.same(await counts(), NONE)
  await consistent(t)
})

t.test('deletions race with recording, appends, ends, patches, scores and each other', async t => {
  for (let round = 0; round < 5; round++) {
    const bodies = Array.from({ length: 8 }, () => startBody({ userId: 'eve', sessionId: 'race', spans: [span()] }))
    for (const body of bodies) await call('POST', '/api/v1/traces', { body })
    const ids = bodies.map(({ trace }) => trace.id)
    const change = (id: string, i: number) => [
      () => call('POST', `/api/v1/traces/${id}/spans`, { body: spansBody(span(), span()) }),
      () => call('PATCH', `/api/v1/traces/${id}`, { body: { metadata: { i } } }),
      () => call('POST', `/api/v1/traces/${id}/scores`, { body: { name: 'q', dataType: 'numeric', value: i } }),
      () => call('POST', `/api/v1/traces/${id}/spans`, { body: spansBody(span()) }),
      () => call('DELETE', `/api/v1/traces/${i % 3 === 0 ? id : traceId()}`),
      () => record({ userId: 'eve', sessionId: 'race' }).then(() => undefined)
    ]
    const targets = [{ userId: 'eve' }, { sessionId: 'race' }, { traceIds: ids }]
    const removals = () => targets.map(target => remove(target))
    const changes = ids.flatMap(change).map(each => each())
    const removed = await Promise.all([...removals(), ...removals()])
    for (const { status, text } of removed) t.equal(status, 200, text)
    for (const answer of await Promise.all(changes)) {
      if (answer !== undefined) t.ok([200, 201, 404].includes(answer.status), answer.text)
    }
    await consistent(t)
    for (const target of targets) {
      for (let i = 0; i < 5 && (await remove(target)).body.remaining > 0; i++);
      t.match((await remove(target)).body, { ok: true, deleted: 0, remaining: 0 })
    }
    t.same(await counts(), NONE)
  }
})

t.test('another project’s traces are untouched, and a key needs the scope', async t => {
  await makeProject('other')
  const { key } = await makeKey({ project: 'other' })
  const id = await record({ userId: 'ada', sessionId: 'one' }, key)
  for (const target of [{ userId: 'ada' }, { sessionId: 'one' }, { traceIds: [id] }]) {
    t.match((await remove(target)).body, { ok: true, deleted: 0, remaining: 0 })
  }
  t.match(await counts(key), { traceCount: 1 })
  const { key: reader } = await makeKey({ scopes: ['traces:write', 'traces:read'] })
  t.match(await remove({ userId: 'ada' }, reader), { status: 403, body: { error: { code: 'insufficient_scope' } } })
})

t.test('exactly one valid target is required', async t => {
  const id = traceId()
  for (const [body, rule] of [
    [{}, 'body: must have exactly one of traceIds, userId or sessionId'],
    [{ userId: 'a', sessionId: 'b' }, 'body: must have exactly one of traceIds'],
    [{ dryRun: true }, 'body: must have exactly one of traceIds'],
    [{ userId: 'a', dryRun: 'yes' }, 'dryRun: must be a boolean'],
    [{ userId: 'a', traceIds: [id], dryRun: true }, 'body: must have '],
    [[], 'body: must be an object'],
    [{ userId: 'a', all: true }, 'all: unknown field'],
    [{ userId: '' }, 'userId: must have at least 1 character'],
    [{ userId: null }, 'userId: must be a string'],
    [{ userId: 'x'.repeat(201) }, 'userId: must have at most 200 characters'],
    [{ userId: 'a\0' }, 'userId: '],
    [{ sessionId: 5 }, 'sessionId: must be a string'],
    [{ sessionId: '\ud800' }, 'sessionId: '],
    [{ traceIds: id }, 'traceIds: must be an array'],
    [{ traceIds: [] }, 'traceIds: must have at least 1 item'],
    [{ traceIds: ['x'] }, 'traceIds[0]: must be 32 hexadecimal characters'],
    [{ traceIds: Array(201).fill(id) }, 'traceIds: must have at most 200 items']
  ] as const) {
    const { status, body: answer } = await remove(body)
    t.match([status, answer.error.code], [400, 'invalid_request'], rule)
    t.ok(answer.error.message.startsWith(rule), answer.error.message)
  }
  t.match(await remove('{'), { status: 400, body: { error: { code: 'invalid_json' } } })
  t.match(await remove(' '.repeat(20_000)), { status: 413, body: { error: { code: 'payload_too_large' } } })
})
