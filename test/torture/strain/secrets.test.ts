import { Writable } from 'node:stream'
import t from 'tap'
import { changePassword } from '../../../lib/admin/people.ts'
import { createLog } from '../../../lib/log.ts'
import { ingestBody, traceId } from '../../fixtures/bodies/bodies.ts'
import { testDatabase } from '../../fixtures/database/database.ts'
import { addPerson, asking, linkFor, signedIn } from '../../fixtures/service/people.ts'
import { testService } from '../../fixtures/service/service.ts'
import { configurationFor, runHere } from '../../fixtures/service/spoor.ts'
import { figure, isLong } from '../orders.ts'

const unknownKey = (n: number) => `spoor_live_${String(n).padStart(16, '0')}_${'x'.repeat(43)}`

const DIGEST_SECRET = 'a digest secret that nobody tells'

/** Returns a stream that collects a log, and a function that returns the log so far. */
function collectLog() {
  let text = ''
  const sink = new Writable({
    write(chunk, _encoding, done) {
      text += chunk
      done()
    }
  })
  return { sink, text: () => text }
}

t.test('no secret is in the log, the responses, the metrics or an export', async t => {
  const { sink, text } = collectLog()
  const database = await testDatabase(t)
  const { call, key, makeKey } = await testService(t, { database, log: createLog('trace', sink) })
  const other = await makeKey({ scopes: ['traces:read'] })
  const secrets = [key, other.key].map(each => each.split('_').at(-1)!)
  const texts: string[] = []
  for (const given of [key, other.key, `${key}x`, `${key.slice(0, -1)}`]) {
    for (const [method, path, body] of [
      ['POST', '/api/v1/traces', ingestBody()],
      ['POST', '/api/v1/traces', '{"secret in a body'],
      ['GET', '/api/v1/key', undefined],
      ['GET', `/api/v1/traces?name=${given}`, undefined],
      ['GET', `/api/v1/traces/${traceId()}`, undefined],
      ['GET', `/${given}`, undefined]
    ] as const) {
      texts.push((await call(method, path, { key: given, ...(body !== undefined && { body }) })).text)
    }
  }
  texts.push(
    (await call('GET', '/metrics')).text,
    (await runHere(['export', '--project', 'default'], configurationFor(database))).out
  )
  const log = text()
  t.not(log, '')
  for (const secret of [...secrets, database.digestSecret!]) {
    t.notOk(log.includes(secret), 'not in the log')
    t.notOk(
      texts.some(text => text.includes(secret)),
      'not in the responses'
    )
  }
  t.notMatch(log, 'secret in a body')
})

t.test('no token, password or e-mail address is in the log, the metrics, or an unrelated response', async t => {
  const { sink, text } = collectLog()
  const database = await testDatabase(t)
  const service = await testService(t, { database, log: createLog('trace', sink) })
  const owner = await signedIn(service, 'owner-with-a-name@example.com', 'owner')
  const password = 'correct horse battery'
  const unused = await linkFor(service, owner.email)
  const texts: string[] = []
  const ask = async (...request: Parameters<typeof owner.ask>) => {
    const answer = await owner.ask(...request)
    texts.push(answer.text, JSON.stringify({ ...answer.headers, 'set-cookie': '' }))
    return answer
  }
  const stranger = asking(service)
  const send = (path: string, body: object | string) => stranger('POST', path, { body })
  await ask('POST', 'password', { body: { password } })
  texts.push((await send('sign-in/password', { email: owner.email, password: `${password}!` })).text)
  texts.push((await send('sign-in/link', { token: 'x'.repeat(43), password })).text)
  texts.push((await send('sign-in/link', `{"token":"${unused}"`)).text)
  for (const path of [
    `/app/sign-in?token=${unused}`,
    `/app/api/session?email=${owner.email}`,
    '/app/api/sessions',
    '/metrics'
  ]) {
    texts.push((await stranger('GET', path)).text)
  }
  const invited = await owner.ask('POST', 'p/default/members', {
    body: { email: 'invited@example.com', role: 'viewer' }
  })
  const made = await owner.ask('POST', 'p/default/keys', { body: { label: 'made here' } })
  const rotated = await owner.ask('POST', `p/default/keys/${made.body.keyId}/rotate`)
  for (const path of ['p/default/keys', 'sessions', 'p/default', 'p/default/facets', 'nothing']) await ask('GET', path)
  await ask('DELETE', 'p/default/members/2000000000')
  texts.push((await runHere(['user', 'list', '--json'], configurationFor(database))).out)
  texts.push((await runHere(['status', '--json'], configurationFor(database))).out)
  texts.push((await runHere(['export', '--project', 'default'], configurationFor(database))).out)
  const tokens = [
    owner.cookie.split('=')[1]!,
    unused,
    invited.body.link.split('#')[1],
    made.body.key.split('_').at(-1),
    rotated.body.key.split('_').at(-1),
    password
  ]
  const log = text()
  t.match(log, '/app/api/p/:slug/members')
  for (const secret of tokens) {
    t.notOk(log.includes(secret), 'not in the log')
    t.notOk(
      texts.some(each => each.includes(secret)),
      'not in the responses'
    )
  }
  for (const address of [owner.email, 'invited@example.com'])
    t.notOk(log.includes(address), 'and no address is in the log')
})

