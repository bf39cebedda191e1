/** Tests the rules for users of the dashboard, as far as testing them needs no database. */
import fc from 'fast-check'
import t from 'tap'
import { dashboardAddress } from '../../../lib/dashboard-address.ts'
import { networkOf, subjectsOf } from '../../../lib/people/attempts.ts'
import { readEmail } from '../../../lib/people/email.ts'
import { faultOfPassword, hashPassword, isPassword } from '../../../lib/people/passwords.ts'
import { digestToken, makeToken } from '../../../lib/people/tokens.ts'
import { isEnough, isRole, ROLES } from '../../../lib/schema/roles.ts'

t.test('a role includes all roles before it', t => {
  t.same(
    ROLES.map(role => ROLES.filter(needed => isEnough(role, needed))),
    [['viewer'], ['viewer', 'member'], ['viewer', 'member', 'owner']]
  )
  t.ok(isRole('owner'))
  for (const text of ['', 'Owner', 'admin', 'toString']) t.notOk(isRole(text))
  t.end()
})

t.test('tokens are unique, and stored as irreversible hashes', t => {
  const tokens = Array.from({ length: 1000 }, makeToken)
  t.equal(new Set(tokens).size, 1000)
  for (const token of tokens) {
    t.match(token, /^[\w-]{43}$/)
    t.match(digestToken(token), /^[0-9a-f]{64}$/)
  }
  for (const text of [
    '',
    'x',
    `${makeToken()}x`,
    makeToken().slice(1),
    'ä'.repeat(43),
    ' '.repeat(43),
    'x'.repeat(1e6)
  ]) {
    t.equal(digestToken(text), undefined)
  }
  t.equal(dashboardAddress('http://x/y', 'token'), 'http://x/y/app/sign-in#token')
  t.end()
})

t.test('addresses are normalised, and invalid ones rejected', t => {
  t.equal(readEmail(' Ada@Example.COM\n'), 'ada@example.com')
  t.equal(readEmail('ada+tag@müller.example'), 'ada+tag@müller.example')
  for (const text of [
    '',
    'ada',
    '@example.com',
    'ada@',
    'a@b@c',
    'a b@c',
    'a@b\u0000',
    'a@\ud800',
    `a@${'b'.repeat(253)}`
  ]) {
    t.equal(readEmail(text), undefined, JSON.stringify(text))
  }
  fc.assert(
    fc.property(fc.emailAddress(), address => {
      const email = readEmail(address)
      return email === undefined ? address.length > 254 : readEmail(email) === email
    })
  )
  t.end()
})

t.test('only the stored password matches, in any Unicode normalisation', async t => {
  const stored = await hashPassword('Mötley Crüe, live')
  t.match(stored, /^scrypt\$32768\$8\$3\$[\w-]{22}\$[\w-]{43}$/)
  t.not(await hashPassword('Mötley Crüe, live'), stored, 'each has its own salt')
  t.equal(await isPassword('Mötley Crüe, live', stored, 'somebody'), true)
  t.equal(await isPassword('Mötley Crüe, live'.normalize('NFD'), stored, 'somebody'), true)
  for (const wrong of ['mötley crüe, live', 'x'.repeat(10_000)]) {
    t.equal(await isPassword(wrong, stored, 'somebody'), false)
  }
  t.equal(await isPassword('', null, 'somebody'), false)
})

/** With these parameters, hashing takes milliseconds. */
const CHEAP = 'scrypt$1024$8$1$AAAAAAAAAAAAAAAAAAAAAA$Zz0_e5qxTL5gJq4g1Hh8y1lXJ5dq3nq7vGZ1s0VtV3k'

t.test('a password hashed with other parameters is still recognised', async t => {
  t.equal(await isPassword('anything', CHEAP, 'somebody'), false)
})

t.test('passwords that would wait too long are rejected at once, and no party fills the queue', async t => {
  const ofOne = Array.from({ length: 45 }, () => isPassword('wrong', CHEAP, 'one'))
  const ofOthers = Array.from({ length: 18 }, (_, i) => isPassword('wrong', CHEAP, `other ${i}`))
  const ofMore = Array.from({ length: 20 }, (_, i) => isPassword('wrong', CHEAP, `more ${i}`))
  const refused = await Promise.all(
    [ofOne, ofOthers, ofMore].map(async tried =>
      (await Promise.allSettled(tried)).flatMap(each => (each.status === 'rejected' ? [each.reason] : []))
    )
  )
  t.same(
    refused.map(({ length }) => length),
    [35, 0, 18],
    'of concurrent attempts, ten of one party get a place, and thirty in total'
  )
  for (const { code, headers } of refused.flat())
    t.match({ code, headers }, { code: 'too_many_attempts', headers: { 'Retry-After': '5' } })
  t.equal(await isPassword('wrong', null, 'one'), false, 'and afterwards none')
})

t.test('a new password has at least 12 characters, of any kind', t => {
  t.equal(faultOfPassword('x'.repeat(11)), 'must have at least 12 characters')
  t.equal(faultOfPassword('😀'.repeat(11)), 'must have at least 12 characters')
  t.equal(faultOfPassword('😀'.repeat(12)), undefined)
  t.equal(faultOfPassword('x'.repeat(1000)), undefined)
  t.equal(faultOfPassword('x'.repeat(1001)), 'must have at most 1000 characters')
  t.end()
})

t.test('attempts are counted by the network that one customer has', t => {
  const networks: [peer: string, network: string][] = [
    ['192.168.7.9', '192.168.7'],
    ['::ffff:192.168.7.9', '192.168.7'],
    ['2001:db8:1:2::9', '2001:db8:1'],
    ['2001:0db8:0001:ffff:1:2:3:4', '2001:db8:1'],
    ['2001:db8::1', '2001:db8:0'],
    ['::1', '0:0:0'],
    ['fe80::1%eth0', 'fe80:0:0']
  ]
  for (const [peer, network] of networks) t.equal(networkOf(peer), network, peer)
  fc.assert(
    fc.property(fc.ipV4(), fc.nat(255), (address, last) => {
      const other = address.replace(/\d+$/, String(last))
      return networkOf(address) === networkOf(other) && networkOf(address) === networkOf(`::ffff:${other}`)
    })
  )
  fc.assert(fc.property(fc.ipV6(), address => networkOf(address).split(':').length === 3))
  const strange = subjectsOf('a@b', '10.0.0.1', undefined)
  t.match(strange, { own: { name: /^[0-9a-f]{64}$/, most: 5 }, network: { name: /^[0-9a-f]{64}$/, most: 50 } })
  const known = subjectsOf('a@b', '10.0.0.1', 'device')
  t.match(known, { own: { name: /^[0-9a-f]{64}$/, most: 5 }, network: undefined }, 'separately from strangers')
  t.not(known.own.name, strange.own.name)
  t.end()
})
