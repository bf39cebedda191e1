/** Tests the ways to sign in to the dashboard, and to sign out. */
import t from 'tap'
import { addPerson, asking, cookieOf, givePassword, linkFor, signedIn } from '../../fixtures/service/people.ts'
import { type TestService, testService } from '../../fixtures/service/service.ts'
import { until } from '../../fixtures/until.ts'

const PASSWORD = 'correct horse battery'

t.test('a link signs in, once', async t => {
  const service = await testService(t)
  await addPerson(service, 'ada@example.com', 'owner')
  const token = await linkFor(service, 'Ada@Example.com')
  const stranger = asking(service)
  const answer = await stranger('POST', 'sign-in/link', { body: { token }, headers: { 'user-agent': 'a browser' } })
  t.match(answer, { status: 204, text: '' })
  t.match(
    answer.headers['set-cookie'],
    /^spoor_session_[0-9a-f]{8}=[\w-]{43}; Max-Age=2592000; Path=\/app; HttpOnly; SameSite=Lax$/
  )
  const cookie = cookieOf(answer)
  const ask = asking(service, cookie)
  t.match((await ask('GET', 'session')).body, {
    user: { email: 'ada@example.com', hasPassword: false },
    projects: [{ slug: 'default', role: 'owner' }],
    signIn: { password: false, proxy: false }
  })
  t.match((await ask('GET', 'sessions')).body, { sessions: [{ agent: 'a browser', means: 'link', current: true }] })
  for (const wrong of [token, 'x'.repeat(43), 'short', '']) {
    const refused = await stranger('POST', 'sign-in/link', { body: { token: wrong } })
    t.match(refused, { status: 401, body: { error: { code: 'sign_in_required' } } }, 'used, unknown, none')
    t.equal(refused.headers['set-cookie'], undefined)
  }
  t.match((await stranger('GET', 'session')).body, { user: null, projects: [] })
})

t.test('of several people who open a link concurrently, one is signed in', async t => {
  const service = await testService(t)
  await addPerson(service, 'ada@example.com', 'owner')
  const token = await linkFor(service, 'ada@example.com')
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => asking(service)('POST', 'sign-in/link', { body: { token } }))
  )
  t.same(answers.map(({ status }) => status).sort(), [204, ...Array(7).fill(401)])
})

t.test('an expired link does not sign in, and checking it does not use it up', async t => {
  const service = await testService(t)
  await addPerson(service, 'ada@example.com', 'owner')
  const token = await linkFor(service, 'ada@example.com')
  t.equal((await asking(service)('GET', `/app/sign-in?token=${token}`)).status, 200)
  await service.database.pool.run(sql => sql`update sign_in_links set expires_at = now()`)
  t.equal((await asking(service)('POST', 'sign-in/link', { body: { token } })).status, 401)
})

t.test('if a particular person must sign in, nobody else can, and nothing is used up or revealed', async t => {
  const service = await testService(t)
  const ada = await signedIn(service, 'ada@example.com', 'owner')
  await addPerson(service, 'eve@example.com', 'owner')
  for (const email of ['ada@example.com', 'eve@example.com']) await givePassword(service, email, PASSWORD)
  const userId: number = (await ada.ask('GET', 'session')).body.user.id
  const byPassword = (email: string, password = PASSWORD) =>
    ada.ask('POST', 'sign-in/password', { body: { email, password, userId } })
  const byLink = (token: string, of?: number) =>
    ada.ask('POST', 'sign-in/link', { body: { token, ...(of !== undefined && { userId: of }) } })

  const link = await linkFor(service, 'eve@example.com')
  const refusals = [await byLink(link, userId), await byPassword('eve@example.com')]
  t.match(refusals[0], { status: 401, body: { error: { message: /is for somebody else/ } } })
  t.match(refusals[1], { status: 403, body: { error: { message: /^Sign in as the same person/ } } })
  for (const { headers } of refusals) t.equal(headers['set-cookie'], undefined)
  t.match(
    await byPassword('eve@example.com', 'not the password'),
    { status: 401 },
    "without the password, the link's address is not revealed"
  )
  t.equal((await ada.ask('GET', 'session')).body.user.email, 'ada@example.com', 'the session continues')
  t.equal((await byLink(link)).status, 204, 'the link is not used up')
  for (const wrong of [0, -1, 1.5, 2 ** 31, 'x']) {
    const answer = await ada.ask('POST', 'sign-in/link', { body: { token: link, userId: wrong } })
    t.match(answer, { status: 400, body: { error: { message: /^userId/ } } }, String(wrong))
  }
  t.equal((await byLink(await linkFor(service, 'ada@example.com'), userId)).status, 204)
  t.equal((await byPassword('ada@example.com')).status, 204)
})

