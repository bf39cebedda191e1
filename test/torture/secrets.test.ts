import { Writable } from 'node:stream'
import t from 'tap'
import { createLog } from '../../lib/log.ts'
import { ingestBody, traceId } from '../fixtures/bodies/bodies.ts'
import { testDatabase } from '../fixtures/database/database.ts'
import { testService } from '../fixtures/service/service.ts'
import { configurationFor, runHere } from '../fixtures/service/spoor.ts'
import { figure, isLong } from './orders.ts'

const unknownKey = (n: number) => `spoor_live_${String(n).padStart(16, '0')}_${'x'.repeat(43)}`

const DIGEST_SECRET = 'a digest secret that nobody tells'

/** A log that can be read. */
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

t.test('no secret is in the log, the answers, the metrics or an export', async t => {
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
      'not in what is answered'
    )
  }
  t.notMatch(log, 'secret in a body')
})

/** Addresses that lead nowhere, each with a password in it. */
const ADDRESSES = {
  'nobody listens': 'postgres://me:hush-hush@127.0.0.1:1/nowhere?password=hush-hush',
  'nobody listens, for TLS': 'postgres://me:hush-hush@127.0.0.1:1/nowhere?sslmode=require',
  'nobody has the name': 'postgres://me:hush-hush@nowhere.invalid/nowhere',
  'no such port': 'postgres://me:hush-hush@127.0.0.1:99999/nowhere',
  'another protocol': 'mysql://me:hush-hush@127.0.0.1:1/nowhere',
  'a password that is not encoded': 'postgres://me:hush-hush%/?#@127.0.0.1:1/nowhere',
  'no address at all': 'me:hush-hush@127.0.0.1'
}

t.test('a database that cannot be used is named without its password', async t => {
  for (const [what, DATABASE_URL] of Object.entries(ADDRESSES)) {
    for (const command of ['status', 'migrate', 'serve']) {
      const env = { DATABASE_URL, KEY_DIGEST_SECRET: DIGEST_SECRET, HOST: 'nowhere.invalid', LOG_LEVEL: 'trace' }
      const { code, out, err } = await runHere([command], env)
      t.equal(code, 1, `${command}: ${what}`)
      for (const secret of ['hush', DIGEST_SECRET]) t.notOk((out + err).includes(secret), `${command}: ${what}`)
      if (command !== 'serve' && what.startsWith('nobody listens')) t.match(err, '127.0.0.1:1/nowhere', 'where it is')
    }
  }
})

t.test('a migration that fails tells no secret', async t => {
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

t.test('the time of a 401 does not tell whether a key exists', async t => {
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
  // Meaningful only over many requests.
  if (isLong) t.ok(Math.abs(unknown - wrong) < 0.1 * unknown, `${unknown} ms against ${wrong} ms`)
  else t.pass('every wrong key was 401')
})
