/** Tests the page's shell and files, and the protection against other sites' pages. */
import t, { type Test } from 'tap'
import { readConfig } from '../../../lib/config.ts'
import { type Cookie, sessionCookie } from '../../../lib/http/people/cookie.ts'
import { testDatabase } from '../../fixtures/database/database.ts'
import { byRelay, testRelay } from '../../fixtures/database/relay.ts'
import { asking, cookieOf, FROM_PAGE, linkFor, signedIn } from '../../fixtures/service/people.ts'
import { parseRaw, sendRaw } from '../../fixtures/service/raw.ts'
import { testService } from '../../fixtures/service/service.ts'

/** A service shared by the tests whose changes do not affect other tests. */
const plain = await testService(t)
const owner = await signedIn(plain, 'owner@example.com', 'owner')
const viewer = await signedIn(plain, 'viewer@example.com', 'viewer')

const refused = { status: 403, body: { error: { code: 'forbidden' } } }

t.test('browsers are redirected from / to the dashboard, and other clients get 404', async t => {
  const { call } = plain
  const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
  t.match(await call('GET', '/', { headers: { accept } }), { status: 302, headers: { location: '/app' } })
  for (const headers of [{}, { accept: '*/*' }, { accept: 'application/json' }]) {
    const body = { error: { code: 'not_found', message: 'There is nothing at this address.' } }
    t.match(await call('GET', '/', { headers }), { status: 404, body })
  }
})

t.test('every address under /app is the same page, without data and with all headers', async t => {
  const texts = new Set<string>()
  for (const path of ['/app', '/app/', '/app/p/default/traces', '/app/sign-in', '/app/nowhere']) {
    for (const each of [owner.ask, asking(plain)]) {
      const { status, headers, text } = await each('GET', path)
      t.match({ status, type: headers['content-type'] }, { status: 200, type: 'text/html; charset=utf-8' }, path)
      texts.add(text)
    }
  }
  t.equal(texts.size, 1)
})

t.test('every response has the headers, including errors', async t => {
  const { ask } = viewer
  const answers = [
    await ask('GET', '/app'),
    await ask('GET', '/app/assets/nothing.js'),
    await ask('GET', 'session'),
    await ask('GET', 'nothing'),
    await ask('GET', 'p/nowhere/traces'),
    await ask('POST', '/app'),
    await ask('DELETE', 'p/default/traces/0'),
    await asking(plain)('GET', 'sessions'),
    await ask('POST', 'sign-in/link', { headers: { 'sec-fetch-site': 'cross-site' } })
  ]
  t.same(
    answers.map(({ status }) => status),
    [200, 404, 200, 404, 404, 405, 403, 401, 403]
  )
  for (const { headers } of answers) {
    t.match(
      headers['content-security-policy'],
      /^default-src 'none'; .*require-trusted-types-for 'script'; trusted-types spoor$/
    )
    t.match(headers, {
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store'
    })
  }
})

t.test('DASHBOARD=off serves no part of it', async t => {
  const { call } = await testService(t, { config: { dashboard: false } })
  for (const path of ['/', '/app', '/app/api/session', '/app/assets/x.js']) {
    t.equal((await call('GET', path, { headers: { accept: 'text/html' } })).status, 404, path)
  }
})

t.test('a changing request must come from a page of the dashboard, as JSON', async t => {
  const { cookie } = owner
  const { host } = new URL(plain.url)
  const rename = (headers: Record<string, string>) =>
    plain.call('PATCH', '/app/api/p/default', { key: null, body: { name: 'New' }, headers: { cookie, ...headers } })
  const json = { 'content-type': 'application/json' }
  for (const site of ['cross-site', 'same-site', 'none'])
    t.match(await rename({ ...json, 'sec-fetch-site': site }), refused)
  t.match(await rename(json), refused, 'the type must be stated')
  for (const origin of [
    'null',
    'http://evil.example',
    `https://${host}`,
    'http://localhost:1',
    `http://${host}.evil.example`
  ]) {
    t.match(await rename({ ...json, origin }), refused, origin)
  }
  t.match(await rename({ ...json, origin: 'http://evil.example', 'sec-fetch-site': 'cross-site' }), refused)
  const types = ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', 'application/jsonp', '']
  for (const type of types) {
    const answer = await rename({ 'sec-fetch-site': 'same-origin', ...(type !== '' && { 'content-type': type }) })
    t.match(answer, { status: 400, body: { error: { message: 'Content-Type: must be application/json' } } }, type)
  }
  t.equal((await rename({ ...json, origin: `http://${host}` })).status, 200, 'a browser without Sec-Fetch-Site')
  t.equal(
    (await rename({ 'content-type': 'application/json; charset=utf-8', 'sec-fetch-site': 'same-origin' })).status,
    200
  )
})