t.test(
  "signing in again ends the browser's earlier session, and signing out ends it and deletes the cookie",
  async t => {
    const service = await testService(t)
    const first = await signedIn(service, 'ada@example.com', 'owner')
    const token = await linkFor(service, 'ada@example.com')
    const again = await first.ask('POST', 'sign-in/link', { body: { token } })
    const ask = asking(service, cookieOf(again))
    t.equal((await ask('GET', 'sessions')).body.sessions.length, 1)
    const out = await ask('DELETE', 'session')
    t.match(out, { status: 204 })
    t.match(out.headers['set-cookie'], /^spoor_session_[0-9a-f]{8}=; Max-Age=0; Path=\/app/)
    t.match(await ask('GET', 'sessions'), { status: 401, body: { error: { code: 'sign_in_required' } } })
    t.equal((await first.ask('GET', 'sessions')).status, 401)
    t.equal((await ask('DELETE', 'session')).status, 204, 'a signed-out visitor can sign out')
  }
)

t.test("people see their sessions, and can end their own but nobody else's", async t => {
  const service = await testService(t)
  const ada = await signedIn(service, 'ada@example.com', 'viewer')
  const bob = await signedIn(service, 'bob@example.com', 'owner')
  const [own] = (await ada.ask('GET', 'sessions')).body.sessions
  t.equal((await bob.ask('DELETE', `sessions/${own.id}`)).status, 404)
  t.equal((await ada.ask('GET', 'sessions')).status, 200)
  for (const wrong of ['x', '0'.repeat(64), '%00']) t.equal((await ada.ask('DELETE', `sessions/${wrong}`)).status, 404)
  t.match(await ada.ask('DELETE', `sessions/${own.id}`), { status: 200, body: { ok: true } })
  t.equal((await ada.ask('GET', 'sessions')).status, 401)
})

t.test('a session expires, and is extended while it is used, up to 90 days', async t => {
  const service = await testService(t)
  const { sqlAccess, pool } = service.database
  const { ask } = await signedIn(service, 'ada@example.com', 'viewer')
  const days = async () => {
    const [row] = await pool.run(
      sql => sql`
      select round(extract(epoch from expires_at - now()) / 86400)::int as left, seen_at > now() - interval '1 minute' as seen
      from web_sessions`
    )
    return row
  }
  const age = async (seen: string, made: string) => {
    await sqlAccess.write(
      sql => sql`update web_sessions set seen_at = now() - ${seen}::interval, created_at = now() - ${made}::interval,
        expires_at = now() + interval '1 day'`
    )
    await pool.run(sql => sql`select pg_notify('spoor_keys', 'a test')`)
    while ((await days())!.seen !== true) {
      t.equal((await ask('GET', 'session')).status, 200)
      await new Promise(resolve => setTimeout(resolve, 20))
    }
  }
  await age('6 minutes', '1 day')
  t.equal((await days())!.left, 30)
  await age('6 minutes', '80 days')
  t.equal((await days())!.left, 10)
  await pool.run(sql => sql`update web_sessions set expires_at = now()`)
  await pool.run(sql => sql`select pg_notify('spoor_keys', 'a test')`)
  while ((await ask('GET', 'session')).body.user !== null) await new Promise(resolve => setTimeout(resolve, 20))
})

