/** Tests scores that people give in the dashboard, and the management of keys, members and the project. */
import t from 'tap'
import { createAccount } from '../../../lib/admin/accounts.ts'
import { addUser } from '../../../lib/admin/people.ts'
import { ingestBody, traceId } from '../../fixtures/bodies/bodies.ts'
import { asking, cookieOf, linkFor, signedIn } from '../../fixtures/service/people.ts'
import { type TestService, testService } from '../../fixtures/service/service.ts'

const P = 'p/default'
const SCORE = { name: 'helpful', dataType: 'boolean', value: true }
const forbidden = { status: 403, body: { error: { code: 'forbidden' } } }
const invalid = (message: RegExp) => ({ status: 400, body: { error: { code: 'invalid_request', message } } })
const conflict = (message: RegExp) => ({ status: 409, body: { error: { code: 'conflict', message } } })

async function recordTrace({ call }: TestService): Promise<string> {
  const body = ingestBody()
  t.equal((await call('POST', '/api/v1/traces', { body })).status, 201)
  return body.trace.id
}

const auditOf = ({ database }: TestService) =>
  database.pool.run(
    sql => sql`select action, user_id as "userId", project_id as "projectId", detail from audit order by id`
  )

t.test('members annotate traces and delete their own annotations, and owners delete any', async t => {
  const service = await testService(t)
  const owner = await signedIn(service, 'owner@example.com', 'owner')
  const member = await signedIn(service, 'member@example.com', 'member')
  const viewer = await signedIn(service, 'viewer@example.com', 'viewer')
  const id = await recordTrace(service)
  const path = `${P}/traces/${id}/scores`
  const added = await member.ask('POST', path, { body: { ...SCORE, comment: 'yes' } })
  t.match(added, { status: 201, body: { ok: true, score: { ...SCORE, source: 'annotation', comment: 'yes' } } })
  t.notOk(added.text.includes('author'), 'the API shows no author')
  t.match(await viewer.ask('POST', path, { body: SCORE }), forbidden)
  t.match(await member.ask('POST', path, { body: { ...SCORE, value: 'yes' } }), invalid(/^value: must be/))
  t.equal((await member.ask('POST', `${P}/traces/${traceId()}/scores`, { body: SCORE })).status, 404)

  const scoresFor = async ({ ask }: typeof owner) => (await ask('GET', `${P}/traces/${id}/outline`)).body.scores
  t.match(await scoresFor(member), [{ author: 'member@example.com', own: true }])
  t.match(await scoresFor(viewer), [{ author: 'member@example.com', own: false }])
  const byKey = (await service.call('POST', `/api/v1/traces/${id}/scores`, { body: SCORE })).body.score
  const byOwner = (await owner.ask('POST', path, { body: SCORE })).body.score
  for (const score of [byKey, byOwner]) t.match(await member.ask('DELETE', `${path}/${score.id}`), forbidden)
  t.match(await viewer.ask('DELETE', `${path}/${added.body.score.id}`), forbidden)
  t.match(await member.ask('DELETE', `${path}/${added.body.score.id}`), { status: 200, body: { ok: true } })
  t.equal((await member.ask('DELETE', `${path}/${added.body.score.id}`)).status, 404)
  for (const score of [byKey, byOwner]) t.equal((await owner.ask('DELETE', `${path}/${score.id}`)).status, 200)
  t.same(await scoresFor(owner), [])
  const entries = (await auditOf(service)).filter(({ action }) => action === 'score.delete')
  t.equal(entries.length, 3)
  t.match(entries[0], { projectId: 1, detail: `{"traceId":"${id}","scoreId":"${added.body.score.id}"}` })
})

t.test('the API shows an annotation like any other score, without its author', async t => {
  const service = await testService(t)
  const member = await signedIn(service, 'member@example.com', 'member')
  const id = await recordTrace(service)
  await member.ask('POST', `${P}/traces/${id}/scores`, { body: SCORE })
  const { scores } = (await service.call('GET', `/api/v1/traces/${id}`)).body
  t.match(scores, [{ source: 'annotation' }])
  t.same(
    Object.keys(scores[0]).sort(),
    Object.keys((await service.call('GET', '/api/v1/scores')).body.scores[0]).sort()
  )
})

