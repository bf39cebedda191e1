/** Tests signing in through a real OpenID Connect provider. */
import t from 'tap'
import { removeUser, unlinkUser } from '../../../../lib/admin/people.ts'
import { type Config, type OidcConfig, readConfig } from '../../../../lib/config.ts'
import { createLog } from '../../../../lib/log.ts'
import { ownPage } from '../../../../lib/people/pages.ts'
import { type Browser, type Forging, TOKEN_S, testBrowser, testProvider } from '../../../fixtures/oidc/provider.ts'
import { addPerson, asking, givePassword, linkFor, signedIn } from '../../../fixtures/service/people.ts'
import { type TestService, testService } from '../../../fixtures/service/service.ts'
import { until } from '../../../fixtures/until.ts'

const BASE = 'https://spoor.example/tools'
const START = '/app/api/sign-in/oidc'
const provider = await testProvider(t, `${BASE}${START}/callback`)

/** Lines of the log. None of them may reveal who signs in. */
const logged: string[] = []
const log = createLog('info', { write: line => void logged.push(line) })

function configOf(settings: Partial<OidcConfig> = {}): Partial<Config> {
  const { issuer, clientId, clientSecret } = provider
  const env = {
    BASE_URL: BASE,
    OIDC_ISSUER: issuer.href,
    OIDC_CLIENT_ID: clientId,
    OIDC_CLIENT_SECRET: clientSecret,
    OIDC_SCOPES: 'openid email profile groups',
    OIDC_ROLES: 'groups=admins:owner, groups=staff:member, realm.access=guest:viewer'
  }
  const { baseUrl, oidc } = readConfig(env)
  return { baseUrl, oidc: { ...(oidc as OidcConfig), ...settings } }
}

/** Removes the base path from requests, as the reverse proxy would. */
const behind = (service: TestService): TestService => ({
  ...service,
  call: (method, path, options) => service.call(method, path.replace(/^\/tools/, ''), options)
})
const serve = async (settings: Partial<OidcConfig> = {}, database?: TestService['database']) =>
  behind(await testService(t, { config: configOf(settings), log, ...(database && { database }) }))

const service = await serve()
const { database } = service
const person = (name: string, more: object = {}) => ({
  sub: name,
  email: `${name}@example.com`,
  email_verified: true,
  name: `The ${name}`,
  ...more
})

/** Signs in the person whom the provider names. Returns the address of the final page, relative to `/app/`. */
async function signIn(who: typeof provider.person, browser: Browser, to = ''): Promise<string> {
  provider.person = who
  return (await browser.go(`${BASE}${START}${to}`)).replace(`${BASE}/app/`, '')
}
const newBrowser = (at: TestService = service) => testBrowser(at, BASE)
const sessionOf = async (browser: Browser) => (await browser.ask('/app/api/session')).body
const entries = async () =>
  (
    await database.pool.run(
      sql => sql<{ action: string; detail: string }[]>`select action, detail from audit order by id`
    )
  ).map(({ action, detail }) => `${action} ${detail ?? ''}`)

t.test('a person with a role is admitted, to the requested page', async t => {
  const browser = newBrowser()
  const page = await signIn(
    person('ada', { groups: ['staff', 'others'] }),
    browser,
    '?to=p%2Fdefault%2Ftraces%3Fstatus%3Derror'
  )
  t.equal(page, 'p/default/traces?status=error')
  t.match(await sessionOf(browser), {
    user: { email: 'ada@example.com', name: 'The ada', hasPassword: false },
    projects: [{ slug: 'default', role: 'member' }],
    signIn: { oidc: true, onlyOidc: false }
  })
  const asked = new URL(browser.passed.find(each => each.includes('/auth?'))!).searchParams
  t.equal(asked.get('code_challenge_method'), 'S256')
  for (const name of ['state', 'nonce', 'code_challenge']) t.match(asked.get(name), /^[\w-]{43}$/, name)
  t.match((await browser.ask('/app/api/sessions')).body, { sessions: [{ means: 'oidc', current: true }] })
  t.match(
    browser.cookie(),
    /^__Secure-spoor_session_[0-9a-f]{8}=[\w-]{43}$/,
    'the state that was carried there and back is deleted'
  )
  const done = (await entries()).slice(-3)
  t.ok(
    done.some(audit => /^user\.add .*"role": ?"member".*"means": ?"oidc"/.test(audit)),
    String(done)
  )
  t.ok(
    done.some(audit => /^sign-in .*"oidc"/.test(audit)),
    String(done)
  )
})