t.test('a password signs in; all wrong passwords get the same response, and after five none is checked', async t => {
  const service = await testService(t)
  await addPerson(service, 'ada@example.com', 'member')
  await addPerson(service, 'bob@example.com', 'member')
  await givePassword(service, 'ada@example.com', PASSWORD)
  const stranger = asking(service)
  const attempt = (email: string, password: string) =>
    stranger('POST', 'sign-in/password', { body: { email, password } })
  const right = await attempt(' ADA@example.com', PASSWORD)
  t.match(right, { status: 204, headers: { 'set-cookie': /^spoor_session_/ } })
  const me = (await asking(service, cookieOf(right))('GET', 'session')).body
  t.match(me, { user: { email: 'ada@example.com', hasPassword: true }, signIn: { password: true } })

  const wrong = [
    await attempt('ada@example.com', `${PASSWORD}.`),
    await attempt('bob@example.com', PASSWORD),
    await attempt('nobody@example.com', PASSWORD),
    await attempt('\u0000', '\u0000')
  ]
  const messages = new Set(wrong.map(({ status, body }) => `${status} ${body.error.code} ${body.error.message}`))
  t.same([...messages], ['401 sign_in_required The address or password is incorrect.'])

  for (let i = 0; i < 4; i++) t.equal((await attempt('ada@example.com', 'not the password')).status, 401)
  const refused = await attempt('ada@example.com', PASSWORD)
  t.match(refused, { status: 429, body: { error: { code: 'too_many_attempts' } } }, 'not even the correct one')
  t.ok(Number(refused.headers['retry-after']) > 800)
  await service.database.pool.run(sql => sql`update sign_in_attempts set until = now()`)
  t.equal((await attempt('ada@example.com', PASSWORD)).status, 204, 'a quarter of an hour later')
  t.equal((await attempt('ada@example.com', 'not the password')).status, 401)
})

t.test('50 passwords can be tried from one network, for any number of addresses', async t => {
  const service = await testService(t)
  await service.database.pool.run(
    sql => sql`
    insert into sign_in_attempts select encode(sha256('network 127.0.0'), 'hex'), 49, now() + interval '1 minute'`
  )
  const attempt = (email: string) =>
    asking(service)('POST', 'sign-in/password', { body: { email, password: 'whatever it may be' } })
  await addPerson(service, 'ada@example.com', 'member')
  await givePassword(service, 'ada@example.com', PASSWORD)
  const right = { body: { email: 'ada@example.com', password: PASSWORD } }
  for (let i = 0; i < 2; i++) {
    t.equal((await asking(service)('POST', 'sign-in/password', right)).status, 204, 'correct ones do not count')
  }
  t.equal((await attempt('a@example.com')).status, 401)
  t.equal((await attempt('b@example.com')).status, 429)
})

t.test('rejected attempts write nothing, and queued attempts are not counted', async t => {
  const service = await testService(t)
  const { pool } = service.database
  const rows = async () => {
    const [row] = await pool.run(
      sql => sql`select count(*)::int as n, coalesce(sum(attempts), 0)::int as sum from sign_in_attempts`
    )
    return row
  }
  const attempt = (email: string) =>
    asking(service)('POST', 'sign-in/password', { body: { email, password: 'whatever it may be' } })
  await pool.run(
    sql => sql`
      insert into sign_in_attempts
      select encode(sha256('network 127.0.0'), 'hex'), 50, now() + interval '1 minute'
      union all select encode(sha256('person ada@example.com'), 'hex'), 5, now() + interval '1 minute'`
  )
  for (let i = 0; i < 20; i++) t.equal((await attempt(`${i}@example.com`)).status, 429)
  t.same(await rows(), { n: 2, sum: 55 }, "beyond the network's limit")
  await pool.run(sql => sql`update sign_in_attempts set attempts = 0 where attempts = 50`)
  for (let i = 0; i < 3; i++) t.equal((await attempt('ada@example.com')).status, 429)
  t.same(await rows(), { n: 2, sum: 5 }, "beyond the address's limit")
  await pool.run(sql => sql`delete from sign_in_attempts`)
  const answers = await Promise.all(Array.from({ length: 45 }, (_, i) => attempt(`${i}@example.com`)))
  const looked = answers.filter(({ status }) => status === 401).length
  t.ok(looked < 45, `the queue rejects ${45 - looked} of 45 concurrent attempts`)
  t.same(await rows(), { n: looked + 1, sum: 2 * looked }, 'and not counted')
})

