/** Tests the dashboard's full-text search: its responses, and who may turn it on. */
import t from 'tap'
import { ingestBody } from '../../fixtures/bodies/bodies.ts'
import { signedIn } from '../../fixtures/service/people.ts'
import { indexNow, searchOn } from '../../fixtures/service/searching.ts'
import { testService } from '../../fixtures/service/service.ts'

const P = 'p/default'
const invalid = (message: RegExp) => ({ status: 400, body: { error: { code: 'invalid_request', message } } })

t.test('the list finds words, with an excerpt from each trace', async t => {
  const service = await testService(t)
  const { call } = service
  const { ask } = await signedIn(service, 'viewer@example.com', 'viewer')
  t.match(await ask('GET', `${P}/traces?q=refund`), invalid(/^q: cannot be used: search is off for this project;/))
  await searchOn(service)
  const record = async (more: object) => {
    const body = ingestBody(more)
    t.equal((await call('POST', '/api/v1/traces', { body })).status, 201)
    return body.trace.id
  }
  const hostile = '\u202e<b>\ud800 I want my REFUND,\n\tplease'
  const first = await record({ model: 'm', input: { messages: [{ role: 'user', content: hostile }] } })
  const second = await record({ name: 'réfund of 東京', startedAt: '2026-11-21T12:00:01.000Z' })
  await record({ output: 'nothing' })
  await indexNow(service)

  const { status, body } = await ask('GET', `${P}/traces?q=refund`)
  t.equal(status, 200)
  t.same(body.index, { backTo: null, isFilled: false, waiting: 0, partlyIndexed: 0 })
  t.same(
    body.traces.map(({ id, excerpt }: { id: string; excerpt: object }) => [id, excerpt]),
    [
      [second, { place: 'name', spanId: null, role: null, text: 'réfund of 東京', marks: [[0, 6]] }],
      [
        first,
        {
          place: 'input',
          spanId: null,
          role: 'user',
          text: '\ufffd<b>\ufffd I want my REFUND, please',
          marks: [[16, 22]]
        }
      ]
    ]
  )
  const ids = async (query: string) =>
    (await ask('GET', `${P}/traces?${query}`)).body.traces.map(({ id }: { id: string }) => id)
  t.same(await ids('q=refund&model=m'), [first])
  t.same(await ids('q=refund&runsOnly=true'), [first])
  t.same(await ids('q=refund&to=2026-11-21T12:00:00.500Z'), [first])
  t.same(await ids(`q=${encodeURIComponent('京')}`), [second])
  t.same(await ids(`q=${encodeURIComponent('"please refund"')}`), [])
  const page = (await ask('GET', `${P}/traces?q=refund&limit=1`)).body
  t.match(page, { traces: [{ id: second }], nextCursor: String, prevCursor: null })
  const next = (await ask('GET', `${P}/traces?q=refund&limit=1&after=${page.nextCursor}`)).body
  t.match(next, { traces: [{ id: first }], nextCursor: null, prevCursor: String })
  t.same(await ids(`q=refund&limit=1&before=${next.prevCursor}`), [second])

  const marks = await ask('GET', `${P}/traces?q=${encodeURIComponent('!?')}`)
  t.match(marks, invalid(/^q: must contain a letter or a digit$/))
  t.same(
    await ids('q=refund&sort=slowest'),
    (await ids('sort=slowest')).filter((id: string) => [first, second].includes(id))
  )
  t.match(await ask('GET', `${P}/traces?q=a&ids=${first}`), invalid(/^q: cannot be combined with `ids`$/))
  t.match(await ask('GET', `${P}/traces?q=${'a'.repeat(201)}`), invalid(/^q: must have at most 200 characters/))
  t.match(await ask('GET', `${P}/traces?q=%00`), invalid(/^q: /))
})

t.test("owners turn search on and off, and members see the index's progress", async t => {
  const service = await testService(t)
  const owner = await signedIn(service, 'owner@example.com', 'owner')
  const member = await signedIn(service, 'member@example.com', 'member')
  const patch = (who: typeof owner, body: object) => who.ask('PATCH', P, { body })
  t.equal((await patch(member, { search: true })).status, 403)
  t.match(await patch(owner, { search: 'on' }), invalid(/^search: /))
  t.match(await patch(owner, {}), invalid(/^name: is required unless `search` is set$/))
  t.match((await member.ask('GET', P)).body, { search: null })
  t.match(await patch(owner, { search: true }), { status: 200, body: { search: { isFilled: true, waiting: 0 } } })
  t.match((await member.ask('GET', 'session')).body.projects, [{ slug: 'default', search: true }])
  t.match((await member.ask('GET', P)).body, { name: String, search: { backTo: null, isFilled: true, waiting: 0 } })
  t.match(await patch(owner, { search: false, name: 'Other' }), { status: 200, body: { search: null, name: 'Other' } })
  const entries = await service.database.pool.run(
    sql => sql`select user_id is null as "isNobody", detail from audit where action = 'project.update' order by id`
  )
  t.same(
    entries.map(({ isNobody, detail }) => [isNobody, JSON.parse(detail)]),
    [
      [false, { search: true }],
      [false, { search: false }]
    ]
  )
})