t.test(
  "data can be read by the dashboard's pages, by typing the address, and by clients other than browsers",
  async t => {
    const { ask } = viewer
    for (const [site, status] of [
      ['same-origin', 200],
      ['none', 200],
      ['same-site', 403],
      ['cross-site', 403]
    ] as const) {
      t.equal((await ask('GET', 'p/default/traces', { headers: { 'sec-fetch-site': site } })).status, status, site)
      t.equal((await ask('GET', '/app/t/x', { headers: { 'sec-fetch-site': site } })).status, 200, 'a link to a page')
    }
  }
)

t.test(
  'while the database is unreachable, nobody is recognised, and a server that is not configured says so',
  async t => {
    const database = await testDatabase(t)
    const relay = await testRelay(t, database.target)
    const service = await testService(t, { database, view: byRelay(relay, database) })
    const { ask } = await signedIn(service, 'ada@example.com', 'owner')
    const unconfigured = await testService(t, { database, view: { digestSecret: undefined } })
    const lacking = { status: 500, body: { error: { code: 'not_configured' } } }
    for (const path of ['session', 'p/default/traces']) t.match(await asking(unconfigured)('GET', path), lacking)
    t.match(await asking(unconfigured)('POST', 'sign-in/link', { body: { token: 'x'.repeat(43) } }), lacking)
    t.equal((await asking(unconfigured)('GET', '/app')).status, 200)
    t.equal((await ask('GET', 'p/default/traces')).status, 200)
    relay.cut()
    t.match(await ask('GET', 'p/default/traces'), { status: 503, body: { error: { code: 'unavailable' } } })
    t.match(await ask('GET', 'session'), { status: 503 })
    t.match(await asking(service)('POST', 'sign-in/link', { body: { token: 'x'.repeat(43) } }), { status: 429 })
    const { status } = await ask('PATCH', 'p/default', { body: { name: 'x' } })
    t.ok([429, 503].includes(status), `${status}: 503 once the server no longer caches the visitor`)
    t.equal((await ask('GET', '/app')).status, 200)
  }
)

t.test('no request under /app is accepted for another host', async t => {
  const { port } = plain
  const status = async (host: string) =>
    parseRaw(await sendRaw(port, `GET /app/api/session HTTP/1.1\r\n${host}Connection: close\r\n\r\n`)).status
  for (const host of [
    'evil.example',
    `evil.example:${port}`,
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'x',
    ''
  ]) {
    t.equal(await status(`Host: ${host}\r\n`), 403, host)
  }
  for (const host of ['localhost', `LOCALHOST:${port}`, `127.0.0.1:${port}`, '[::1]:1', '10.0.0.7:8787', '[fd00::1]']) {
    t.equal(await status(`Host: ${host}\r\n`), 200, host)
  }
})

/** Starts a service as if it were behind a proxy that removes `/tools/spoor`. */
async function behindProxy(t: Test, baseUrl: string) {
  const config = readConfig({ BASE_URL: baseUrl })
  return testService(t, { config: { baseUrl: config.baseUrl } })
}

