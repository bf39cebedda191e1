/** Tests two-step sign-in: codes from an authenticator app in addition to a password. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { brotliDecompressSync } from 'node:zlib'
import { Secret, TOTP } from 'otpauth'
import t, { type Test } from 'tap'
import { createAccount } from '../../../../lib/admin/accounts.ts'
import { resetFactor } from '../../../../lib/admin/people.ts'
import { hashPassword } from '../../../../lib/people/passwords.ts'
import { testDatabase } from '../../../fixtures/database/database.ts'
import { testFolder } from '../../../fixtures/folder.ts'
import {
  addPerson,
  asking,
  cookieOf,
  givePassword,
  linkFor,
  type Person,
  signedIn
} from '../../../fixtures/service/people.ts'
import { type TestService, testService } from '../../../fixtures/service/service.ts'
import { configurationFor, jsonHere } from '../../../fixtures/service/spoor.ts'

const PASSWORD = 'correct horse battery'
const EMAIL = 'ada@example.com'

/** Returns an app's code for a secret. Each sign-in needs a later code than the one before. */
const codeOf = (secret: string, steps = 0): string =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + steps * 30_000 })

const enter = (service: TestService, body: object, cookie?: string) =>
  asking(service, cookie)('POST', 'sign-in/password', { body: { email: EMAIL, password: PASSWORD, ...body } })

/** Clears counted attempts and used codes, for whose expiry a test would otherwise have to wait. */
const forget = ({ database }: TestService) =>
  database.pool.run(async sql => {
    await sql`delete from sign_in_attempts`
    await sql`update second_factors set last_step = null`
  })

async function enrolled(t: Test) {
  const service = await testService(t)
  const ada = await signedIn(service, EMAIL, 'owner')
  await givePassword(service, EMAIL, PASSWORD)
  service.app.forget()
  const { secret, codes } = await enrol(service, ada)
  await forget(service)
  return { service, ada, secret, codes }
}

async function enrol(service: TestService, { ask }: Person): Promise<{ secret: string; codes: string[] }> {
  const begun = await ask('POST', 'factor', { body: {} })
  if (begun.status !== 201) throw new Error(begun.text)
  const { secret } = begun.body
  const confirmed = await ask('POST', 'factor/confirm', { body: { code: codeOf(secret) } })
  if (confirmed.status !== 200) throw new Error(confirmed.text)
  await forget(service)
  return { secret, codes: confirmed.body.codes }
}

t.test('enrolling requires a password and a code from the app, and ends other sessions', async t => {
  const service = await testService(t)
  const ada = await signedIn(service, EMAIL, 'owner')
  t.match(await ada.ask('POST', 'factor', { body: {} }), {
    status: 409,
    body: { error: { message: /^Set a password/ } }
  })
  await givePassword(service, EMAIL, PASSWORD)
  service.app.forget()
  t.same((await ada.ask('GET', 'factor')).body, { isOn: false, recoveryCodes: 0 })
  t.match(await ada.ask('POST', 'factor/confirm', { body: { code: '123456' } }), { status: 409 }, 'nothing was started')
  const { body: first } = await ada.ask('POST', 'factor', { body: {} })
  const { body: begun } = await ada.ask('POST', 'factor', { body: {} })
  t.match(begun, { secret: /^[A-Z2-7]{32}$/, address: /^otpauth:\/\/totp\/spoor:ada%40example\.com\?/ })
  t.equal((await enter(service, {})).status, 204, 'until it is confirmed, no code is needed')
  for (const code of ['', '12345', codeOf(first.secret), codeOf(begun.secret, 5)]) {
    t.match(await ada.ask('POST', 'factor/confirm', { body: { code } }), { status: 400 }, code)
  }
  const confirmed = await ada.ask('POST', 'factor/confirm', { body: { code: codeOf(begun.secret) } })
  t.equal(confirmed.status, 200)
  t.equal(new Set(confirmed.body.codes).size, 10)
  t.same((await ada.ask('GET', 'factor')).body, { isOn: true, recoveryCodes: 10 })
  t.match((await ada.ask('GET', 'session')).body, { user: { hasFactor: true } })
  t.equal((await ada.ask('GET', 'sessions')).body.sessions.length, 1, 'the session started with a password has ended')
  t.match(await ada.ask('POST', 'factor', { body: {} }), { status: 409, body: { error: { message: /already on/ } } })
  const stored = await service.database.pool.run(sql => sql`select to_jsonb(f)::text as row from second_factors f`)
  for (const secret of [begun.secret, ...confirmed.body.codes, codeOf(begun.secret)]) t.notMatch(stored[0]!.row, secret)
})