t.test(
  'guesses by strangers lock out nobody who has signed in before, and guesses from a known browser count too',
  async t => {
    const service = await testService(t)
    const { pool } = service.database
    for (const email of ['ada@example.com', 'eve@example.com']) {
      await addPerson(service, email, 'member')
      await givePassword(service, email, PASSWORD)
    }
    const attempt = (cookie: string | undefined, password: string, email = 'ada@example.com') =>
      asking(service, cookie)('POST', 'sign-in/password', { body: { email, password } })
    const signIn = async (email: string) => {
      const answer = await attempt(undefined, PASSWORD, email)
      const [session, device] = [answer.headers['set-cookie']].flat().map(each => String(each).split(';')[0])
      return { session: session!, device: device!, all: String(answer.headers['set-cookie']) }
    }
    const [ada, eve] = [await signIn('ada@example.com'), await signIn('eve@example.com')]
    t.match(
      ada.all,
      /spoor_device_[0-9a-f]{8}=[\w-]{22}\.[\w-]{43}; Max-Age=31536000; Path=\/app\/api; HttpOnly; SameSite=Lax/
    )
    await pool.run(
      sql => sql`
      insert into sign_in_attempts
      select encode(sha256('network 127.0.0'), 'hex'), 50, now() + interval '1 minute'
      union all select encode(sha256('person ada@example.com'), 'hex'), 5, now() + interval '1 minute'
      on conflict (subject) do update set attempts = excluded.attempts`
    )
    t.equal((await attempt(undefined, PASSWORD)).status, 429, 'strangers have guessed')
    for (const foreign of [eve.device, eve.session, ada.device.slice(0, -1), `${ada.device.split('=')[0]}=x.y`]) {
      t.equal((await attempt(foreign, PASSWORD)).status, 429, 'another user’s cookie does not help')
    }
    for (const [name, cookie] of Object.entries({ device: ada.device, session: ada.session })) {
      for (let i = 0; i < 4; i++) t.equal((await attempt(cookie, 'not the password')).status, 401, name)
      t.equal((await attempt(cookie, PASSWORD)).status, 204, `${name}: despite the strangers`)
    }
    for (let i = 0; i < 5; i++) t.equal((await attempt(ada.device, 'not the password')).status, 401)
    t.equal((await attempt(ada.device, PASSWORD)).status, 429, 'five of its own')
    t.equal((await attempt(undefined, PASSWORD)).status, 429, 'which unlocks nobody else')
  }
)

t.test("behind a trusted proxy, the client's network counts, and otherwise the network of the connection", async t => {
  const trusting = await testService(t, { config: { trustProxy: ['127.0.0.1/32'] } })
  const { database } = trusting
  const full = (network: string) =>
    database.pool.run(
      sql => sql`
      insert into sign_in_attempts
      values (encode(sha256(convert_to(${`network ${network}`}, 'UTF8')), 'hex'), 50, now() + interval '1 minute')`
    )
  const attempt = async (service: TestService, forwarded: string) => {
    const body = { email: `${Math.random()}@example.com`, password: 'whatever it may be' }
    return (await asking(service)('POST', 'sign-in/password', { body, headers: { 'x-forwarded-for': forwarded } }))
      .status
  }
  await full('192.0.2')
  t.equal(await attempt(trusting, '192.0.2.9'), 429)
  t.equal(await attempt(trusting, '192.0.2.9, 198.51.100.7'), 401, 'a header sent by the client itself is ignored')
  const plain = await testService(t, { database })
  t.equal(await attempt(plain, '192.0.2.9'), 401, 'no proxy is trusted here')
})

