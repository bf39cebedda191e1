/** Tests what the server derives from a provider's claims. */
import fc from 'fast-check'
import t from 'tap'
import { isSubject, joinClaims, personOf, type SignInAdmission } from '../../../../lib/people/oidc/claims.ts'
import type { Person } from '../../../../lib/store/people/oidc.ts'

const OPEN: SignInAdmission = { domains: [], roles: [], trustEmail: false }
const as = (claim: string, value: string, more: object) =>
  personOf({ email: 'a@example.com', ...more }, { ...OPEN, roles: [{ claim, value, role: 'member' }] })

t.test('an address is normalised, and a name is one line', async t => {
  t.same(personOf({ email: ' Ada@Example.com ', name: 'Ada\n\u0000Lovelace' }, OPEN), {
    email: 'ada@example.com',
    proof: undefined,
    name: 'Ada Lovelace',
    role: undefined
  })
  t.match(personOf({ email: 'a@b', name: `${'x'.repeat(199)}\u{1f600}y` }, OPEN), { name: /^x{199}\u{1f600}$/u })
  for (const email of [undefined, null, 7, '', 'ada', ['a@b'], 'a@b c@d', 'mar\u212a@b', '\u0130@b'])
    t.equal(personOf({ email }, OPEN), 'no-email')
})

t.test("only true verifies an address; if the claim is missing, the operator's trust decides", async t => {
  const trusting = { ...OPEN, trustEmail: true }
  for (const no of [false, 'false', 'False', 'true', 0, 1, null, '', [true], {}]) {
    const said = { email: 'a@b', email_verified: no }
    for (const admission of [OPEN, trusting]) t.equal(personOf(said, admission), 'unverified', JSON.stringify(no))
  }
  const proofOf = (said: object, admission: SignInAdmission) =>
    (personOf({ email: 'a@b', ...said }, admission) as Person).proof
  for (const admission of [OPEN, trusting]) t.equal(proofOf({ email_verified: true }, admission), 'verified')
  t.equal(proofOf({}, OPEN), undefined)
  t.equal(proofOf({}, trusting), 'trusted')
})

t.test('a flag verifies only the address in its own document', async t => {
  const emails = fc.constantFrom(undefined, 'me@b', 'boss@b')
  const flags = fc.constantFrom<unknown>(undefined, true, false, null, 'true')
  const document = fc.record({ email: emails, email_verified: flags, sub: fc.constant('s') })
  fc.assert(
    fc.property(document, fc.option(document, { nil: undefined }), (token, userinfo) => {
      const person = personOf(joinClaims(token, userinfo), OPEN)
      if (typeof person === 'string' || person.proof === undefined) return
      const isProven = [token, userinfo].some(each => each?.email === person.email && each.email_verified === true)
      if (!isProven) throw new Error(`${person.email} is not proven`)
    })
  )
  const token = { email: 'me@b', email_verified: true, groups: 'a', name: 'token' }
  t.match(joinClaims(token, { email: 'boss@b', name: 'info' }), { email: 'me@b', groups: 'a', name: 'info' })
  t.match(joinClaims({ sub: 's' }, { email: 'a@b' }), { email: 'a@b', email_verified: undefined })
  t.match(joinClaims({ email: 'a@b' }), { email: 'a@b' })
})

t.test('a subject can be stored', async t => {
  for (const subject of ['s', '00u1|a b', 'ü'.repeat(255)]) t.ok(isSubject(subject))
  for (const subject of ['', 'a\u0000', '\ud800', 'x'.repeat(256)]) t.notOk(isSubject(subject))
})

t.test('a domain is everything after the @', async t => {
  const admission = { ...OPEN, domains: ['example.com'] }
  t.match(personOf({ email: 'a@EXAMPLE.com' }, admission), { email: 'a@example.com' })
  for (const email of ['a@sub.example.com', 'a@badexample.com', 'a@example.com.evil', 'a@example.co']) {
    t.equal(personOf({ email }, admission), 'domain', email)
  }
})

t.test('a rule matches a claim that equals its value, or a list that contains it', async t => {
  t.match(as('groups', 'x', { groups: 'x' }), { role: 'member' })
  t.match(as('groups', 'x', { groups: ['y', 'x'] }), { role: 'member' })
  t.match(as('admin', 'true', { admin: true }), { role: 'member' })
  t.match(as('level', '7', { level: 7 }), { role: 'member' })
  t.match(as('a.b', 'x', { a: { b: 'x' } }), { role: 'member' })
  t.match(as('https://x.example/r', 'x', { 'https://x.example/r': ['x'] }), { role: 'member' }, 'a name with dots')
  t.match(as('*', '', {}), { role: 'member' }, 'everybody')
  for (const none of [
    {},
    { groups: 'xx' },
    { groups: ['X'] },
    { groups: { x: true } },
    { groups: [['x']] },
    { groups: null }
  ]) {
    t.match(as('groups', 'x', none), { role: undefined }, JSON.stringify(none))
  }
  t.match(as('a.b', 'undefined', { a: {} }), { role: undefined })
  t.match(as('constructor.name', 'Object', {}), { role: undefined }, 'only stated values')
})

t.test('of several matching rules, the highest role applies', async t => {
  const roles = (['viewer', 'owner', 'member'] as const).map(role => ({ claim: 'g', value: role, role }))
  const roleOf = (...g: string[]) => (personOf({ email: 'a@b', g }, { ...OPEN, roles }) as { role: unknown }).role
  t.same([roleOf('viewer', 'member'), roleOf('member', 'owner', 'viewer'), roleOf()], ['member', 'owner', undefined])
})

t.test('every response is understood or rejected', async () => {
  const claims = fc.dictionary(fc.constantFrom('email', 'name', 'email_verified', 'groups', '__proto__'), fc.anything())
  const admission = { ...OPEN, roles: [{ claim: 'groups.a', value: '1', role: 'viewer' as const }] }
  fc.assert(
    fc.property(claims, said => {
      const found = personOf(said, admission)
      return typeof found === 'string' || (found.name.isWellFormed() && !/\p{Cc}/u.test(found.name))
    }),
    { numRuns: 200 }
  )
})