t.test('the state that is carried there and back is valid only for that attempt, for ten minutes', async t => {
  const answer = await service.call('GET', START, { key: null, headers: { host: 'spoor.example' } })
  t.equal(answer.status, 302)
  t.match(
    String(answer.headers['set-cookie']),
    /^__Secure-spoor_oidc_[0-9a-f]{8}=[\w.-]+; Max-Age=600; Path=\/tools\/app\/api\/sign-in\/oidc; HttpOnly; SameSite=Lax; Secure$/
  )
  const fromElsewhere = { host: 'spoor.example', 'sec-fetch-site': 'cross-site' }
  t.equal(
    (await service.call('GET', START, { key: null, headers: fromElsewhere })).status,
    403,
    'no other page can start it'
  )
  t.equal(
    (await service.call('GET', `${START}?to=p/x&more=1`, { key: null, headers: { host: 'spoor.example' } })).status,
    400
  )
})

t.test('a role follows the claims, and a manually assigned one stays', async t => {
  const roleOf = async (groups: unknown, more: object = {}) => {
    const browser = newBrowser()
    const page = await signIn(person('bob', { groups, ...more }), browser)
    return page.startsWith('sign-in') ? page : (await sessionOf(browser)).projects[0].role
  }
  t.equal(await roleOf('admins'), 'owner', 'a claim can be a single string')
  const owner = newBrowser()
  await signIn(person('bob', { groups: ['admins'] }), owner)
  t.equal(await roleOf(['staff', 'admins']), 'owner', 'the highest counts')
  t.equal(
    (await sessionOf(owner)).user.email,
    'bob@example.com',
    'a person whose role is unchanged stays signed in elsewhere'
  )
  t.equal(await roleOf(['staff']), 'member')
  const { ask } = await signedIn({ ...service, call: withHost }, 'first@example.com', 'owner')
  const members = async () => (await ask('GET', 'p/default/members')).body.members
  const isBob = ({ email }: { email: string }) => email === 'bob@example.com'
  t.match((await members()).find(isBob), { role: 'member', byClaim: true }, 'owners see where the role comes from')
  t.equal((await sessionOf(owner)).user, null, 'a changed role ends the sessions elsewhere')
  t.equal(await roleOf([], { realm: { access: ['guest'] } }), 'viewer', 'a nested claim')
  t.equal(await roleOf(['none']), 'sign-in?oidc=unknown')
  t.equal(await roleOf({ admins: true }), 'sign-in?oidc=unknown')
  t.match((await entries()).slice(-2), [/^member\.remove .*bob/, /^sign-in\.fail .*"reason":"unknown"/])
  await addPerson(service, 'bob@example.com', 'viewer')
  t.equal(await roleOf(['admins']), 'viewer', 'assigned manually')
  t.match((await members()).find(isBob), { role: 'viewer', byClaim: false })
  t.equal(await roleOf([]), 'viewer')
})