t.test('a password alone does not sign in, and a code works once', async t => {
  const { service, secret } = await enrolled(t)
  const without = await enter(service, {})
  t.match(without, { status: 403, body: { error: { code: 'code_required', message: /^Enter the code/ } } })
  t.equal(without.headers['set-cookie'], undefined)
  t.match(
    await enter(service, { password: 'wrong', code: codeOf(secret) }),
    { status: 401 },
    'and neither does a code alone'
  )
  for (const code of ['000000', codeOf(secret, 9), 'abcdef', 'k7m2-9xqa-wwww-2345']) {
    t.match(
      await enter(service, { code }),
      { status: 403, body: { error: { message: /^The code is incorrect/ } } },
      code
    )
    await service.database.pool.run(sql => sql`delete from sign_in_attempts`)
  }
  const code = codeOf(secret)
  t.equal((await enter(service, { code })).status, 204)
  t.match(await enter(service, { code }), { status: 403 }, 'the same code again')
  t.match(await enter(service, { code: codeOf(secret, -1) }), { status: 403 }, 'an earlier code')
  t.equal((await enter(service, { code: codeOf(secret, 1) })).status, 204, 'the next code')
})

t.test('of several concurrent sign-ins with one code, one succeeds', async t => {
  const { service, secret } = await enrolled(t)
  const code = codeOf(secret)
  const answers = await Promise.all(Array.from({ length: 4 }, () => enter(service, { code })))
  t.same(answers.map(({ status }) => status).sort(), [204, 403, 403, 403])
})

t.test('codes and passwords share a limit', async t => {
  const { service, secret } = await enrolled(t)
  for (let i = 0; i < 5; i++) t.equal((await enter(service, { code: '000000' })).status, 403)
  t.equal((await enter(service, { code: codeOf(secret) })).status, 429, 'even the right code')
})

t.test('a recovery code works once, and new ones replace the old', async t => {
  const { service, ada, codes } = await enrolled(t)
  t.equal((await enter(service, { code: codes[0] })).status, 204)
  t.equal((await enter(service, { code: codes[0] })).status, 403)
  t.equal((await enter(service, { code: codes[1]!.toUpperCase().replaceAll('-', '') })).status, 204)
  t.same((await ada.ask('GET', 'factor')).body, { isOn: true, recoveryCodes: 8 })
  const renewed = (await ada.ask('POST', 'factor/recovery-codes', { body: {} })).body.codes
  t.equal((await enter(service, { code: codes[2] })).status, 403)
  await forget(service)
  t.equal((await enter(service, { code: renewed[0] })).status, 204)
  const { entries } = (await ada.ask('GET', 'p/default/audit?group=sign-ins')).body
  const actions = entries.map(({ action }: { action: string }) => action)
  t.equal(actions.filter((each: string) => each === 'factor.recover').length, 3)
  for (const action of ['factor.enrol', 'factor.renew', 'sign-in.fail']) t.ok(actions.includes(action), action)
})

t.test('turning it off requires a fresh sign-in; an owner and a command can do it for others', async t => {
  const { service, ada } = await enrolled(t)
  const { pool } = service.database
  await pool.run(sql => sql`update web_sessions set proven_at = now() - interval '1 hour'`)
  service.app.forget()
  for (const [method, path] of [
    ['DELETE', 'factor'],
    ['POST', 'factor'],
    ['POST', 'factor/recovery-codes']
  ] as const) {
    const answer = await ada.ask(method, path, method === 'POST' ? { body: {} } : {})
    t.match(answer, { status: 403, body: { error: { code: 'fresh_sign_in_required' } } }, `${method} ${path}`)
  }
  await pool.run(sql => sql`update web_sessions set proven_at = now()`)
  service.app.forget()
  t.equal((await ada.ask('DELETE', 'factor')).status, 200)
  t.equal((await enter(service, {})).status, 204)

  await enrol(service, ada)
  const owner = await signedIn(service, 'owner@example.com', 'owner')
  const { id } = (await ada.ask('GET', 'session')).body.user
  const { members } = (await owner.ask('GET', 'p/default/members')).body
  t.match(
    members.map(({ hasFactor }: { hasFactor: boolean }) => hasFactor),
    [true, false]
  )
  t.equal((await owner.ask('DELETE', `p/default/members/${id}/factor`)).status, 200)
  t.equal((await enter(service, {})).status, 204)

  await enrol(service, ada)
  const { id: other } = await pool.run(sql => createAccount(sql, 'others', 'owner'))
  await pool.run(
    sql => sql`insert into memberships (account_id, user_id, role) values (${Number(other)}, ${id}, 'viewer')`
  )
  t.match(await owner.ask('DELETE', `p/default/members/${id}/factor`), { status: 409 }, 'a member of other accounts')
  t.equal((await enter(service, {})).status, 403)
  t.equal(await pool.run(sql => resetFactor(sql, EMAIL)), true)
  t.equal(await pool.run(sql => resetFactor(sql, EMAIL)), false)
  t.equal((await enter(service, {})).status, 204)
})

