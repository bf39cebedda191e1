/** Tests saved views, which are private or shared names for addresses. */
import t from 'tap'
import { MOST_VIEWS } from '../../../lib/store/projects/saved-views.ts'
import { signedIn } from '../../fixtures/service/people.ts'
import { testService } from '../../fixtures/service/service.ts'

const P = 'p/default'
const VIEW = { name: 'Failures', page: 'traces', query: '?status=error&range=24h&cols=name,cost' }
const invalid = (message: RegExp) => ({ status: 400, body: { error: { code: 'invalid_request', message } } })
const conflict = (message: RegExp) => ({ status: 409, body: { error: { code: 'conflict', message } } })
const forbidden = { status: 403, body: { error: { code: 'forbidden', message: /^Only members can share views/ } } }
const gone = { status: 404, body: { error: { code: 'not_found' } } }

const service = await testService(t)
const viewer = await signedIn(service, 'viewer@example.com', 'viewer')
const member = await signedIn(service, 'member@example.com', 'member')
type Person = typeof viewer

const names = async ({ ask }: Person, project = P) =>
  (await ask('GET', `${project}/views`)).body.views.map(
    ({ name, shared }: { name: string; shared: boolean }) => `${name}${shared ? ' (shared)' : ''}`
  )
const save = async ({ ask }: Person, view: object) => ask('POST', `${P}/views`, { body: { ...VIEW, ...view } })

t.test('everyone has private views, and members can share some', async t => {
  const own = await save(viewer, { name: ' Failures ' })
  t.match(own, { status: 201, body: { view: { ...VIEW, shared: false } } })
  t.match(await save(viewer, {}), conflict(/^name: one of your views is already called Failures$/))
  t.match(await save(viewer, { shared: true }), forbidden)
  const shared = await save(member, { shared: true })
  t.match(shared, { status: 201, body: { view: { shared: true } } })
  t.match(await save(member, { shared: true }), conflict(/^name: a shared view is already called Failures$/))
  t.equal((await save(member, {})).status, 201, 'a private one with the same name')
  t.same(await names(viewer), ['Failures', 'Failures (shared)'])
  await service.makeProject('second')
  t.same(await names(viewer, 'p/second'), [], 'views belong to one project')

  const at = (answer: typeof own) => `${P}/views/${answer.body.view.id}`
  t.match(await member.ask('DELETE', at(own)), gone, 'another user’s private view does not exist')
  t.match(await member.ask('PATCH', at(own), { body: { name: 'x' } }), gone)
  for (const [method, body] of [
    ['PATCH', { name: 'x' }],
    ['PATCH', { shared: false }],
    ['DELETE', undefined]
  ] as const) {
    t.match(await viewer.ask(method, at(shared), body && { body }), forbidden)
  }
  t.match(await viewer.ask('PATCH', at(own), { body: { shared: true } }), forbidden)
  const renamed = await viewer.ask('PATCH', at(own), { body: { name: 'Mine' } })
  t.match(renamed.body.view, { ...VIEW, name: 'Mine' }, 'omitted fields are kept')
  t.match(await member.ask('PATCH', at(shared), { body: { shared: false } }), conflict(/^name: one of your views/))
  t.match(await member.ask('PATCH', at(shared), { body: { shared: false, name: 'Taken back' } }), { status: 200 })
  t.same(await names(viewer), ['Mine'])
  t.same(await names(member), ['Failures', 'Taken back'])
  t.equal((await viewer.ask('DELETE', at(own))).status, 200)
  t.match(await viewer.ask('DELETE', at(own)), gone)
})

t.test('an invalid view is rejected with the field and the rule', async t => {
  const wrong: [object, RegExp][] = [
    [{ name: '' }, /^name: must have at least 1 character/],
    [{ name: '  ' }, /^name: must not be empty$/],
    [{ name: 'x'.repeat(81) }, /^name: must have at most 80 characters/],
    [{ name: 'a\nb' }, /^name: must not contain control characters$/],
    [{ name: 'a\u0000' }, /^name: must not contain U\+0000$/],
    [{ name: '\ud800' }, /^name: must not contain unpaired surrogates$/],
    [{ page: 'keys' }, /^page: must be one of traces, overview/],
    [{ query: 'status=error' }, /^query: must be empty, or begin with \?$/],
    [{ query: '?a#b' }, /^query: must not contain #$/],
    [{ query: `?${'x'.repeat(4000)}` }, /^query: must have at most 4000 characters/],
    [{ shared: 1 }, /^shared: must be/],
    [{ userId: 1 }, /^userId: unknown field$/]
  ]
  const { id } = (await save(viewer, { name: 'right' })).body.view
  for (const [change, message] of wrong) {
    t.match(await save(viewer, change), invalid(message))
    t.match(await viewer.ask('PATCH', `${P}/views/${id}`, { body: change }), invalid(message))
  }
  for (const at of ['0', 'x', '2147483648', '99999999999'])
    t.match(await viewer.ask('DELETE', `${P}/views/${at}`), gone)
})

t.test(`there are at most ${MOST_VIEWS} private views, and as many shared ones`, async t => {
  const { ask } = await signedIn(service, 'collector@example.com', 'member')
  const fill = (owner: string) =>
    service.database.pool.run(sql =>
      sql.unsafe(`insert into saved_views (project_id, user_id, name, page, query)
        select 1, ${owner}, 'filled ' || n, 'traces', '' from generate_series(1, ${MOST_VIEWS}) n`)
    )
  await fill(`(select id from users where email = 'collector@example.com')`)
  const own = { ...VIEW, name: 'one more' }
  t.match(await ask('POST', `${P}/views`, { body: own }), conflict(/^At most 100 views of your own/))
  const shared = await ask('POST', `${P}/views`, { body: { ...own, shared: true } })
  t.equal(shared.status, 201)
  const path = `${P}/views/${shared.body.view.id}`
  t.match(await ask('PATCH', path, { body: { shared: false } }), conflict(/^At most 100 views of your own/))
  t.equal((await ask('PATCH', path, { body: { query: '' } })).status, 200, 'an existing one can be changed')
})

t.test("a removed user's private views are deleted, and shared ones stay", async t => {
  const leaver = await signedIn(service, 'leaver@example.com', 'member')
  await save(leaver, { name: 'of the leaver' })
  await save(leaver, { name: 'left', shared: true })
  await service.database.pool.run(sql => sql`delete from users where email = 'leaver@example.com'`)
  const rows = await service.database.pool.run(
    sql => sql`select name from saved_views where name like '%le%' order by 1`
  )
  t.ok(rows.some(({ name }) => name === 'left'))
  t.notOk(rows.some(({ name }) => name === 'of the leaver'))
})
