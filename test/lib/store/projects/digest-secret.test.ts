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

t.test('the first server decides the secret', async t => {
  const { pool } = await testDatabase(t)
  await pool.run(async sql => {
    t.equal(await isOtherSecret(sql, OURS), false, 'no secret is wrong while none is known')
    t.equal(await readFingerprint(sql), undefined, 'checking stores nothing')
    t.equal(await claimSecret(sql, OURS), true)
    t.equal(await claimSecret(sql, OURS), true)
    t.equal(await claimSecret(sql, OTHER), false)
    t.equal(await isOtherSecret(sql, OURS), false)
    t.equal(await isOtherSecret(sql, OTHER), true)
  })
})

t.test('of several concurrent servers with different secrets, one wins, and all learn which', async t => {
  const { pool } = await testDatabase(t)
  const secrets = Array.from({ length: 6 }, (_, i) => `the secret of process ${i}`)
  const claims = await Promise.all(secrets.map(secret => pool.run(sql => claimSecret(sql, secret))))
  t.equal(claims.filter(claim => claim).length, 1)
  const again = await Promise.all(secrets.map(secret => pool.run(sql => claimSecret(sql, secret))))
  t.same(again, claims)
  const [row] = await pool.run(sql => sql`select count(*) as rows from key_digest_secret`)
  t.equal(row?.rows, 1)
})

t.test('neither the secret nor a plain hash of it is stored, and equal secrets are stored differently', async t => {
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
})

t.test('a replacement secret applies from then on', async t => {
  const { pool } = await testDatabase(t)
  await pool.run(async sql => {
    await claimSecret(sql, OURS)
    t.equal(await replaceSecret(sql, OTHER), 0, 'there was no key to revoke')
    t.equal(await claimSecret(sql, OURS), false)
    t.equal(await claimSecret(sql, OTHER), true)
  })
})
