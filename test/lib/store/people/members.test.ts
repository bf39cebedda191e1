import t, { type Test } from 'tap'
import { createAccount } from '../../../../lib/admin/accounts.ts'
import { digestToken, makeToken } from '../../../../lib/people/tokens.ts'
import * as members from '../../../../lib/store/people/members.ts'
import { setPassword, signInByLink } from '../../../../lib/store/people/sessions.ts'
import { addUserRow, findUser } from '../../../../lib/store/people/users.ts'
import { testDatabase } from '../../../fixtures/database/database.ts'

const link = () => digestToken(makeToken())!
const newSession = () => ({ digest: link(), agent: '', replaces: undefined })

/** Creates three accounts. `own` and `second` have the same owner, and `others` belongs to another person. */
async function setUp(t: Test) {
  const { pool } = await testDatabase(t)
  return pool.run(async sql => {
    const ids: number[] = []
    for (const name of ['own', 'second', 'others']) ids.push(Number((await createAccount(sql, name, 'owner')).id))
    const [own, second, others] = ids as [number, number, number]
    for (const accountId of [own, second])
      await addUserRow(sql, { email: 'owner@b', name: '', accountId, role: 'owner' })
    await addUserRow(sql, { email: 'stranger@b', name: '', accountId: others, role: 'owner' })
    const by = (await findUser(sql, 'owner@b'))!.id
    return { pool, own, second, others, acting: { by, accountId: own } }
  })
}

t.test('an invitation creates a user, a member and a link, or nothing', async t => {
  const { pool, own, acting } = await setUp(t)
  await pool.run(async sql => {
    const digest = link()
    const id = await members.inviteMember(sql, acting, { email: 'new@b', role: 'member', link: digest })
    t.type(id, 'number')
    t.match(await members.readMember(sql, own, id as number), { email: 'new@b', role: 'member', seenAt: null })
    t.equal(await signInByLink(sql, digest, newSession()), id)
    t.match(await members.readMember(sql, own, id as number), { seenAt: String })
    const again = { email: 'new@b', role: 'owner', link: link() } as const
    t.equal(await members.inviteMember(sql, acting, again), 'known')
    t.equal(await members.inviteMember(sql, acting, { ...again, email: 'stranger@b' }), 'elsewhere')
    t.equal((await sql`select from sign_in_links`).length, 0)
    t.match(await members.readMember(sql, own, id as number), { role: 'member' })
  })
})

t.test('of several concurrent invitations of one address, one succeeds', async t => {
  const { pool, own, acting } = await setUp(t)
  const made = await Promise.all(
    Array.from({ length: 4 }, () =>
      pool.run(sql => members.inviteMember(sql, acting, { email: 'new@b', role: 'viewer', link: link() }))
    )
  )
  const ids = new Set(made.filter(each => typeof each === 'number'))
  t.equal(ids.size, 1, `${made}`)
  t.equal((await pool.run(sql => members.listMembers(sql, own))).length, 2)
})

t.test('of two owners who invite the same address concurrently, one gets a link', async t => {
  const { pool, others, acting } = await setUp(t)
  const stranger = await pool.run(async sql => (await findUser(sql, 'stranger@b'))!.id)
  for (let round = 0; round < 10; round++) {
    const email = `new-${round}@b`
    const invited = await Promise.all(
      [acting, { by: stranger, accountId: others }].map(each =>
        pool.run(sql => members.inviteMember(sql, each, { email, role: 'viewer', link: link() }))
      )
    )
    t.equal(invited.filter(each => each === 'elsewhere').length, 1, `${invited}`)
    t.equal((await pool.run(sql => sql`select from sign_in_links`)).length, round + 1)
  }
})

t.test("a member only of the owner's accounts is invited to another and keeps their password", async t => {
  const { pool, second, acting } = await setUp(t)
  await pool.run(async sql => {
    const id = (await members.inviteMember(sql, acting, { email: 'new@b', role: 'viewer', link: link() })) as number
    await setPassword(sql, id, 'stored', { by: id })
    const elsewhere = { ...acting, accountId: second }
    t.equal(await members.inviteMember(sql, elsewhere, { email: 'new@b', role: 'viewer', link: link() }), id)
    t.match(await findUser(sql, 'new@b'), { hasPassword: true })
    t.equal(await members.linkMember(sql, acting, id, link()), true)
    await members.removeMember(sql, acting, id)
    t.equal(await members.linkMember(sql, acting, id, link()), false, 'no longer a member here')
    await members.removeMember(sql, elsewhere, id)
    const back = await members.inviteMember(sql, acting, { email: 'new@b', role: 'viewer', link: link() })
    t.equal(back, id)
    t.match(await findUser(sql, 'new@b'), { hasPassword: false }, 'a user without any membership is treated as new')
  })
})

t.test('an owner cannot create a link for members of others’ accounts, or for strangers', async t => {
  const { pool, others, acting } = await setUp(t)
  await pool.run(async sql => {
    const id = (await members.inviteMember(sql, acting, { email: 'new@b', role: 'viewer', link: link() })) as number
    await addUserRow(sql, { email: 'new@b', name: '', accountId: others, role: 'viewer' })
    t.equal(await members.linkMember(sql, acting, id, link()), false)
    t.equal(await members.linkMember(sql, acting, (await findUser(sql, 'stranger@b'))!.id, link()), false)
    t.equal(await members.linkMember(sql, acting, 1_000_000, link()), false)
  })
})

t.test('roles change, and the last owner remains an owner', async t => {
  const { pool, own, acting } = await setUp(t)
  await pool.run(async sql => {
    const id = (await members.inviteMember(sql, acting, { email: 'new@b', role: 'viewer', link: link() })) as number
    t.equal(await members.setRole(sql, acting, acting.by, 'member'), 'last')
    t.equal(await members.removeMember(sql, acting, acting.by), 'last')
    t.equal(await members.setRole(sql, acting, acting.by, 'owner'), 'done', 'which changes nothing')
    t.equal(await members.setRole(sql, acting, id, 'owner'), 'done')
    t.equal(await members.setRole(sql, acting, acting.by, 'member'), 'done')
    t.equal(await members.setRole(sql, acting, 1_000_000, 'member'), 'missing')
    t.equal(await members.removeMember(sql, acting, 1_000_000), 'missing')
    t.equal(await members.removeMember(sql, acting, acting.by), 'done')
    t.match(await members.listMembers(sql, own), [{ id, role: 'owner' }])
  })
})

t.test('of two owners who leave concurrently, one stays', async t => {
  const { pool, own, acting } = await setUp(t)
  for (let round = 0; round < 5; round++) {
    const id = await pool.run(async sql => {
      await addUserRow(sql, { email: `other-${round}@b`, name: '', accountId: own, role: 'owner' })
      await addUserRow(sql, { email: 'owner@b', name: '', accountId: own, role: 'owner' })
      return (await findUser(sql, `other-${round}@b`))!.id
    })
    const changes = await Promise.all(
      [acting.by, id].map(userId => pool.run(sql => members.removeMember(sql, acting, userId)))
    )
    t.same(changes.toSorted(), ['done', 'last'])
    await pool.run(sql => sql`delete from memberships where account_id = ${own}`)
  }
})
