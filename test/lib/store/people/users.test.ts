import t, { type Test } from 'tap'
import { createAccount } from '../../../../lib/admin/accounts.ts'
import { createProject } from '../../../../lib/admin/projects.ts'
import { digestToken, makeToken } from '../../../../lib/people/tokens.ts'
import { insertLink, setPassword } from '../../../../lib/store/people/sessions.ts'
import * as users from '../../../../lib/store/people/users.ts'
import { testDatabase } from '../../../fixtures/database/database.ts'

/** Creates two accounts with a project each. */
async function setUp(t: Test) {
  const { pool } = await testDatabase(t)
  const accounts = await pool.run(async sql => {
    const made = [await createAccount(sql, 'trial', 'trial'), await createAccount(sql, 'owner', 'owner')]
    for (const { id, name } of made) await createProject(sql, 1000, { name, accountId: id })
    return made.map(({ id }) => Number(id))
  })
  return { pool, trial: accounts[0]!, owner: accounts[1]! }
}

const plain = { name: '', role: 'viewer' } as const

t.test('the first user owns the oldest owner account, and is created once', async t => {
  const { pool, owner } = await setUp(t)
  await Promise.all(Array.from({ length: 4 }, () => pool.run(sql => users.insertFirstUser(sql, 'owner'))))
  await pool.run(async sql => {
    const [first, ...others] = await users.readAllUsers(sql)
    t.match(first, { email: 'owner', memberships: `[{"account" : "${owner}", "role" : "owner"}]` })
    t.same(others, [])
    t.equal(await users.findOperator(sql, 'owner'), first!.id)
    t.equal(await users.findOperator(sql, 'nobody'), first!.id, 'or else the oldest owner')
    await users.insertFirstUser(sql, 'second')
    t.equal((await users.readAllUsers(sql)).length, 1)
    await sql`update memberships set role = 'viewer'`
    t.equal(await users.findOperator(sql, 'owner'), undefined)
  })
})

t.test('without an owner account, there is no first user', async t => {
  const { pool } = await testDatabase(t)
  await pool.run(async sql => {
    await users.insertFirstUser(sql, 'owner')
    t.equal(await users.hasUsers(sql), false)
    await users.insertVouchedUser(sql, 'a@b', 'viewer')
    t.equal(await users.hasUsers(sql), false)
  })
})

t.test('a user who is added to a second account is signed out, and loses their password', async t => {
  const { pool, trial, owner } = await setUp(t)
  await pool.run(async sql => {
    const add = (accountId: number, more = {}) => users.addUserRow(sql, { email: 'a@b', accountId, ...plain, ...more })
    await add(owner, { name: 'Ada' })
    const { id } = (await users.findUser(sql, 'a@b'))!
    await setPassword(sql, id, 'stored', { by: null })
    await insertLink(sql, id, digestToken(makeToken())!, null)
    await add(owner, { role: 'member' })
    const known = { name: 'Ada', hasPassword: true, memberships: `[{"account" : "${owner}", "role" : "member"}]` }
    t.match(await users.findUser(sql, 'a@b'), known, 'the same account: another role')
    await insertLink(sql, id, digestToken(makeToken())!, null)
    await add(trial)
    t.match(await users.findUser(sql, 'a@b'), { name: 'Ada', hasPassword: false })
    t.same([...(await sql`select from sign_in_links`)], [])
    t.match(await users.listSeenProjects(sql, id), [
      { slug: 'trial', role: 'viewer' },
      { slug: 'owner', role: 'member' }
    ])
  })
})

t.test('a user is removed with all their data, except for the last owner', async t => {
  const { pool, owner } = await setUp(t)
  const add = (email: string) =>
    pool.run(sql => users.addUserRow(sql, { email, name: '', accountId: owner, role: 'owner' }))
  await add('a@b')
  await add('c@d')
  const all = await pool.run(sql => users.readAllUsers(sql))
  await pool.run(sql => insertLink(sql, all[0]!.id, digestToken(makeToken())!, null))
  const gone = await Promise.all(all.map(({ id, email }) => pool.run(sql => users.deleteUser(sql, id, email))))
  t.same(gone.toSorted(), [false, true], 'of two concurrent removals, one succeeds')
  await pool.run(async sql => {
    const [left] = await users.readAllUsers(sql)
    t.equal(await users.deleteUser(sql, left!.id, left!.email), false)
    t.equal(await users.deleteUser(sql, 1_000_000, 'nobody'), false)
    const entries = await sql`select action from audit where action = 'user.remove'`
    t.equal(entries.length, 1)
  })
})

t.test('a person authenticated by a proxy is created once, and a known user is unchanged', async t => {
  const { pool, owner } = await setUp(t)
  await pool.run(sql => users.addUserRow(sql, { email: 'a@b', name: '', accountId: owner, role: 'owner' }))
  await Promise.all(
    ['a@b', 'new@b', 'new@b', 'new@b'].map(email => pool.run(sql => users.insertVouchedUser(sql, email, 'viewer')))
  )
  const all = await pool.run(sql => users.readAllUsers(sql))
  t.match(
    all.map(({ email, memberships }) => [email, JSON.parse(memberships)[0].role]),
    [
      ['a@b', 'owner'],
      ['new@b', 'viewer']
    ]
  )
})