t.test('members patch metadata, owners delete traces, and viewers do neither', async t => {
  const service = await testService(t)
  const owner = await signedIn(service, 'owner@example.com', 'owner')
  const member = await signedIn(service, 'member@example.com', 'member')
  const viewer = await signedIn(service, 'viewer@example.com', 'viewer')
  const path = `${P}/traces/${await recordTrace(service)}`
  const body = '{"metadata":{"exact":107505301260286111}}'
  t.match(await viewer.ask('PATCH', path, { body }), forbidden)
  const patched = await member.ask('PATCH', path, { body })
  t.equal(patched.status, 200)
  t.ok(patched.text.includes('"exact":107505301260286111'))
  t.match(await member.ask('PATCH', path, { body: { metadata: 1 } }), invalid(/^metadata: must be an object$/))
  for (const { ask } of [viewer, member]) t.match(await ask('DELETE', path), forbidden)
  t.equal((await owner.ask('DELETE', path)).status, 200)
  t.equal((await owner.ask('DELETE', path)).status, 404)
  t.match((await auditOf(service)).at(-1), { action: 'trace.delete', projectId: 1 })
})

t.test('owners create, rotate and revoke keys, which are shown once', async t => {
  const service = await testService(t)
  const { ask } = await signedIn(service, 'owner@example.com', 'owner')
  const asked = { label: 'ci', scopes: ['traces:read'], environment: 'Prod', expiresInDays: 30 }
  const made = await ask('POST', `${P}/keys`, { body: asked })
  t.match(made, {
    status: 201,
    body: { key: /^spoor_live_/, label: 'ci', scopes: ['traces:read'], environment: 'prod' }
  })
  const works = async (key: string) => (await service.call('GET', '/api/v1/traces', { key })).status
  t.equal(await works(made.body.key), 200)
  const rotated = await ask('POST', `${P}/keys/${made.body.keyId}/rotate`)
  t.match(rotated, { status: 201, body: { key: /^spoor_live_/, label: 'ci' } })
  while ((await works(made.body.key)) === 200) await new Promise(resolve => setTimeout(resolve, 20))
  t.equal(await works(rotated.body.key), 200)
  t.match(await ask('POST', `${P}/keys/${made.body.keyId}/rotate`), conflict(/is revoked/))
  t.match(await ask('POST', `${P}/keys/${rotated.body.keyId}/revoke`), { status: 200, body: { state: 'revoked' } })
  const list = await ask('GET', `${P}/keys`)
  t.match(list.body.keys.slice(1), [{ keyId: made.body.keyId }, { keyId: rotated.body.keyId, state: 'revoked' }])
  for (const key of [made.body.key, rotated.body.key]) t.notOk(list.text.includes(key.split('_').at(-1)))
  const wrong: [object, RegExp][] = [
    [{ scopes: [] }, /^scopes: must have at least 1 item$/],
    [{ scopes: ['all'] }, /^scopes\[0\]: must be one of traces:write/],
    [{ environment: 'all' }, /reserved/],
    [{ environment: 'a b' }, /environment "a b" must be/],
    [{ expiresInDays: 0 }, /^expiresInDays: must be at least 1/],
    [{ label: '\u0000' }, /^label: /],
    [{ label: 'a\nb' }, /label must not contain control characters/],
    ...['\u009b', '\u202e', '\u2066', '\u200f', '\u061c'].map((control): [object, RegExp] => [
      { label: `plain ${control}text` },
      /label must not contain control characters/
    ]),
    [{ secret: 1 }, /^secret: unknown field$/]
  ]
  for (const [body, message] of wrong) t.match(await ask('POST', `${P}/keys`, { body }), invalid(message))
  await service.makeProject('second')
  const other = await service.makeKey({ project: 'second' })
  for (const what of ['rotate', 'revoke']) {
    t.equal((await ask('POST', `${P}/keys/${other.keyId}/${what}`)).status, 404, 'a key of another project')
    t.equal((await ask('POST', `${P}/keys/nothing/${what}`)).status, 404)
  }
  const byPeople = (await auditOf(service)).filter(({ userId }) => userId !== null)
  const entries = byPeople.filter(({ action }) => action.startsWith('key.'))
  const { keyId: first } = made.body
  const { keyId: second } = rotated.body
  t.match(
    entries.map(({ action, projectId, detail }) => ({ action, projectId, ...JSON.parse(detail) })),
    [
      { action: 'key.create', keyId: first, label: 'ci', scopes: ['traces:read'], environment: 'prod', projectId: 1 },
      { action: 'key.rotate', keyId: first, by: second, projectId: 1 },
      { action: 'key.revoke', keyId: second, projectId: 1 }
    ],
    'after a leak, it is known who created which key'
  )
})