t.test('nobody is admitted by a session, link or password that another account’s owner may have created', async t => {
  const others = (
    await database.pool.run(sql => sql`insert into accounts (name, type) values ('others', 'owner') returning id`)
  )[0]
  const known = await signedIn({ ...service, call: withHost }, 'eve@example.com', 'viewer', String(others?.id))
  await givePassword(service, 'eve@example.com', 'correct horse battery')
  const link = await linkFor(service, 'eve@example.com')
  const browser = newBrowser()
  t.equal(await signIn(person('eve', { groups: 'staff' }), browser), '')
  t.match(await sessionOf(browser), { user: { hasPassword: false }, projects: [{ slug: 'default', role: 'member' }] })
  t.equal((await known.ask('GET', 'sessions')).status, 401)
  const stranger = asking({ ...service, call: withHost })
  t.equal((await stranger('POST', 'sign-in/link', { body: { token: link } })).status, 401)
  // Without a role from the provider, people keep their role.
  const later = newBrowser()
  t.equal(await signIn(person('eve'), later), '')
  t.same((await sessionOf(later)).projects, [])
  t.equal((await sessionOf(browser)).user, null)
})

/** Sends a request with the Host header that the reverse proxy would send. */
const withHost: TestService['call'] = (method, path, options = {}) =>
  service.call(method, path, { ...options, headers: { host: 'spoor.example', ...options.headers } })

t.test('an unknown person, or one with a foreign or unverified address, is told so', async t => {
  const small = await serve({ domains: ['example.com'] }, database)
  const ends = async (who: typeof provider.person) => signIn(who, newBrowser(small))
  t.equal(await ends(person('carl')), 'sign-in?oidc=unknown')
  t.equal(
    await ends(person('carl', { groups: 'staff', email: 'carl@example.com.evil.example' })),
    'sign-in?oidc=domain'
  )
  t.equal(
    await ends(person('carl', { groups: 'staff', email: 'carl@evil.example@example.com' })),
    'sign-in?oidc=no-email'
  )
  t.equal(await ends(person('carl', { groups: 'staff', email_verified: false })), 'sign-in?oidc=unverified')
  t.equal(await ends(person('carl', { groups: 'staff', email: undefined })), 'sign-in?oidc=no-email')
  t.equal(await ends(undefined), 'sign-in?oidc=denied')
  t.equal(await ends(person('carl', { groups: 'staff', email_verified: undefined })), 'sign-in?oidc=unproven')
  t.equal(await ends(person('dora', { groups: 'staff', email: 'Dora@Example.COM' })), '')
  const users = await database.pool.run(sql => sql`select email from users where email like 'carl%'`)
  t.same(users, [], 'nothing is stored about rejected people')
})

const said = (sub: string, email: string, more: object = {}) => person(sub, { email: `${email}@example.com`, ...more })
const emailOf = async (browser: Browser) => (await sessionOf(browser)).user?.email
/** Returns the detail of the most recent audited action of the given kind. */
const auditOf = async (action: string) => {
  const audit = (await entries()).findLast(each => each.startsWith(`${action} `))
  return JSON.parse(audit?.slice(action.length + 1) ?? 'null')
}