t.test('actions that could make a stolen session permanent require a fresh sign-in', async t => {
  const service = await testService(t)
  const owner = await signedIn(service, 'owner@example.com', 'owner')
  const { keyId } = await service.makeKey()
  const [member] = (await owner.ask('GET', 'p/default/members')).body.members
  const asked: [method: string, path: string, body?: object][] = [
    ['POST', 'password', { password: PASSWORD }],
    ['POST', 'p/default/keys', { label: 'x' }],
    ['POST', `p/default/keys/${keyId}/rotate`],
    ['POST', `p/default/keys/${keyId}/revoke`],
    ['POST', 'p/default/members', { email: 'new@example.com', role: 'owner' }],
    ['POST', `p/default/members/${member.id}/link`],
    ['PATCH', `p/default/members/${member.id}`, { role: 'viewer' }],
    ['DELETE', `p/default/members/${member.id}`]
  ]
  const { pool } = service.database
  const state = () =>
    pool.run(
      sql => sql`
        select (select json_agg(u order by u.id) from users u) as users, (select json_agg(m) from memberships m) as members,
          (select json_agg(k order by k.id) from (select id, revoked_at from api_keys) k) as keys,
          (select count(*)::int from sign_in_links) as links`
    )
  for (const provenAt of ["now() - interval '15 minutes'", 'null']) {
    await pool.run(sql => sql.unsafe(`update web_sessions set proven_at = ${provenAt}`))
    await pool.run(sql => sql`select pg_notify('spoor_keys', 'a test')`)
    await until(async () => (await owner.ask('POST', 'p/default/keys', { body: { label: '' } })).status === 403)
    const before = await state()
    for (const [method, path, body] of asked) {
      const refused = { code: 'fresh_sign_in_required', message: /^Sign in again to continue/ }
      t.match(
        await owner.ask(method, path, body && { body }),
        { status: 403, body: { error: refused } },
        `${method} ${path}`
      )
    }
    t.same(await state(), before, 'nothing is changed')
  }
  t.equal((await owner.ask('PATCH', 'p/default', { body: { name: 'other' } })).status, 200, 'everything else continues')

  const proxied = await testService(t, {
    database: service.database,
    config: { authProxy: { header: 'x-email', from: ['127.0.0.1'], role: undefined, signOutUrl: undefined } }
  })
  const headers = { 'x-email': 'owner@example.com' }
  const made = await asking(proxied)('POST', 'p/default/keys', { body: { label: 'x' }, headers })
  t.equal(made.status, 201, 'a trusted proxy vouches for the people it admits')

  const token = await linkFor(service, 'owner@example.com')
  const again = asking(service, cookieOf(await owner.ask('POST', 'sign-in/link', { body: { token } })))
  t.equal((await again('POST', 'p/default/keys', { body: { label: 'x' } })).status, 201)
  t.equal((await again('POST', 'password', { body: { password: PASSWORD } })).status, 200)
  await pool.run(sql => sql`update web_sessions set proven_at = null`)
  await pool.run(sql => sql`select pg_notify('spoor_keys', 'a test')`)
  await until(async () => (await again('POST', 'p/default/keys', { body: { label: '' } })).status === 403)
  const changed = await again('POST', 'password', { body: { current: PASSWORD, password: `${PASSWORD}!` } })
  t.equal(changed.status, 200, 'the current password is sufficient proof to change it')
})

t.test('people set, change and remove their password, which ends their other sessions', async t => {
  const service = await testService(t)
  const here = await signedIn(service, 'ada@example.com', 'viewer')
  const token = await linkFor(service, 'ada@example.com')
  const there = asking(service, cookieOf(await asking(service)('POST', 'sign-in/link', { body: { token } })))
  const change = (body: object) => here.ask('POST', 'password', { body })
  t.match(await change({ password: 'too short' }), {
    status: 400,
    body: { error: { message: 'password: must have at least 12 characters' } }
  })
  t.equal((await there('GET', 'sessions')).status, 200)
  t.match(await change({ password: PASSWORD }), { status: 200, body: { ok: true } })
  t.equal((await there('GET', 'sessions')).status, 401)
  t.match(await change({ password: 'another password' }), { status: 400, body: { error: { message: /^current: is/ } } })
  t.match(await change({ current: 'wrong', password: 'another password' }), {
    status: 400,
    body: { error: { message: 'current: is incorrect' } }
  })
  t.equal((await change({ current: PASSWORD, password: 'another password' })).status, 200)
  t.equal((await change({ current: 'another password', password: null })).status, 200)
  t.equal((await here.ask('GET', 'session')).body.user.hasPassword, false)
})

t.test('stored sign-in data contains neither tokens nor passwords, and shows who signed in and how', async t => {
  const service = await testService(t)
  const { ask, cookie } = await signedIn(service, 'ada@example.com', 'owner')
  await ask('POST', 'password', { body: { password: PASSWORD } })
  await ask('POST', 'password', { body: { current: PASSWORD, password: null } })
  const unused = await linkFor(service, 'ada@example.com')
  const rows = await service.database.pool.run(async sql => {
    const [row] = await sql`
      select json_build_array((select json_agg(u) from users u), (select json_agg(s) from web_sessions s),
        (select json_agg(l) from sign_in_links l), (select json_agg(a) from audit a)) as all`
    return row?.all as string
  })
  for (const secret of [cookie.split('=')[1]!, unused, PASSWORD]) t.notOk(rows.includes(secret))
  const entries = await service.database.pool.run(
    sql =>
      sql`select action, user_id as "userId", detail from audit where action not in ('link.make', 'account.create', 'project.create', 'key.create') order by id`
  )
  t.match(
    entries.map(({ action }) => action),
    ['user.add', 'sign-in', 'password.set', 'password.remove']
  )
  t.match(entries[1], { userId: 1, detail: '{"means":"link"}' })
})