t.test('owners invite people with a link, assign roles and remove them', async t => {
  const service = await testService(t)
  const { ask } = await signedIn(service, 'owner@example.com', 'owner')
  const invited = await ask('POST', `${P}/members`, { body: { email: ' New@Example.com ', role: 'viewer' } })
  t.match(invited, {
    status: 201,
    body: { member: { email: 'new@example.com', role: 'viewer', seenAt: null, own: false } }
  })
  const [address, token] = invited.body.link.split('#')
  t.equal(address, `${service.url}/app/sign-in`)
  const entered = await asking(service)('POST', 'sign-in/link', { body: { token } })
  const guest = asking(service, cookieOf(entered))
  t.match((await guest('GET', 'session')).body.projects, [{ slug: 'default', role: 'viewer' }])
  t.match(await guest('GET', `${P}/members`), forbidden)

  const member = `${P}/members/${invited.body.member.id}`
  t.match(await ask('PATCH', member, { body: { role: 'member' } }), {
    status: 200,
    body: { member: { role: 'member' } }
  })
  t.equal((await guest('GET', 'sessions')).status, 401, 'a different role ends the sessions')
  const link = await ask('POST', `${member}/link`)
  t.match(link, { status: 201, body: { link: /\/app\/sign-in#[\w-]{43}$/ } })
  t.equal(
    (await asking(service)('POST', 'sign-in/link', { body: { token: link.body.link.split('#')[1] } })).status,
    204
  )
  t.match((await ask('GET', `${P}/members`)).body.members, [
    { email: 'owner@example.com', role: 'owner', own: true },
    { email: 'new@example.com', role: 'member', own: false, seenAt: String }
  ])
  t.match(await ask('POST', `${P}/members`, { body: { email: 'new@example.com', role: 'owner' } }), conflict(/already/))
  const refused: [object, RegExp][] = [
    [{ email: 'nobody', role: 'viewer' }, /^email: must be an e-mail address/],
    ...['\u001b[31m', '\u009b', '\u202e', '\u2066', '\u200f', '\u061c'].map((control): [object, RegExp] => [
      { email: `a${control}b@example.com`, role: 'viewer' },
      /^email: must be an e-mail address/
    ]),
    [{ email: 'a@b\u0000', role: 'viewer' }, /^email: /],
    [{ email: 'a@b', role: 'king' }, /^role: must be one of viewer, member, owner$/],
    [{ email: 'a@b' }, /^role: is required$/]
  ]
  for (const [body, message] of refused) t.match(await ask('POST', `${P}/members`, { body }), invalid(message))
  t.equal((await ask('DELETE', member)).status, 200)
  const entries = (await auditOf(service)).filter(({ action }) =>
    /^(?:member\.(?:role|remove)|link\.make)$/.test(action)
  )
  t.match(
    entries.slice(-3).map(({ action, detail }) => ({ action, ...JSON.parse(detail) })),
    [
      { action: 'member.role', role: 'member', email: 'new@example.com', user: invited.body.member.id },
      { action: 'link.make', email: 'new@example.com' },
      { action: 'member.remove', email: 'new@example.com' }
    ],
    'the audit entry names the address'
  )
  for (const id of [invited.body.member.id, 'x', '0', '99999999999', '-1']) {
    t.equal((await ask('DELETE', `${P}/members/${id}`)).status, 404)
  }
  const again = await ask('POST', `${P}/members`, { body: { email: 'new@example.com', role: 'viewer' } })
  t.equal(again.status, 201, 'a removed member can be invited again')
  t.equal(again.body.member.id, invited.body.member.id)
})

t.test('an account always has an owner', async t => {
  const service = await testService(t)
  const ada = await signedIn(service, 'ada@example.com', 'owner')
  const bob = await signedIn(service, 'bob@example.com', 'owner')
  const [own, other] = (await ada.ask('GET', `${P}/members`)).body.members
  const path = (id: number) => `${P}/members/${id}`
  const both = await Promise.all([
    ada.ask('PATCH', path(other.id), { body: { role: 'viewer' } }),
    bob.ask('PATCH', path(own.id), { body: { role: 'viewer' } })
  ])
  t.same(both.map(({ status }) => status === 200).sort(), [false, true], 'of two concurrent requests, one succeeds')
  const [owner, ownId] = both[0]!.status === 200 ? [ada, own.id] : [bob, other.id]
  t.match(await owner.ask('PATCH', path(ownId), { body: { role: 'member' } }), conflict(/without an owner/))
  t.match(await owner.ask('DELETE', path(ownId)), conflict(/without an owner/))
  t.equal((await owner.ask('PATCH', path(ownId), { body: { role: 'owner' } })).status, 200, 'nothing is changed')
})

t.test('owners gain no access to other accounts', async t => {
  const service = await testService(t)
  const { database } = service
  const { id: account } = await database.pool.run(sql => createAccount(sql, 'others', 'owner'))
  const owner = await signedIn(service, 'owner@example.com', 'owner')
  await signedIn(service, 'theirs@example.com', 'member', account)
  const invite = (email: string) => owner.ask('POST', `${P}/members`, { body: { email, role: 'viewer' } })
  t.match(await invite('theirs@example.com'), conflict(/member of another account/))

  const shared = await signedIn(service, 'shared@example.com', 'member')
  await shared.ask('POST', 'password', { body: { password: 'correct horse battery' } })
  const before = await linkFor(service, 'shared@example.com')
  await database.pool.run(sql => addUser(sql, { email: 'shared@example.com', accountId: account }))
  t.equal((await shared.ask('GET', 'sessions')).status, 401, 'sessions of that user have ended')
  t.equal((await asking(service)('POST', 'sign-in/link', { body: { token: before } })).status, 401)
  const body = { email: 'shared@example.com', password: 'correct horse battery' }
  t.equal((await asking(service)('POST', 'sign-in/password', { body })).status, 401)
  const { id } = (await owner.ask('GET', `${P}/members`)).body.members.find(
    ({ email }: { email: string }) => email === 'shared@example.com'
  )
  t.match(await owner.ask('POST', `${P}/members/${id}/link`), conflict(/other accounts/))
  t.equal((await owner.ask('DELETE', `${P}/members/${id}`)).status, 200, "from the owner's account")
  const users = await database.pool.run(sql => sql`select count(*)::int as n from memberships where user_id = ${id}`)
  t.equal(users[0]?.n, 1, 'and from no other')
})

t.test('everyone can read the project, and owners can rename it', async t => {
  const service = await testService(t)
  const owner = await signedIn(service, 'owner@example.com', 'owner')
  const viewer = await signedIn(service, 'viewer@example.com', 'viewer')
  await recordTrace(service)
  const { body } = await viewer.ask('GET', P)
  t.match(body, {
    slug: 'default',
    name: 'default',
    role: 'viewer',
    traceCount: 1,
    storage: { level: 'ok', limitBytes: Number }
  })
  t.match(await viewer.ask('PATCH', P, { body: { name: 'New' } }), forbidden)
  t.match(await owner.ask('PATCH', P, { body: { name: ' Köln ' } }), {
    status: 200,
    body: { name: 'Köln', slug: 'default' }
  })
  t.match((await viewer.ask('GET', 'session')).body.projects, [{ name: 'Köln' }])
  for (const name of ['', ' ', 'a\nb', '\u0000', 'x'.repeat(201), 1]) {
    t.match(await owner.ask('PATCH', P, { body: { name } }), invalid(/^name: /), JSON.stringify(name))
  }
  for (const [body, code] of [
    ['{', 'invalid_json'],
    ['[]', 'invalid_request'],
    ['', 'invalid_json']
  ] as const) {
    t.match(await owner.ask('PATCH', P, { body }), { status: 400, body: { error: { code } } })
  }
  t.equal((await owner.ask('PATCH', P, { body: { name: 'x'.repeat(20_000) } })).status, 413)
})
