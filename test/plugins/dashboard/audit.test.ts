/** Tests the audit log of an account, as its owners see it. */
import t from 'tap'
import { createAccount } from '../../../lib/admin/accounts.ts'
import { createProject } from '../../../lib/admin/projects.ts'
import { ACCOUNT_ACTIONS, PERSONAL_ACTIONS } from '../../../lib/store/audit-actions.ts'
import { ingestBody, span } from '../../fixtures/bodies/bodies.ts'
import { addPerson, asking, givePassword, linkFor, type Person, signedIn } from '../../fixtures/service/people.ts'
import { type TestService, testService } from '../../fixtures/service/service.ts'

const PASSWORD = 'correct horse battery'

interface Shown {
  readonly id: number
  readonly by: string
  readonly action: string
  readonly client: string | null
  readonly project: string | null
  readonly detail: Record<string, unknown>
}

const entriesFor = async ({ ask }: Person, query = ''): Promise<Shown[]> =>
  (await ask('GET', `p/default/audit${query}`)).body.entries

const tryPassword = (service: TestService, email: string, password: string) =>
  asking(service)('POST', 'sign-in/password', { body: { email, password } })

t.test("owners see the actions in their account, with each person's client address", async t => {
  const service = await testService(t)
  const owner = await signedIn(service, 'owner@example.com', 'owner')
  const created = (await owner.ask('POST', 'p/default/keys', { body: { label: 'ci' } })).body
  await owner.ask('POST', 'p/default/members', { body: { email: 'eve@example.com', role: 'viewer' } })
  const body = ingestBody()
  await service.call('POST', '/api/v1/traces', { key: created.key, body })
  await owner.ask('DELETE', `p/default/traces/${body.trace.id}`)
  const entries = await entriesFor(owner)
  const client = '127.0.0.1'
  const by = 'owner@example.com'
  t.match(
    entries.filter(each => each.action !== 'key.use'),
    [
      { action: 'trace.delete', by, client, project: 'default', detail: { traceId: body.trace.id } },
      { action: 'member.add', by, client, project: null, detail: { email: 'eve@example.com', role: 'viewer' } },
      { action: 'key.create', by, client, project: 'default', detail: { keyId: created.keyId, label: 'ci' } },
      { action: 'sign-in', by, client, detail: { means: 'link' } }
    ]
  )
  t.match(
    entries.filter(each => each.action === 'key.use' && each.detail.keyId === created.keyId),
    [{ by: `key ${created.keyId}`, detail: { before: null } }],
    'the first use of the key, once'
  )
  t.same(
    (await entriesFor(owner, '?group=members')).map(each => each.action),
    ['member.add', 'user.add']
  )
  t.same(
    (await entriesFor(owner, '?group=sign-ins')).map(each => each.action),
    ['sign-in']
  )
  t.notMatch(JSON.stringify(entries), created.key.split('_').at(-1))
  for (const wrong of ['?group=none', '?before=0', '?before=x', '?before=9007199254740992', '?limit=1']) {
    t.equal((await owner.ask('GET', `p/default/audit${wrong}`)).status, 400, wrong)
  }
  for (const role of ['viewer', 'member'] as const) {
    const other = await signedIn(service, `${role}@example.com`, role)
    t.equal((await other.ask('GET', 'p/default/audit')).status, 403)
    t.equal((await other.ask('GET', 'p/default/audit-file')).status, 403)
  }
})

