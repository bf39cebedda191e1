/** Tests security.txt and the header that keeps browsers on HTTPS. */
import t from 'tap'
import { testDatabase } from '../fixtures/database/database.ts'
import { testService } from '../fixtures/service/service.ts'

const PATH = '/.well-known/security.txt'
const HEADER = 'strict-transport-security'

t.test('security.txt names the contacts, and an expiry date less than a year away', async t => {
  const securityContacts = ['mailto:security@example.com', 'https://example.com/security']
  const { call } = await testService(t, { config: { securityContacts, baseUrl: 'https://traces.example.com' } })
  const { status, headers, text } = await call('GET', PATH, { key: null })
  t.match({ status, type: headers['content-type'] }, { status: 200, type: 'text/plain; charset=utf-8' })
  const [first, second, expires = '', ...rest] = text.trimEnd().split('\n')
  t.same(
    [first, second],
    securityContacts.map(each => `Contact: ${each}`)
  )
  t.match(expires, /^Expires: \d{4}-\d\d-\d\dT00:00:00\.000Z$/)
  const days = (Date.parse(expires.slice(9)) - Date.now()) / 86_400_000
  t.ok(days > 80 && days < 366, String(days))
  t.same(rest, [`Canonical: https://traces.example.com${PATH}`])
})

t.test('without a contact, there is no security.txt', async t => {
  const { call } = await testService(t)
  t.equal((await call('GET', PATH, { key: null })).status, 404)
})

t.test('pages for browsers require HTTPS if BASE_URL does, and not otherwise', async t => {
  const database = await testDatabase(t)
  const host = 'traces.example.com'
  const secure = await testService(t, { database, config: { baseUrl: `https://${host}` } })
  const off = await testService(t, { database, config: { baseUrl: `https://${host}`, hsts: false } })
  const plain = await testService(t, { database, config: { baseUrl: `http://${host}` } })
  for (const path of ['/app', '/app/api/session', '/app/assets/none.js', '/docs', '/docs/docs.css', '/app/nowhere']) {
    const header = async ({ call }: typeof secure) =>
      (await call('GET', path, { key: null, headers: { host } })).headers[HEADER]
    t.equal(await header(secure), 'max-age=15768000', path)
    t.equal(await header(off), undefined, path)
    t.equal(await header(plain), undefined, path)
  }
  t.equal((await secure.call('GET', '/api/v1/key', { headers: { host } })).headers[HEADER], undefined, 'the API')
})
