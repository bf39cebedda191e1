/** Tests the routes about all traces that match a list's filters, and what the list shows of a trace. */
import t from 'tap'
import { ingestBody, span, spanId, startBody, traceId } from '../../fixtures/bodies/bodies.ts'
import { signedIn } from '../../fixtures/service/people.ts'
import { testService } from '../../fixtures/service/service.ts'

const P = 'p/default'
const invalid = (message: RegExp) => ({ status: 400, body: { error: { code: 'invalid_request', message } } })

t.test('matches', async t => {
  const service = await testService(t)
  const { call, database } = service
  const { ask } = await signedIn(service, 'viewer@example.com', 'viewer')
  const owner = await signedIn(service, 'owner@example.com', 'owner')
  const record = async (body: { readonly trace: { readonly id: string } }) => {
    t.equal((await call('POST', '/api/v1/traces', { body })).status, 201)
    return body.trace.id
  }
  const at = (second: number) => `2026-11-21T12:00:${String(second).padStart(2, '0')}.000Z`
  const llm = (more: object) => span({ kind: 'llm', model: 'm1', usage: { inputTokens: 10, outputTokens: 5 }, ...more })
  const outer = spanId()
  const summed = await record(
    ingestBody({
      name: '=cmd|1',
      startedAt: at(1),
      endedAt: at(9),
      tags: ['a b', 'prompt:v12'],
      metadata: { spoor: { spansLeftOut: { count: 61 } }, odd: '\u0000' },
      spans: [
        span({ id: outer, name: 'plan', kind: 'agent', usage: { inputTokens: 20, outputTokens: 10 } }),
        llm({ parentSpanId: outer, costUsd: 0.25 }),
        llm({ parentSpanId: outer, model: 'm2', startedAt: at(1) })
      ]
    })
  )
  const stated = await record(
    ingestBody({
      name: 'stated',
      startedAt: at(2),
      endedAt: at(3),
      usage: { inputTokens: 1, outputTokens: 1 },
      costUsd: 1,
      userId: 'Ada',
      spans: [llm({ name: 'plan' }), span({ name: 'pay', status: 'error' })]
    })
  )
  const running = await record(startBody({ name: 'running', startedAt: at(3), spans: [llm({})] }))

  t.test("a row has its spans' sums if the trace states none, and the spans that were not stored", async t => {
    const { details } = (await ask('GET', `${P}/traces`)).body
    t.match(details[summed], {
      leftOut: 61,
      steps: { inputTokens: 20, outputTokens: 10, costUsd: 0.25, models: ['m1', 'm2'] }
    })
    t.match(details[running], { leftOut: 0, steps: { inputTokens: 10, costUsd: null, models: ['m1'] } })
    t.notOk(Object.hasOwn(details, stated))
  })

  t.test("the page's summaries can be read alone", async t => {
    for (const query of ['', '?status=running', '?step=plan', '?sort=slowest', '?sort=costliest&step=plan&limit=1']) {
      const { traces } = (await ask('GET', `${P}/traces${query}`)).body
      const expected = traces.map((trace: Record<string, unknown>) => {
        const { firstError, inputPreview, outputPreview, excerpt, moreExcerpts, ...summary } = trace
        return summary
      })
      const { body } = await ask('GET', `${P}/trace-summaries${query}`)
      t.equal(JSON.stringify(body), JSON.stringify({ traces: expected }), query)
    }
    t.match(await ask('GET', `${P}/trace-summaries?ids=${summed}`), invalid(/^ids: /))
  })

  t.test('all matches are counted, up to a limit', async t => {
    t.same((await ask('GET', `${P}/trace-count`)).body, { traces: 3, isMore: false })
    t.same((await ask('GET', `${P}/trace-count?step=plan&sort=slowest&limit=1`)).body, { traces: 2, isMore: false })
    const counts = async (query: string) => (await ask('GET', `${P}/trace-count?${query}`)).body.traces
    t.equal(await counts(`from=${at(2)}&to=${at(2)}`), 1)
    t.equal(await counts(`from=${at(2)}`), 2)
    t.equal(await counts('sort=slowest'), 2, 'a running trace has no duration')
    t.equal(await counts('runsOnly=true&name=stated'), 1)
    t.match(await ask('GET', `${P}/trace-count?step=`), invalid(/^step: /))
  })

  t.test('a field has its frequent values, those that begin with the typed text first', async t => {
    const suggest = async (query: string) => (await ask('GET', `${P}/suggestions?${query}`)).body
    t.same(await suggest('field=tag'), {
      values: [
        { value: 'a b', traces: 1 },
        { value: 'prompt:v12', traces: 1 }
      ],
      newest: null
    })
    t.same((await suggest('field=tagKey')).values, [{ value: 'prompt', traces: 1 }])
    t.same((await suggest('field=step&typed=P')).values, [
      { value: 'plan', traces: 2 },
      { value: 'pay', traces: 1 },
      { value: 'step', traces: 2 }
    ])
    t.same((await suggest('field=userId')).values, [{ value: 'Ada', traces: 1 }])
    t.same((await suggest(`field=name&from=${at(2)}&to=${at(2)}`)).values, [{ value: 'stated', traces: 1 }])
    await call('POST', `/api/v1/traces/${stated}/scores`, { body: { name: 'quality', dataType: 'numeric', value: 1 } })
    t.same((await suggest('field=score')).values, [{ value: 'quality', traces: 1 }])
    for (const field of ['status', 'model', 'environment', 'sessionId']) t.ok((await suggest(`field=${field}`)).values)
    t.match(await ask('GET', `${P}/suggestions`), invalid(/^field: /))
    t.match(await ask('GET', `${P}/suggestions?field=colour`), invalid(/^field: /))
    t.match(await ask('GET', `${P}/suggestions?field=tag&from=x`), invalid(/^from: /))
    t.match(await ask('GET', `${P}/suggestions?field=tag&typed=%00`), invalid(/^typed: /))
  })

  t.test('a table of matches runs nothing in a spreadsheet, and continues from page to page', async t => {
    const first = (await ask('GET', `${P}/trace-table?limit=2`)).body
    t.match(first.head, /^id,name,status,.*,outputPreview$/)
    t.equal(first.rows.length, 2)
    const { rows, nextCursor } = (await ask('GET', `${P}/trace-table?limit=2&after=${first.nextCursor}`)).body
    t.equal(nextCursor, null)
    t.ok(rows.at(-1).cells.startsWith(`${summed},'=cmd|1,`))
    const scored = [...first.rows, ...rows].find(({ cells }) => cells.startsWith(stated))
    t.same(scored.scores, { quality: 1 })
  })

  t.test('only owners can delete listed traces', async t => {
    const remove = (who: typeof owner, body: object) => who.ask('POST', `${P}/deletions`, { body })
    const body = { traceIds: [stated, stated.toUpperCase(), traceId()] }
    const member = await signedIn(service, 'member@example.com', 'member')
    t.equal((await remove(member, body)).status, 403)
    t.match(await remove(owner, { traceIds: [] }), invalid(/^traceIds: /))
    t.match(await remove(owner, { traceIds: Array.from({ length: 201 }, traceId) }), invalid(/^traceIds: /))
    t.same((await remove(owner, body)).body, { ok: true, deleted: 1, remaining: 0 })
    t.same((await remove(owner, body)).body, { ok: true, deleted: 0, remaining: 0 })
    t.same((await ask('GET', `${P}/trace-count`)).body, { traces: 2, isMore: false })
    const [entry] = await database.pool.run(
      sql => sql`select user_id is null as "isNobody", detail from audit where action = 'trace.delete' order by id desc`
    )
    t.same([entry?.isNobody, JSON.parse(entry?.detail)], [false, { traceIds: [stated], traces: 1 }])
  })

  t.test('owners erase a user or a session, after counting the traces', async t => {
    const recorded: string[] = []
    for (const over of [{ userId: 'eve', sessionId: 's1' }, { userId: 'eve' }, { userId: 'mel', sessionId: 's1' }]) {
      recorded.push(await record(ingestBody(over)))
    }
    const remove = (who: typeof owner, body: object) => who.ask('POST', `${P}/deletions`, { body })
    const viewer = await signedIn(service, 'looker@example.com', 'viewer')
    t.equal((await remove(viewer, { userId: 'eve' })).status, 403)
    t.equal((await remove(viewer, { userId: 'eve', dryRun: true })).status, 403)
    t.match(await remove(owner, { userId: '' }), invalid(/^userId: /))
    t.match(await remove(owner, { userId: '\0' }), invalid(/^userId: /))
    t.match(await remove(owner, { userId: 'eve', sessionId: 's1' }), invalid(/exactly one of/))
    t.match(await remove(owner, { dryRun: true }), invalid(/exactly one of/))
    t.same((await remove(owner, { userId: 'eve', dryRun: true })).body, { ok: true, deleted: 0, remaining: 2 })
    t.same((await remove(owner, { userId: 'eve' })).body, { ok: true, deleted: 2, remaining: 0 })
    t.same((await remove(owner, { sessionId: 's1' })).body, { ok: true, deleted: 1, remaining: 0 })
    for (const id of recorded) t.equal((await call('GET', `/api/v1/traces/${id}`)).status, 404)
    const entries = await database.pool.run(
      sql => sql`select user_id is null as "isNobody", detail from audit where action = 'trace.delete' order by id desc
        limit 2`
    )
    t.same(
      entries.map(({ isNobody, detail }) => [isNobody, JSON.parse(detail)]),
      [
        [false, { sessionId: 's1', traces: 1 }],
        [false, { userId: 'eve', traces: 2 }]
      ]
    )
  })

  t.test('a list shows the requested metadata', async t => {
    const big = { plan: 'big', text: 'x'.repeat(70_000) }
    for (const metadata of [
      { release: '1.2', customer: { plan: 'gold', seats: 3 }, odd: '\u0000', long: 'y'.repeat(500) },
      { release: null },
      big
    ])
      await record(ingestBody({ name: 'described', metadata }))
    const read = async (query: string) => (await ask('GET', `${P}/traces?name=described&${query}`)).body.metadata
    t.same(await read(''), {}, 'no metadata unless requested')
    const { body } = await ask('GET', `${P}/suggestions?field=metadata`)
    const names = body.values.map(({ value }: { value: string }) => value)
    for (const name of ['release', 'customer.plan', 'odd']) t.ok(names.includes(name), name)
    t.notOk(names.some((name: string) => name.startsWith('spoor') || name === 'plan'))
    const asked = ['release', 'customer.plan', 'customer.seats', 'odd', 'plan', 'none', 'customer', 'long']
    const found = Object.values(await read(asked.map(name => `metadata=${name}`).join('&'))) as Record<string, string>[]
    t.equal(found.length, 1)
    t.match(found[0], { release: '1.2', 'customer.plan': 'gold', 'customer.seats': '3', odd: '\0' })
    t.ok(found[0]!.long!.length <= 201)
    t.equal(Object.keys(found[0]!).length, 5)
    t.match(await ask('GET', `${P}/traces?metadata=`), invalid(/^metadata/))
    t.match(await ask('GET', `${P}/traces?metadata=%00`), invalid(/^metadata: /))
    t.match(await ask('GET', `${P}/traces?${'metadata=a&'.repeat(9)}`), invalid(/^metadata: /))
  })
})