t.test('failed sign-ins are one entry per user and client, without the typed text', async t => {
  const service = await testService(t)
  const owner = await signedIn(service, 'owner@example.com', 'owner')
  await addPerson(service, 'ada@example.com', 'member')
  await givePassword(service, 'ada@example.com', PASSWORD)
  for (const wrong of ['one', 'two', 'three'])
    t.equal((await tryPassword(service, 'ada@example.com', wrong)).status, 401)
  t.equal((await tryPassword(service, 'my password is here', 'four')).status, 401)
  t.equal((await tryPassword(service, 'ada@example.com', PASSWORD)).status, 204)
  for (const token of ['x'.repeat(43), 'y'.repeat(43)]) {
    t.equal((await asking(service)('POST', 'sign-in/link', { body: { token } })).status, 401)
  }
  const failed = (await entriesFor(owner, '?group=sign-ins')).filter(each => each.action === 'sign-in.fail')
  t.match(failed, [{ by: 'ada@example.com', client: '127.0.0.1', detail: { means: 'password', attempts: 3 } }])
  t.equal(failed.length, 1)
  const all = await service.database.pool.run(
    sql => sql`select user_id, detail::text, client from audit where action = 'sign-in.fail' order by id`
  )
  t.equal(all.length, 3, 'ada, the unknown address, and the links once')
  t.match(all.slice(1), [
    { user_id: null, detail: /"password"/ },
    { user_id: null, detail: /"link"/ }
  ])
  t.notMatch(JSON.stringify(all), /my password is here|three|four/)
})

t.test("failed links from one network's addresses cannot fill the log", async t => {
  const service = await testService(t, { config: { trustProxy: ['127.0.0.1/32'] } })
  const fail = (client: string, i: number) =>
    asking(service)('POST', 'sign-in/link', {
      body: { token: String(i).padStart(43, 'x') },
      headers: { 'x-forwarded-for': client }
    })
  for (let i = 0; i < 60; i++) t.equal((await fail(`2001:db8:7::${i.toString(16)}`, i)).status, 401)
  t.equal((await fail('2001:db8:8::1', 60)).status, 401)
  const clients = await service.database.pool.run(
    sql => sql<{ client: string }[]>`select client from audit where action = 'sign-in.fail' order by id`
  )
  t.equal(clients.filter(({ client }) => client.startsWith('2001:db8:7::')).length, 50)
  t.equal(clients.at(-1)?.client, '2001:db8:8::1', 'another network has its own limit')
})

t.test('a wrong current password also counts as a failed attempt', async t => {
  const service = await testService(t)
  const owner = await signedIn(service, 'owner@example.com', 'owner')
  await givePassword(service, 'owner@example.com', PASSWORD)
  const answer = await owner.ask('POST', 'password', { body: { current: 'wrong', password: 'another good password' } })
  t.equal(answer.status, 400)
  t.match((await entriesFor(owner))[0], { action: 'sign-in.fail', by: 'owner@example.com' })
})

t.test("an account sees no other account's entries, nor those of its members before they joined", async t => {
  const service = await testService(t)
  const { pool } = service.database
  const owner = await signedIn(service, 'owner@example.com', 'owner')
  const { id } = await pool.run(sql => createAccount(sql, 'theirs', 'owner'))
  await pool.run(sql => createProject(sql, 1e9, { name: 'theirs', slug: 'theirs', accountId: id }))
  const stranger = await signedIn(service, 'stranger@example.com', 'owner', id)
  await stranger.ask('POST', 'p/theirs/keys', { body: { label: 'secret label' } })
  const mine = JSON.stringify(await entriesFor(owner))
  t.notMatch(mine, /theirs|stranger|secret label/)
  const theirs = (await stranger.ask('GET', 'p/theirs/audit')).body.entries as Shown[]
  t.same(
    theirs.map(each => each.action),
    ['key.create', 'sign-in', 'user.add', 'project.create']
  )
  // Afterwards the stranger belongs to both accounts.
  await addPerson(service, 'stranger@example.com', 'viewer')
  t.notOk((await entriesFor(owner)).some(each => each.action === 'sign-in' && each.by === 'stranger@example.com'))
  const token = await linkFor(service, 'stranger@example.com')
  t.equal((await asking(service)('POST', 'sign-in/link', { body: { token } })).status, 204)
  t.ok((await entriesFor(owner)).some(each => each.action === 'sign-in' && each.by === 'stranger@example.com'))
  t.equal((await stranger.ask('GET', 'p/default/audit')).status, 401, 'the other session was ended')
})