t.test('a person is identified by the provider’s subject, not by an address', async t => {
  await addPerson(service, 'boss@example.com', 'owner')
  const unflagged = { email_verified: undefined }
  t.equal(await signIn(said('attacker', 'boss', unflagged), newBrowser()), 'sign-in?oidc=unproven')
  t.match(await auditOf('oidc.refuse'), { subject: 'attacker', reason: 'unproven' })
  const first = newBrowser()
  t.equal(await signIn(said('boss-1', 'boss'), first), '', 'a verified address links, once')
  t.match(await auditOf('oidc.link'), { subject: 'boss-1', proof: 'verified' })
  t.equal(await signIn(said('boss-2', 'boss'), newBrowser()), 'sign-in?oidc=taken', 'verified, but another subject')
  t.match(await auditOf('oidc.refuse'), { subject: 'boss-2', reason: 'taken' })
  t.equal(await emailOf(first), 'boss@example.com', 'existing sessions stay signed in')

  const moved = newBrowser()
  t.equal(await signIn(said('boss-1', 'renamed'), moved), '', 'the provider gave them another address')
  t.equal(await emailOf(moved), 'boss@example.com')
  t.equal(await signIn(said('boss-1', 'renamed', unflagged), newBrowser()), '', 'a known person needs no proof')

  t.equal(await database.pool.run(sql => unlinkUser(sql, 'boss@example.com')), 1)
  // The change signs the person out.
  await until(async () => (await emailOf(first)) === undefined)
  t.match(await auditOf('oidc.unlink'), { email: 'boss@example.com' })
  const next = newBrowser()
  t.equal(await signIn(said('boss-2', 'boss'), next), '')
  t.equal(await emailOf(next), 'boss@example.com')
  t.equal(await signIn(said('boss-1', 'boss'), newBrowser()), 'sign-in?oidc=taken')

  await database.pool.run(each => removeUser(each, 'boss@example.com'))
  t.equal(await signIn(said('boss-2', 'boss'), newBrowser()), 'sign-in?oidc=unknown', 'a removed user is gone')
  await addPerson(service, 'boss@example.com', 'viewer')
  t.equal(await signIn(said('boss-1', 'boss'), newBrowser()), '', 'recreated, the user is a new one')
})

t.test("if the operator trusts a provider's addresses, it need not verify them", async t => {
  const trusting = await serve({ trustEmail: true }, database)
  await addPerson(service, 'entra@example.com', 'member')
  const unflagged = { email_verified: undefined }
  t.equal(await signIn(said('entra-1', 'entra', unflagged), newBrowser(trusting)), '')
  t.match(await auditOf('oidc.link'), { proof: 'trusted' })
  t.equal(await signIn(said('entra-2', 'entra', unflagged), newBrowser(trusting)), 'sign-in?oidc=taken')
  t.equal(await signIn(said('entra-3', 'new', { ...unflagged, groups: 'staff' }), newBrowser(trusting)), '')
  t.equal(
    await signIn(said('entra-4', 'other', { email_verified: null, groups: 'staff' }), newBrowser(trusting)),
    'sign-in?oidc=unverified'
  )
})

t.test('people who signed in before identities were stored are linked by address, once, within 90 days', async t => {
  const unflagged = { email_verified: undefined }
  for (const name of ['early', 'late']) await addPerson(service, `${name}@example.com`, 'member')
  const until = (email: string, days: number) =>
    database.pool.run(
      sql => sql`update users set oidc_email_until = now() + ${days} * interval '1 day' where email = ${email}`
    )
  await until('early@example.com', 1)
  await until('late@example.com', -1)
  t.equal(await signIn(said('late-1', 'late', unflagged), newBrowser()), 'sign-in?oidc=unproven')
  t.equal(await signIn(said('early-0', 'early', { email_verified: false }), newBrowser()), 'sign-in?oidc=unverified')
  t.equal(await signIn(said('early-1', 'early', unflagged), newBrowser()), '')
  t.match(await auditOf('oidc.link'), { subject: 'early-1', proof: 'before' })
  t.equal(await signIn(said('early-2', 'early', unflagged), newBrowser()), 'sign-in?oidc=taken')
  const left = await database.pool.run(
    sql => sql`select from users where email = 'early@example.com' and oidc_email_until is not null`
  )
  t.equal(left.length, 0)
})

