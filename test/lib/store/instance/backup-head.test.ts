import t from 'tap'
import { createAccount } from '../../../../lib/admin/accounts.ts'
import { addUser } from '../../../../lib/admin/people.ts'
import { readHead } from '../../../../lib/store/instance/backup-head.ts'
import { setRequiresFactor } from '../../../../lib/store/people/members.ts'
import { beginFactor, confirmFactor } from '../../../../lib/store/people/second-factors.ts'
import { testDatabase } from '../../../fixtures/database/database.ts'

t.test('a head lists confirmed second factors, and accounts that require one', async t => {
  const { pool } = await testDatabase(t)
  await pool.run(async sql => {
    const strict = await createAccount(sql, 'strict', 'owner')
    await createAccount(sql, 'open', 'owner')
    for (const name of ['ada', 'bob', 'eve']) await addUser(sql, { email: `${name}@example.com` })
    const [ada, bob] = (await readHead(sql)).users.map(({ id }) => id) as [number, number]
    await setRequiresFactor(sql, { by: ada, accountId: Number(strict.id) }, true)
    for (const userId of [ada, bob]) t.equal(await beginFactor(sql, userId, 'sealed'), true)
    const confirmation = { secret: 'sealed', step: 1, recovery: ['a'.repeat(64)], keep: null }
    t.equal(await confirmFactor(sql, ada, confirmation, '127.0.0.1'), true)
    t.equal(await confirmFactor(sql, bob, { ...confirmation, secret: 'replaced' }, '127.0.0.1'), false)
    const head = await readHead(sql)
    t.same(
      head.accounts.map(({ name, requiresFactor }) => [name, requiresFactor]),
      [
        ['strict', true],
        ['open', undefined]
      ]
    )
    t.match(head.users[0], { email: 'ada@example.com', factor: { secret: 'sealed', recovery: ['a'.repeat(64)] } })
    t.same(Object.keys(head.users[0]!.factor!).sort(), ['confirmedAt', 'recovery', 'secret'])
    for (const user of head.users.slice(1)) t.notOk('factor' in user, user.email)
    t.equal(head.members.length, 3)
  })
})
