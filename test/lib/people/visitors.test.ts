/** Tests that a server caches the users whose sessions it has looked up. */
import t, { type Test } from 'tap'
import { createAccount } from '../../../lib/admin/accounts.ts'
import { addUser } from '../../../lib/admin/people.ts'
import { createProject } from '../../../lib/admin/projects.ts'
import { createLog } from '../../../lib/log.ts'
import { digestToken, makeToken } from '../../../lib/people/tokens.ts'
import { Visitors } from '../../../lib/people/visitors.ts'
import { endAllSessions, insertLink, signInByLink } from '../../../lib/store/people/sessions.ts'
import { testDatabase } from '../../fixtures/database/database.ts'

/**
 * Creates an account with the project `one` and a member with a session. Also returns the number of statements that
 * looked up people.
 */
async function setUp(t: Test) {
  const database = await testDatabase(t)
  const [token, link] = [makeToken(), makeToken()]
  const userId = await database.pool.run(async sql => {
    await createAccount(sql, 'owner', 'owner')
    await createProject(sql, 1000, { name: 'one' })
    const { id } = await addUser(sql, { email: 'ada@example.com', role: 'member' })
    await insertLink(sql, Number(id), digestToken(link)!, null)
    const session = { digest: digestToken(token)!, agent: '', replaces: undefined }
    return (await signInByLink(sql, digestToken(link)!, session))!
  })
  let reads = 0
  const { sqlAccess } = database
  const sql: typeof sqlAccess = {
    ...sqlAccess,
    read(work) {
      reads++
      return sqlAccess.read(work)
    }
  }
  const visitors = new Visitors({ sql, log: createLog('silent'), roleOfUnknown: undefined })
  return { database, visitors, token, userId, reads: () => reads }
}

t.test('a session is looked up once, until it is discarded', async t => {
  const { database, visitors, token, userId, reads } = await setUp(t)
  const find = (slug?: string) => visitors.find({ token, vouched: undefined }, slug)
  const visit = await find('one')
  t.match(visit, { visitor: { userId, email: 'ada@example.com' }, project: { id: 1, accountId: 1, role: 'member' } })
  t.equal(await find('one'), visit)
  t.equal(reads(), 1)
  t.match(await find(), { visitor: { userId }, project: undefined })
  t.match(await find('nowhere'), { visitor: { userId }, project: undefined })
  t.match(await find('a\u0000'), { visitor: { userId }, project: undefined })
  await database.pool.run(sql => endAllSessions(sql, userId, null))
  t.equal(await find('one'), visit, 'a server without the notification learns of it within 5 s')
  visitors.forget()
  t.equal(await find('one'), undefined)
})

t.test('requests during a look-up share the next one', async t => {
  const { visitors, token, userId, reads } = await setUp(t)
  const tokens = Array.from({ length: 200 }, (_, i) => (i % 10 === 0 ? token : makeToken()))
  const found = await Promise.all(tokens.map(each => visitors.find({ token: each, vouched: undefined }, 'one')))
  t.same(
    found.map(visit => visit?.visitor.userId),
    tokens.map(each => (each === token ? userId : undefined))
  )
  t.equal(reads(), 2, 'the first alone, then the others')
  for (const none of [undefined, '', 'x', `${token}x`])
    t.equal(await visitors.find({ token: none, vouched: undefined }, 'one'), undefined)
  t.equal(reads(), 2, 'a text without the form of a token is not looked up')
})

t.test('a visit that was read before a change is not remembered after it', async t => {
  const { database, visitors, token, userId } = await setUp(t)
  const asked = visitors.find({ token, vouched: undefined }, 'one')
  visitors.forget()
  t.match(await asked, { visitor: { userId } })
  await database.pool.run(sql => sql`update memberships set role = 'viewer'`)
  t.match(await visitors.find({ token, vouched: undefined }, 'one'), { project: { role: 'viewer' } })
})
