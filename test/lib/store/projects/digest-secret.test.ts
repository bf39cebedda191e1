import { hash } from 'node:crypto'
import t from 'tap'
import {
  claimSecret,
  isOtherSecret,
  readFingerprint,
  replaceSecret
} from '../../../../lib/store/projects/digest-secret.ts'
import { testDatabase } from '../../../fixtures/database/database.ts'

const OURS = 'the secret of a deployment'
const OTHER = 'the secret of a deployment.'

t.test('the first that comes decides which secret it is', async t => {
  const { pool } = await testDatabase(t)
  await pool.run(async sql => {
    t.equal(await isOtherSecret(sql, OURS), false, 'none is another while none is known')
    t.equal(await readFingerprint(sql), undefined, 'to look stores nothing')
    t.equal(await claimSecret(sql, OURS), true)
    t.equal(await claimSecret(sql, OURS), true)
    t.equal(await claimSecret(sql, OTHER), false)
    t.equal(await isOtherSecret(sql, OURS), false)
    t.equal(await isOtherSecret(sql, OTHER), true)
  })
})

t.test('of several that come at once with different secrets one wins, and all know which', async t => {
  const { pool } = await testDatabase(t)
  const secrets = Array.from({ length: 6 }, (_, i) => `the secret of process ${i}`)
  const claims = await Promise.all(secrets.map(secret => pool.run(sql => claimSecret(sql, secret))))
  t.equal(claims.filter(claim => claim).length, 1)
  const again = await Promise.all(secrets.map(secret => pool.run(sql => claimSecret(sql, secret))))
  t.same(again, claims)
  const [row] = await pool.run(sql => sql`select count(*) as rows from key_digest_secret`)
  t.equal(row?.rows, 1)
})

t.test(
  'what is stored has neither the secret nor a bare hash of it, and differs where the secret is the same',
  async t => {
    const [one, other] = await Promise.all([testDatabase(t), testDatabase(t)])
    const stored = await Promise.all(
      [one, other].map(({ pool }) =>
        pool.run(async sql => {
          await claimSecret(sql, OURS)
          return readFingerprint(sql)
        })
      )
    )
    t.equal(stored[0]?.fingerprint.byteLength, 32)
    t.notSame(stored[0]?.salt, stored[1]?.salt)
    t.notSame(stored[0]?.fingerprint, stored[1]?.fingerprint)
    const [row] = await one.pool.run(sql => sql`select k::text as everything from key_digest_secret k`)
    for (const form of [OURS, Buffer.from(OURS).toString('hex'), hash('sha256', OURS), hash('sha512', OURS)]) {
      t.notMatch(row?.everything, form)
    }
  }
)

t.test('a secret that replaces another is the one from then on', async t => {
  const { pool } = await testDatabase(t)
  await pool.run(async sql => {
    await claimSecret(sql, OURS)
    t.equal(await replaceSecret(sql, OTHER), 0, 'there was no key to revoke')
    t.equal(await claimSecret(sql, OURS), false)
    t.equal(await claimSecret(sql, OTHER), true)
  })
})