/** Unreachable addresses, each with a password. */
const ADDRESSES = {
  'nobody listens': 'postgres://me:hush-hush@127.0.0.1:1/nowhere?password=hush-hush',
  'nobody listens, for TLS': 'postgres://me:hush-hush@127.0.0.1:1/nowhere?sslmode=require',
  'an unknown host name': 'postgres://me:hush-hush@nowhere.invalid/nowhere',
  'no such port': 'postgres://me:hush-hush@127.0.0.1:99999/nowhere',
  'another protocol': 'mysql://me:hush-hush@127.0.0.1:1/nowhere',
  'a password that is not encoded': 'postgres://me:hush-hush%/?#@127.0.0.1:1/nowhere',
  'not an address': 'me:hush-hush@127.0.0.1'
}

t.test('an unusable database is named without its password', async t => {
  for (const [what, DATABASE_URL] of Object.entries(ADDRESSES)) {
    for (const command of ['status', 'migrate', 'serve']) {
      const env = { DATABASE_URL, KEY_DIGEST_SECRET: DIGEST_SECRET, HOST: 'nowhere.invalid', LOG_LEVEL: 'trace' }
      const { code, out, err } = await runHere([command], env)
      t.equal(code, 1, `${command}: ${what}`)
      for (const secret of ['hush', DIGEST_SECRET]) t.notOk((out + err).includes(secret), `${command}: ${what}`)
      if (command !== 'serve' && what.startsWith('nobody listens'))
        t.match(out + err, '127.0.0.1:1/nowhere', 'the location is reported')
    }
  }
})

t.test('a failing migration reveals no secret', async t => {
  const database = await testDatabase(t)
  const { key } = await testService(t, { database })
  await database.pool.run(sql => sql`drop table schema_migrations`)
  const { target } = database
  const password = typeof target === 'string' ? new URL(target).password : target.password
  const secrets = [key.split('_').at(-1)!, database.digestSecret!, ...(password === '' ? [] : [password])]
  const checkSilence = (text: string) => {
    for (const secret of secrets) t.notOk(text.includes(secret))
  }

  const { code, out, err } = await runHere(['migrate'], { ...configurationFor(database), LOG_LEVEL: 'trace' })
  t.equal(code, 1)
  t.match(err, /already exists/)
  checkSilence(out + err)

  const log = collectLog()
  const { call } = await testService(t, { database, log: createLog('trace', log.sink) })
  const texts: string[] = []
  for (const [path, status] of [
    ['/api/v1/key', 500],
    ['/readyz', 503],
    ['/metrics', 200]
  ] as const) {
    const answer = await call('GET', path)
    t.equal(answer.status, status, path)
    texts.push(answer.text)
  }
  t.match(log.text(), /the schema cannot be applied.*already exists/)
  checkSilence(log.text() + texts.join())
})

t.test('the time of a 401 does not reveal whether a key exists', async t => {
  const { call, makeKey } = await testService(t)
  const existing = await Promise.all(Array.from({ length: 20 }, () => makeKey()))
  const count = isLong ? 4000 : 100
  const times = { unknown: [] as number[], existing: [] as number[] }
  for (let i = 0; i < count; i++) {
    const wrong = existing[i % existing.length]!.key.replace(/.{43}$/, 'x'.repeat(43))
    for (const [kind, key] of [
      ['unknown', unknownKey(i)],
      ['existing', wrong]
    ] as const) {
      const asked = performance.now()
      const { status } = await call('GET', '/api/v1/key', { key })
      times[kind].push(performance.now() - asked)
      if (status !== 401) t.fail(`${kind}: ${status}`)
    }
  }
  const median = (list: number[]) => list.sort((one, other) => one - other)[Math.floor(list.length / 2)]!
  const [unknown, wrong] = [median(times.unknown), median(times.existing)]
  figure('median time of a 401, key unknown / secret wrong, ms', `${unknown.toFixed(3)} / ${wrong.toFixed(3)}`)
  // The comparison is meaningful only over many requests.
  if (isLong) t.ok(Math.abs(unknown - wrong) < 0.1 * unknown, `${unknown} ms against ${wrong} ms`)
  else t.pass('every wrong key was 401')
})

t.test('the time of a wrong password does not reveal whether an address is known', async t => {
  const service = await testService(t)
  const known = 'known@example.com'
  await addPerson(service, known, 'viewer')
  await service.database.pool.run(sql => changePassword(sql, known, 'correct horse battery'))
  const times = { unknown: [] as number[], known: [] as number[] }
  for (let i = 0; i < (isLong ? 40 : 2); i++) {
    for (const [kind, email] of [
      ['unknown', `unknown-${i}@example.com`],
      ['known', known]
    ] as const) {
      await service.database.pool.run(sql => sql`delete from sign_in_attempts`)
      const asked = performance.now()
      const body = { email, password: 'not the password' }
      t.equal((await asking(service)('POST', 'sign-in/password', { body })).status, 401)
      times[kind].push(performance.now() - asked)
    }
  }
  const median = (list: number[]) => list.sort((one, other) => one - other)[Math.floor(list.length / 2)]!
  const [unknown, wrong] = [median(times.unknown), median(times.known)]
  figure('median time of a wrong password, address unknown / known, ms', `${unknown.toFixed(1)} / ${wrong.toFixed(1)}`)
  if (isLong) t.ok(Math.abs(unknown - wrong) < 0.2 * unknown, `${unknown} ms against ${wrong} ms`)
})
