import t from 'tap'
import {
  digestRecovery,
  enrolAddress,
  makeFactorSecret,
  makeRecoveryCodes,
  stepOfCode
} from '../../../../lib/people/factors/codes.ts'
import { seal, unseal } from '../../../../lib/people/factors/sealed.ts'

/** The secret of RFC 6238, appendix B: `12345678901234567890`. */
const RFC_SECRET = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'

t.test('codes follow RFC 6238', t => {
  // The standard's codes have eight digits, of which apps show the last six.
  const codes: [number, string][] = [
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_111_111_111, '050471'],
    [1_234_567_890, '005924'],
    [2_000_000_000, '279037']
  ]
  for (const [seconds, code] of codes) {
    t.equal(stepOfCode(RFC_SECRET, code, seconds * 1000), Math.floor(seconds / 30), code)
    t.equal(stepOfCode(RFC_SECRET, `${code.slice(0, 3)} ${code.slice(3)}`, seconds * 1000), Math.floor(seconds / 30))
  }
  t.end()
})

t.test('a code is valid half a minute early or late, and no longer', t => {
  const at = 1_234_567_890_000
  const step = Math.floor(at / 30_000)
  for (const [offset, wanted] of [
    [-2, undefined],
    [-1, step],
    [0, step],
    [1, step],
    [2, undefined]
  ] as const) {
    t.equal(stepOfCode(RFC_SECRET, '005924', at + offset * 30_000), wanted, String(offset))
  }
  for (const wrong of ['', '005925', '05924', '0059240', '００５９２４', '-05924', '5924', 'abcdef', '1e5']) {
    t.equal(stepOfCode(RFC_SECRET, wrong, at), undefined, wrong)
  }
  t.end()
})

t.test('secrets have 160 bits, and the address names the service and the user', t => {
  const secrets = Array.from({ length: 100 }, makeFactorSecret)
  t.equal(new Set(secrets).size, 100)
  for (const secret of secrets) t.match(secret, /^[A-Z2-7]{32}$/)
  const address = new URL(enrolAddress(RFC_SECRET, 'ada+x@example.com'))
  t.match(decodeURIComponent(address.href), /^otpauth:\/\/totp\/spoor:ada\+x@example\.com\?/)
  t.match(Object.fromEntries(address.searchParams), { secret: RFC_SECRET, digits: '6', period: '30' })
  t.end()
})

t.test('recovery codes are recognised by their digests, however they are typed', t => {
  const { codes, digests } = makeRecoveryCodes()
  t.equal(new Set(codes).size, 10)
  for (const [i, code] of codes.entries()) {
    t.match(code, /^(?:[2-9a-z]{4}-){3}[2-9a-z]{4}$/)
    for (const typed of [code, code.replaceAll('-', ''), ` ${code.toUpperCase()} `, code.replaceAll('-', ' ')]) {
      t.equal(digestRecovery(typed), digests[i], typed)
    }
    t.match(digests[i], /^[0-9a-f]{64}$/)
  }
  for (const wrong of ['', '123456', codes[0]!.slice(1), `${codes[0]}2`, 'x'.repeat(1000)]) {
    t.equal(digestRecovery(wrong), undefined)
  }
  t.end()
})

t.test('a stored secret can be read only with the deployment’s secret, and only for its user', t => {
  const [digestSecret, other] = ['a secret of sixteen', 'another secret of it']
  const sealed = seal(RFC_SECRET, 'a@x', { digestSecret })
  t.not(seal(RFC_SECRET, 'a@x', { digestSecret }), sealed)
  t.same(unseal(sealed, 'a@x', { digestSecret }), { text: RFC_SECRET, isPrevious: false })
  t.same(unseal(sealed, 'a@x', { digestSecret: other, previousSecret: digestSecret }), {
    text: RFC_SECRET,
    isPrevious: true
  })
  t.equal(unseal(sealed, 'b@x', { digestSecret }), undefined, 'another user')
  t.equal(unseal(sealed, 'a@x', { digestSecret: other }), undefined, 'another secret')
  const bytes = Buffer.from(sealed, 'base64url')
  for (let i = 0; i < bytes.length; i++) {
    const changed = Buffer.from(bytes)
    changed[i]! ^= 1
    t.equal(unseal(changed.toString('base64url'), 'a@x', { digestSecret }), undefined, `byte ${i}`)
  }
  for (const broken of ['', 'x', sealed.slice(0, 20)]) t.equal(unseal(broken, 'a@x', { digestSecret }), undefined)
  t.end()
})