t.test('an ID token must be signed by the provider, and issued for this client', async t => {
  const ends = (forge: Forging) => {
    provider.forge = forge
    return signIn(person('ada', { groups: 'staff' }), newBrowser())
  }
  t.equal(await ends({}), '', 'unchanged')
  t.equal(await ends({ claims: { azp: 'spoor' } }), '')
  t.equal(await ends({ claims: { azp: 'another' } }), 'sign-in?oidc=invalid')
  t.equal(await ends({ claims: { aud: ['spoor', 'another'] } }), 'sign-in?oidc=invalid', 'a token for somebody else')
  t.equal(await ends({ claims: { aud: ['spoor', 'another'], azp: 'spoor' } }), '')
  t.equal(await ends({ claims: { aud: 'another' } }), 'sign-in?oidc=invalid')
  t.equal(await ends({ claims: { iss: 'http://127.0.0.1:1' } }), 'sign-in?oidc=invalid')
  t.equal(await ends({ claims: { sub: 'a\u0000' } }), 'sign-in?oidc=invalid')
  t.equal(await ends({ key: 'foreign' }), 'sign-in?oidc=invalid', 'another key of the same name')
  provider.forge = undefined
})

t.test('lasting changes require a fresh sign-in, which the provider must confirm', async t => {
  const browser = newBrowser()
  const boss = person('fresh', { groups: 'admins' })
  provider.forge = { claims: { auth_time: undefined } }
  t.equal(await signIn(boss, browser), '')
  provider.forge = undefined
  const makeKey = () =>
    asking({ ...service, call: withHost }, browser.cookie())('POST', 'p/default/keys', { body: { label: 'x' } })
  t.match(
    await makeKey(),
    { status: 403, body: { error: { code: 'fresh_sign_in_required' } } },
    'it may remember anyone'
  )
  const page = 'p/default/settings/keys'
  const again = `?${new URLSearchParams({ to: page, fresh: 'true' })}`
  t.equal(await signIn(boss, browser, again), page, 'which redirects to the same page')
  t.equal(new URL(browser.passed.find(each => each.includes('/auth?'))!).searchParams.get('max_age'), '60')
  t.equal((await makeKey()).status, 201)
  await database.pool.run(sql => sql`update web_sessions set proven_at = now() - interval '15 minutes'`)
  await database.pool.run(sql => sql`select pg_notify('spoor_keys', 'a test')`)
  await until(async () => (await makeKey()).status === 403)
  for (const authTime of [undefined, Math.floor(Date.now() / 1000) - 3600, 1e30]) {
    provider.forge = { claims: { auth_time: authTime } }
    const end = await signIn(boss, browser, again)
    t.equal(end, `sign-in?oidc=not-fresh&to=${encodeURIComponent(page)}`, `auth_time ${authTime}`)
  }
  provider.forge = undefined
})

t.test('a response must match an attempt that this browser started, once', async t => {
  const browser = newBrowser()
  await signIn(person('ada', { groups: 'staff' }), browser)
  const callback = browser.passed.find(each => each.includes('/callback?'))!
  const ends = async (of: Browser, address: string) => (await of.go(address)).replace(`${BASE}/app/`, '')
  t.equal(await ends(browser, callback), 'sign-in?oidc=stale', 'the same browser again')
  t.equal(await ends(newBrowser(), callback), 'sign-in?oidc=stale', 'another browser')
  /** Starts a sign-in without following the redirect to the provider. */
  const begun = async () => {
    const other = newBrowser()
    const { headers } = await other.ask(START)
    return { other, state: new URL(String(headers.location)).searchParams.get('state') }
  }
  const { other } = await begun()
  t.equal(await ends(other, callback), 'sign-in?oidc=invalid', 'the state is another one')
  const { other: replaying, state } = await begun()
  const again = new URL(callback)
  again.searchParams.set('state', String(state))
  t.equal(await ends(replaying, again.href), 'sign-in?oidc=invalid', 'a code that was already used')
  for (const query of [
    '',
    '?',
    '?state=x',
    '?code=x&code=y',
    '?error=server_error',
    '?%',
    `?code=${'x'.repeat(4000)}`
  ]) {
    const { other } = await begun()
    t.match(await ends(other, `${BASE}${START}/callback${query}`), /^sign-in\?oidc=(?:invalid|denied)$/, query)
  }
  t.equal((await sessionOf(other)).user, null)
})