t.test('pages cover every entry once, and the file has the same entries', async t => {
  const service = await testService(t)
  const owner = await signedIn(service, 'owner@example.com', 'owner')
  const actions = [...PERSONAL_ACTIONS, ...Object.entries(ACCOUNT_ACTIONS).flatMap(([, each]) => [...each])]
  await service.database.pool.run(async sql => {
    const [{ accountId }] = (await sql`select account_id as "accountId" from projects`) as unknown as [
      { accountId: number }
    ]
    await sql`
      insert into audit (account_id, project_id, action, detail)
      select case when i % 3 = 0 then null else ${accountId}::int end, (select id from projects),
        (${actions}::text[])[1 + i % ${actions.length}], json_build_object('i', i)
      from generate_series(1, 350) i`
    await sql`insert into audit (action) select 'backup' from generate_series(1, 50)`
  })
  const seen: Shown[] = []
  let query = ''
  for (let pages = 0; pages < 10; pages++) {
    const { entries, next } = (await owner.ask('GET', `p/default/audit${query}`)).body
    t.ok(entries.length <= 100)
    seen.push(...entries)
    if (next === null) break
    query = `?before=${next}`
  }
  t.equal(new Set(seen.map(each => each.id)).size, seen.length)
  t.same(
    seen.map(each => each.id),
    seen.map(each => each.id).toSorted((a, b) => b - a)
  )
  t.notOk(seen.some(({ action }) => action === 'trace.view' || action === 'backup'))
  const known = seen.filter(({ detail }) => 'i' in detail)
  const account = Object.values(ACCOUNT_ACTIONS).flat() as string[]
  const wanted = Array.from({ length: 350 }, (_, i) => actions[(i + 1) % actions.length]!)
  t.equal(known.length, wanted.filter(action => account.includes(action) && action !== 'trace.view').length)
  const file = await owner.ask('GET', 'p/default/audit-file')
  t.match(file.headers, {
    'content-type': 'application/x-ndjson',
    'content-disposition': `attachment; filename="spoor-default-audit-${new Date().toISOString().slice(0, 10)}.ndjson"`
  })
  t.same(
    file.text
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line)),
    seen
  )
})

t.test('AUDIT_VIEWS=on records who opened which trace, once an hour; by default, views are not recorded', async t => {
  const service = await testService(t, { config: { auditViews: true } })
  const step = span()
  const body = ingestBody({ spans: [step] })
  const { id } = body.trace
  await service.call('POST', '/api/v1/traces', { body })
  const owner = await signedIn(service, 'owner@example.com', 'owner')
  const viewer = await signedIn(service, 'viewer@example.com', 'viewer')
  const spanId = step.id
  const paths = ['', '/outline', '/body', '/texts', `/spans/${spanId}`, `/previews?spans=${spanId}`]
  for (const path of [...paths, ...paths]) {
    t.equal((await viewer.ask('GET', `p/default/traces/${id}${path}`)).status, 200, path)
  }
  t.equal((await viewer.ask('GET', `p/default/traces/${'0'.repeat(32)}/outline`)).status, 404)
  const views = () => entriesFor(owner, '?group=views')
  t.match(await views(), [{ by: 'viewer@example.com', client: '127.0.0.1', detail: { traceId: id } }])
  t.equal((await views()).length, 1)
  t.equal((await owner.ask('GET', 'p/default/audit')).body.views, true)
  for (const path of paths) {
    const person = await signedIn(service, `reader${paths.indexOf(path)}@example.com`, 'viewer')
    await person.ask('GET', `p/default/traces/${id}${path}`)
    t.match((await views())[0], { by: person.email }, `each way of reading a trace counts: ${path}`)
  }

  const plain = await testService(t, { database: service.database })
  const other = await signedIn(plain, 'other@example.com', 'viewer')
  await other.ask('GET', `p/default/traces/${id}/outline`)
  t.notOk((await views()).some(each => each.by === 'other@example.com'))
})