t.test('an account can require it of people with passwords', async t => {
  const service = await testService(t)
  const owner = await signedIn(service, 'owner@example.com', 'owner')
  await givePassword(service, 'owner@example.com', PASSWORD)
  service.app.forget()
  const require = (requiresFactor: boolean) => owner.ask('PATCH', 'p/default/members', { body: { requiresFactor } })
  t.match(await require(true), { status: 409, body: { error: { message: /yourself first/ } } })
  await enrol(service, owner)
  t.equal((await require(true)).status, 200)
  t.equal((await owner.ask('GET', 'p/default/members')).body.requiresFactor, true)

  await addPerson(service, EMAIL, 'member')
  await givePassword(service, EMAIL, PASSWORD)
  const entered = await enter(service, {})
  t.equal(entered.status, 204)
  const cookie = cookieOf(entered)
  const ada = { email: EMAIL, cookie, ask: asking(service, cookie) }
  for (const path of ['traces', 'members', 'audit']) {
    t.match(await ada.ask('GET', `p/default/${path}`), { status: 403, body: { error: { code: 'factor_required' } } })
  }
  t.equal((await ada.ask('GET', 'session')).status, 200)
  await enrol(service, ada)
  t.equal((await ada.ask('GET', 'p/default/traces')).status, 200)

  const token = await linkFor(service, EMAIL)
  const byLink = cookieOf(await asking(service)('POST', 'sign-in/link', { body: { token } }))
  t.equal((await asking(service, byLink)('GET', 'p/default/traces')).status, 200, 'a link needs no code')
  t.equal((await require(false)).status, 200)
})

t.test(
  'after a change of KEY_DIGEST_SECRET, codes work with both secrets, and with the new one after a sign-in',
  async t => {
    const { service, secret, codes } = await enrolled(t)
    const { digestSecret: old, ...rest } = service.database
    const start = (digestSecret: string, previousSecret?: string) =>
      testService(t, {
        database: { ...rest, digestSecret: undefined } as typeof service.database,
        view: { digestSecret, previousSecret },
        key: service.key
      })
    const both = await start('the secret from now on', old)
    t.equal((await enter(both, { code: codeOf(secret) })).status, 204)
    await forget(service)
    const next = await start('the secret from now on')
    t.equal((await enter(next, { code: codeOf(secret) })).status, 204)
    await forget(service)
    t.equal((await enter(service, { code: codeOf(secret) })).status, 403, 'the old secret alone cannot read it')
    t.equal((await enter(service, { code: codes[0] })).status, 204, 'recovery codes do not depend on a secret')
  }
)

t.test('a backup contains the second factor, which no other deployment can read', async t => {
  const { service, ada, secret, codes } = await enrolled(t)
  t.equal((await ada.ask('PATCH', 'p/default/members', { body: { requiresFactor: true } })).status, 200)
  // A restore rejects the tests' cheap password hashes.
  const stored = await hashPassword(PASSWORD)
  await service.database.pool.run(sql => sql`update users set password = ${stored}`)
  const file = join(await testFolder(t), 'spoor.backup')
  await jsonHere(['backup', file], configurationFor(service.database))
  t.notMatch(brotliDecompressSync(await readFile(file)).toString(), new RegExp([secret, ...codes].join('|')))
  const copy = await testDatabase(t)
  await jsonHere(['restore', file], configurationFor(copy))
  const restored = await testService(t, { database: copy })
  t.match(await enter(restored, {}), { status: 403, body: { error: { code: 'code_required' } } })
  t.equal((await enter(restored, { code: codeOf(secret) })).status, 204)
  const cookie = cookieOf(await enter(restored, { code: codes[0] }))
  const members = await asking(restored, cookie)('GET', 'p/default/members')
  t.match(members.body, { requiresFactor: true, members: [{ hasFactor: true }] })
  t.equal((await enter(service, { code: codes[0] })).status, 204)
})