t.test('under a path behind a proxy, over https', async t => {
  const service = await behindProxy(t, 'https://example.com/tools/spoor/')
  const asProxy = (method: string, path: string, more: Record<string, string> = {}, body?: object) =>
    service.call(method, path, {
      key: null,
      ...(body && { body }),
      headers: { ...FROM_PAGE, host: 'example.com', ...more }
    })
  t.match(await asProxy('GET', '/', { accept: 'text/html' }), {
    headers: { location: 'https://example.com/tools/spoor/app' }
  })
  t.equal((await asProxy('GET', '/app/api/session', { host: 'example.com:443' })).status, 200)
  for (const host of ['127.0.0.1', 'localhost', 'example.com:80', 'tools.example.com']) {
    t.match(await asProxy('GET', '/app/api/session', { host }), {
      status: 403,
      body: { error: { message: /example\.com/ } }
    })
  }
  await service.database.pool.run(sql => sql`insert into users (email) values ('ada@example.com')`)
  const token = await linkFor(service, 'ada@example.com')
  const answer = await asProxy('POST', '/app/api/sign-in/link', {}, { token })
  const set = String(answer.headers['set-cookie'])
  t.match(
    set,
    /^__Secure-spoor_session_[0-9a-f]{8}=[\w-]{43}; Max-Age=2592000; Path=\/tools\/spoor\/app; HttpOnly; SameSite=Lax; Secure$/
  )
  t.match((await asProxy('GET', '/app/api/session', { cookie: cookieOf(answer) })).body, {
    user: { email: 'ada@example.com' }
  })
  const plain = cookieOf(answer).replace('__Secure-', '')
  t.match((await asProxy('GET', '/app/api/session', { cookie: plain })).body, { user: null })
})

t.test('two servers on one host keep their sessions apart', async t => {
  const cookies = ['one', 'other'].map(digestSecret => sessionCookie({ baseUrl: undefined, digestSecret })) as [
    Cookie,
    Cookie
  ]
  const both = cookies.map((cookie, i) => cookie.keep(`token${i}`).split(';')[0]).join('; ')
  t.same(
    cookies.map(cookie => cookie.read(both)),
    ['token0', 'token1']
  )
})

t.test('a session gives no access to the API, and a key none to the dashboard', async t => {
  const { cookie } = owner
  const token = cookie.split('=')[1]!
  t.equal((await plain.call('GET', '/api/v1/traces', { key: null, headers: { cookie } })).status, 401)
  t.equal((await plain.call('GET', '/api/v1/traces', { key: token })).status, 401)
  t.equal((await plain.call('GET', '/app/api/p/default/traces', { headers: FROM_PAGE })).status, 401)
  const cookies = { ...FROM_PAGE, cookie: `${cookie.split('=')[0]}=${plain.key}` }
  t.equal((await plain.call('GET', '/app/api/p/default/traces', { headers: cookies })).status, 401)
})

t.test("a person authenticated by a trusted proxy is signed in, and no other client's header is believed", async t => {
  const authProxy = {
    header: 'x-forwarded-email',
    from: ['127.0.0.0/8'],
    role: 'viewer' as const,
    signOutUrl: 'https://id.example/out'
  }
  const trusting = await testService(t, { config: { authProxy } })
  const as = (email: string, service = trusting) =>
    service.call('GET', '/app/api/session', { key: null, headers: { 'x-forwarded-email': email } })
  await signedIn(trusting, 'ada@example.com', 'owner')
  t.match((await as('Ada@example.com')).body, {
    user: { email: 'ada@example.com' },
    projects: [{ role: 'owner' }],
    signIn: { proxy: true, signOutUrl: 'https://id.example/out' }
  })
  t.match((await as('new@example.com')).body, { user: { email: 'new@example.com' }, projects: [{ role: 'viewer' }] })
  for (const none of ['', 'no address', 'a@b, c@d']) t.match((await as(none)).body, { user: null }, none)

  const { database } = trusting
  const strict = await testService(t, { database, config: { authProxy: { ...authProxy, role: undefined } } })
  t.match((await as('another@example.com', strict)).body, { user: null })
  t.match((await as('new@example.com', strict)).body, { user: { email: 'new@example.com' } })
  const elsewhere = await testService(t, {
    database,
    config: { authProxy: { ...authProxy, from: ['10.0.0.0/8', '::1'] } }
  })
  t.match((await as('ada@example.com', elsewhere)).body, { user: null }, 'the connection comes from another address')
  const plain = await testService(t, { database })
  t.match((await as('ada@example.com', plain)).body, { user: null })
})