t.test('no address redirects to another site', async t => {
  const elsewhere = [
    'https://evil.example',
    '//evil.example',
    'p/../../evil',
    'p/..',
    'p/%2e%2e/%2E./x',
    '\\evil',
    'javascript:1',
    'p/x\\y'
  ]
  for (const to of [...elsewhere, 'sign-in', 'p', 'p/\n', `p/${'x'.repeat(1500)}`, '']) t.equal(ownPage(to), '', to)
  for (const to of ['p/a..b/traces?status=error', 't/0123', 'account', 'p/default/sessions/a%2Fb'])
    t.equal(ownPage(to), to)
  t.equal(ownPage('p/日本/traces'), 'p/%E6%97%A5%E6%9C%AC/traces')
  t.equal(await signIn(person('ada', { groups: 'staff' }), newBrowser(), '?to=%2F%2Fevil.example'), '')
  const page = `?${new URLSearchParams({ to: 'p/日本' })}`
  t.equal(await signIn(person('ada', { groups: 'staff' }), newBrowser(), page), 'p/%E6%97%A5%E6%9C%AC')
})

t.test('clocks may differ by half a minute', async t => {
  for (const [seconds, end] of [
    [TOKEN_S + 20, ''],
    [TOKEN_S + 40, 'sign-in?oidc=invalid']
  ] as const) {
    provider.behindMs = seconds * 1000
    t.equal(await signIn(person('ada', { groups: 'staff' }), newBrowser()), end, `${seconds} s behind`)
  }
  provider.behindMs = 0
})

t.test('while the provider is unreachable, the server runs and reports it; afterwards, people can sign in', async t => {
  provider.isAway = true
  const late = await serve({}, database)
  const away = async (of: TestService) =>
    signIn(person('ada', { groups: 'staff' }), newBrowser(of), '?to=p/default/traces')
  t.equal(await away(late), 'sign-in?oidc=away&to=p%2Fdefault%2Ftraces')
  const nowhere = await serve({ issuer: new URL('http://127.0.0.1:1') }, database)
  t.equal(await away(nowhere), 'sign-in?oidc=away&to=p%2Fdefault%2Ftraces')
  const browser = newBrowser()
  const { headers } = await browser.ask(START)
  const state = new URL(String(headers.location)).searchParams.get('state')
  t.match(
    await browser.go(`${BASE}${START}/callback?code=x&state=${state}`),
    /oidc=(?:away|invalid)$/,
    'the cached identity applies'
  )
  provider.isAway = false
  t.equal(await away(late), 'p/default/traces')
})

t.test('if the provider is the only way in, passwords do not work, and links do', async t => {
  const only = await serve({ only: true }, database)
  await addPerson(only, 'fred@example.com', 'viewer')
  await givePassword(only, 'fred@example.com', 'correct horse battery')
  const token = await linkFor(only, 'fred@example.com')
  const stranger = asking({
    ...only,
    call: (method, path, options = {}) =>
      only.call(method, path, { ...options, headers: { host: 'spoor.example', ...options.headers } })
  })
  t.match((await stranger('GET', 'session')).body.signIn, { password: false, oidc: true, onlyOidc: true })
  const body = { email: 'fred@example.com', password: 'correct horse battery' }
  t.match(await stranger('POST', 'sign-in/password', { body }), { status: 403, body: { error: { code: 'forbidden' } } })
  t.equal((await stranger('POST', 'sign-in/link', { body: { token } })).status, 204)
})

t.test('a server without a provider offers no such sign-in, and the log contains no personal data', async t => {
  const plain = await testService(t, { database })
  for (const path of [START, `${START}/callback?code=x`]) {
    t.match(await plain.call('GET', path, { key: null }), { status: 404, body: { error: { code: 'not_found' } } })
  }
  const text = logged.join('')
  t.match(text, /OpenID Connect sign-in failed/)
  t.notMatch(text, /@example\.com|code=|state=|spoor_oidc/)
})
