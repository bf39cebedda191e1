import t from 'tap'
import { checker } from '../../lib/schema/check.ts'
import { ScoreAdded, ScoreList, TraceScoreList } from '../../lib/schema/output.ts'
import { ingestBody, spanId, traceId } from '../fixtures/bodies/bodies.ts'
import { testService } from '../fixtures/service/service.ts'

t.test('scores', async t => {
  const { call, makeKey } = await testService(t)
  const makeTrace = async (key?: string) => {
    const body = ingestBody()
    t.equal((await call('POST', '/api/v1/traces', { body, ...(key !== undefined && { key }) })).status, 201)
    return body.trace.id
  }
  const add = (id: string, body: unknown) => call('POST', `/api/v1/traces/${id}/scores`, { body })
  const list = (query = '') => call('GET', `/api/v1/scores?${query}`)
  const GOOD = { name: 'quality', dataType: 'numeric', value: 0.5 }
  const id = await makeTrace()

  await t.test('are added, listed and deleted', async t => {
    const span = spanId()
    const answer = await add(id.toUpperCase(), { ...GOOD, comment: 'fine', spanId: span.toUpperCase() })
    t.equal(answer.status, 201)
    t.ok(checker(ScoreAdded).check(answer.body))
    const { score, ...rest } = answer.body
    t.strictSame(rest, { ok: true, requestId: answer.headers['x-request-id'] })
    const expected = { traceId: id, spanId: span, ...GOOD, comment: 'fine', source: 'api' }
    t.match(score, { ...expected, evaluatorId: null, runId: null })

    const listed = await call('GET', `/api/v1/traces/${id}/scores`)
    t.strictSame([listed.status, listed.body], [200, { traceId: id, scores: [score] }])
    t.ok(checker(TraceScoreList).check(listed.body))
    const all = await list()
    t.strictSame([all.status, all.body], [200, { scores: [score], nextCursor: null, pageSize: 50 }])
    t.ok(checker(ScoreList).check(all.body))
    const detail = (await call('GET', `/api/v1/traces/${id}`)).body
    t.strictSame(detail.scores, [score])
    const summary = { scoreId: score.id, dataType: 'numeric', value: 0.5, evaluatorId: null }
    t.strictSame(detail.trace.scores, { quality: summary })

    const gone = await call('DELETE', `/api/v1/traces/${id}/scores/${score.id.toUpperCase()}`)
    t.strictSame([gone.status, gone.body], [200, { ok: true, traceId: id, scoreId: score.id }])
    t.match(await call('DELETE', `/api/v1/traces/${id}/scores/${score.id}`), { status: 404 })
    t.strictSame((await list()).body.scores, [])
  })

  for (const score of [
    { name: 'A-b_9', dataType: 'categorical', value: '' },
    { name: 'n'.repeat(64), dataType: 'categorical', value: '😀'.repeat(200), comment: '😀'.repeat(2000) },
    { name: 'ok', dataType: 'boolean', value: false, comment: '' },
    { name: 'odd', dataType: 'categorical', value: '\u0001"\u0002\\,' },
    { name: 'A-b_9', dataType: 'numeric', value: 2 },
    { name: '__proto__', dataType: 'numeric', value: -1.5e300 }
  ]) {
    await t.test(`are accepted: ${score.dataType} ${score.name}`, async t => {
      t.match(await add(id, score), { status: 201, body: { score } })
    })
  }
  await t.test('appear in the trace list as in the detail, the newest of each name', async t => {
    const { trace } = (await call('GET', `/api/v1/traces/${id}`)).body
    const { traces } = (await call('GET', '/api/v1/traces')).body
    const summary = traces.find((each: { id: string }) => each.id === id)
    t.strictSame(Object.entries(summary.scores).sort(), Object.entries(trace.scores).sort())
    t.match(
      [Object.keys(summary.scores).length, summary.scores['A-b_9'].value, summary.scores.odd.value],
      [5, 2, '\u0001"\u0002\\,']
    )
  })

  for (const [claim, body, field] of [
    ['no name', { dataType: 'numeric', value: 1 }, 'name'],
    ['an empty name', { ...GOOD, name: '' }, 'name'],
    ['a name with a space', { ...GOOD, name: 'a b' }, 'name'],
    ['a name with a trailing line break', { ...GOOD, name: 'a\n' }, 'name'],
    ['a name of 65 characters', { ...GOOD, name: 'n'.repeat(65) }, 'name'],
    ['an unknown dataType', { ...GOOD, dataType: 'text' }, 'dataType'],
    ['no value', { name: 'a', dataType: 'numeric' }, 'value'],
    ['a null value', { ...GOOD, value: null }, 'value'],
    ['a text as a number', { ...GOOD, value: '1' }, 'value'],
    ['a number beyond the range of doubles', '{"name":"a","dataType":"numeric","value":1e400}', 'value'],
    ['a number as a category', { ...GOOD, dataType: 'categorical' }, 'value'],
    ['a number as a boolean', { ...GOOD, dataType: 'boolean', value: 1 }, 'value'],
    ['a category of 201 characters', { name: 'a', dataType: 'categorical', value: 'x'.repeat(201) }, 'value'],
    ['U+0000 in a category', { name: 'a', dataType: 'categorical', value: 'a\u0000' }, 'value'],
    ['an unpaired surrogate in a category', { name: 'a', dataType: 'categorical', value: '\ud800' }, 'value'],
    ['a comment of 2001 characters', { ...GOOD, comment: 'x'.repeat(2001) }, 'comment'],
    ['U+0000 in a comment', { ...GOOD, comment: '\u0000' }, 'comment'],
    ['an unpaired surrogate in a comment', { ...GOOD, comment: 'x\udc00' }, 'comment'],
    ['a comment that is null', { ...GOOD, comment: null }, 'comment'],
    ['a short spanId', { ...GOOD, spanId: 'abc' }, 'spanId'],
    ['a source', { ...GOOD, source: 'eval' }, 'source'],
    ['a list', [GOOD], 'body']
  ] as const) {
    await t.test(`are rejected with ${claim}`, async t => {
      const { status, body: answer } = await add(id, body)
      t.match([status, answer.error.code], [400, 'invalid_request'])
      t.match(answer.error.message, new RegExp(`^${field}: `))
    })
  }
  t.match(await add(id, '{'), { status: 400, body: { error: { code: 'invalid_json' } } })
  t.match(await add(id, { ...GOOD, comment: 'x'.repeat(2_097_152) }), { status: 413 })
  t.match(await add(traceId(), GOOD), { status: 404, body: { error: { code: 'not_found' } } })

  await t.test('are limited to 100 per trace', async t => {
    const full = await makeTrace()
    const answers = await Promise.all(Array.from({ length: 105 }, () => add(full, GOOD)))
    t.equal(answers.filter(answer => answer.status === 201).length, 100)
    for (const answer of answers.filter(each => each.status !== 201)) {
      t.match(answer, { status: 409, body: { error: { code: 'conflict' } } })
    }
    const { scores } = (await call('GET', `/api/v1/traces/${full}/scores`)).body
    t.equal(scores.length, 100)
    t.match(await call('DELETE', `/api/v1/traces/${full}`), { status: 200 })
  })

  await t.test('are found by name, environment and time, in pages', async t => {
    const { key } = await makeKey({ environment: 'production' })
    const elsewhere = await makeTrace(key)
    for (const value of [1, 2, 3]) await add(elsewhere, { ...GOOD, name: 'paged', value })
    await add(id, { ...GOOD, name: 'paged', value: 4 })
    const values = async (query: string) =>
      (await list(query)).body.scores.map((score: { value: number }) => score.value)
    t.strictSame(await values('name=paged'), [4, 3, 2, 1])
    t.strictSame(await values('name=nothing'), [])
    t.strictSame(await values('environment=Production'), [3, 2, 1])
    t.strictSame(await values('environment=unassigned&name=paged'), [4])
    t.strictSame(await values('environment=staging'), [])
    const [newest, , , oldest] = (await list('name=paged')).body.scores
    t.strictSame(await values(`name=paged&to=${oldest.createdAt}`), [1])
    t.strictSame(await values(`name=paged&from=${newest.createdAt}`), [4])
    const first = (await list('name=paged&limit=3')).body
    t.strictSame([first.scores.length, first.pageSize], [3, 3])
    const second = (await list(`name=paged&limit=3&after=${first.nextCursor}`)).body
    t.match(second, { scores: [{ value: 1 }], nextCursor: null })
    t.match(await call('GET', `/api/v1/traces?after=${first.nextCursor}`), { status: 400 })
  })

  for (const query of [
    'traceId=x',
    'before=x',
    'limit=501',
    'limit=0',
    'environment=a%20b',
    'from=soon',
    'to=2026',
    'after=AAAA',
    'name=',
    'name=%00'
  ]) {
    await t.test(`are not listed for ${query}`, async t => {
      const { status, body } = await list(query)
      t.match([status, body.error.code], [400, 'invalid_request'])
      t.match(body.error.message, new RegExp(`^${query.slice(0, query.indexOf('='))}: `))
    })
  }

  await t.test("require the route's scope", async t => {
    const [write, read, remove] = [
      (await makeKey({ scopes: ['traces:write'] })).key,
      (await makeKey({ scopes: ['traces:read'] })).key,
      (await makeKey({ scopes: ['traces:delete'] })).key
    ]
    const path = `/api/v1/traces/${id}/scores`
    const missing = `${path}/${spanId()}`
    t.match(await call('POST', path, { key: read, body: GOOD }), { status: 403 })
    t.match(await call('GET', path, { key: write }), { status: 403 })
    t.match(await call('GET', '/api/v1/scores', { key: remove }), { status: 403 })
    t.match(await call('DELETE', missing, { key: write }), { status: 403 })
    t.match(await call('DELETE', missing, { key: remove }), { status: 404 })
    t.match(await call('DELETE', `${path}/nonsense`, { key: remove }), { status: 404 })
  })
})
