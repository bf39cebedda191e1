import t from 'tap'
import { digestSecret, generateKey, parseKey } from '../../../lib/access/keys.ts'
import { effectiveScopes } from '../../../lib/schema/scopes.ts'

t.test('a generated key is parsed back, whatever the prefix', async t => {
  for (const prefix of ['spoor', 'my_app', 'a_live_b', 'x-1', '_live_'.slice(1)]) {
    const { key, keyId, secret } = generateKey(prefix)
    t.match(keyId, /^[0-9A-Za-z]{16}$/)
    t.match(secret, /^[0-9A-Za-z]{43}$/)
    t.equal(key, `${prefix}_live_${keyId}_${secret}`)
    t.same(parseKey(prefix, key), { keyId, secret })
  }
})

t.test('text without the form of a key is not a key', async t => {
  const id = 'a'.repeat(16)
  const secret = 'b'.repeat(43)
  const refused: Record<string, string> = {
    'empty text': '',
    'another prefix': `other_live_${id}_${secret}`,
    'the prefix in capitals': `SPOOR_live_${id}_${secret}`,
    'a word other than live': `spoor_test_${id}_${secret}`,
    'a short key id': `spoor_live_${id.slice(1)}_${secret}`,
    'a long key id': `spoor_live_${id}a_${secret}`,
    'a short secret': `spoor_live_${id}_${secret.slice(1)}`,
    'a long secret': `spoor_live_${id}_${secret}b`,
    'a trailing line break': `spoor_live_${id}_${secret}\n`,
    'a leading space': ` spoor_live_${id}_${secret}`,
    'an underscore in the secret': `spoor_live_${id}_${'_'.repeat(43)}`,
    'lookalike letters': `spoor_live_${'а'.repeat(16)}_${secret}`,
    'U+0000 in the key id': `spoor_live_${'\0'.repeat(16)}_${secret}`
  }
  for (const [what, text] of Object.entries(refused)) t.equal(parseKey('spoor', text), undefined, what)
})

t.test('every letter of the alphabet is about equally frequent', async t => {
  const counts = new Map<string, number>()
  for (let i = 0; i < 2000; i++) {
    const { keyId, secret } = generateKey('spoor')
    for (const letter of keyId + secret) counts.set(letter, (counts.get(letter) ?? 0) + 1)
  }
  // Each of 62 characters is expected 1903 times among 118,000, with a standard deviation of 43. A modulo without
  // rejection would produce the first eight characters a quarter more often.
  t.equal(counts.size, 62)
  for (const [letter, count] of counts) t.ok(Math.abs(count - 1903) < 6.5 * 43, `${letter}: ${count}`)
})

t.test("a secret's digest depends on the secret and on the deployment", async t => {
  const digest = digestSecret('secret', 'deployment')
  t.equal(digest.length, 32)
  t.same(digestSecret('secret', 'deployment'), digest)
  t.notSame(digestSecret('Secret', 'deployment'), digest)
  t.notSame(digestSecret('secret', 'deployment2'), digest)
})

t.test('a key from before scopes existed may write, and nothing else', async t => {
  t.same(effectiveScopes(null), ['traces:write'])
  t.same(effectiveScopes([]), [])
  t.same(effectiveScopes(['traces:read']), ['traces:read'])
})
