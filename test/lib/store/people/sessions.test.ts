import t, { type Test } from 'tap'
import { createAccount } from '../../../../lib/admin/accounts.ts'
import { addUser } from '../../../../lib/admin/people.ts'
import { createProject } from '../../../../lib/admin/projects.ts'
import { digestToken, makeToken } from '../../../../lib/people/tokens.ts'
import { countAttempt } from '../../../../lib/store/people/attempts.ts'
import * as sessions from '../../../../lib/store/people/sessions.ts'
import { insertLink, setPassword, signInByLink, signInByPassword } from '../../../../lib/store/people/sessions.ts'
import { testDatabase } from '../../../fixtures/database/database.ts'

const digest = (token = makeToken()) => digestToken(token)!
const newSession = (more: Partial<sessions.NewSession> = {}) => ({
  digest: digest(),
  agent: 'a',
  replaces: undefined,
  ...more
})

/** Creates two users of one account, each with a session. */
async function setUp(t: Test) {
  const { pool } = await testDatabase(t)
  return pool.run(async sql => {
    await createAccount(sql, 'owner', 'owner')
    await createProject(sql, 1000, { name: 'one' })
    const made = []
    for (const email of ['ada@example.com', 'bob@example.com']) {
      const userId = Number((await addUser(sql, { email, role: 'viewer' })).id)
      const [link, session] = [digest(), newSession()]
      await insertLink(sql, userId, link, null)
      t.equal(await signInByLink(sql, link, session), userId)
      made.push({ userId, email, session: session.digest })
    }
    return { pool, ada: made[0]!, bob: made[1]! }
  })
}

t.test('several visits are read at once, each with its role in the requested project', async t => {
  const { pool, ada, bob } = await setUp(t)
  const ask = (more: Partial<sessions.Visiting>) => ({ digest: null, email: null, slug: null, ...more })
  const rows = await pool.run(sql =>
    sessions.readVisits(sql, [
      ask({ digest: ada.session, slug: 'one' }),
      ask({ digest: digest(), slug: 'one' }),
      ask({ email: 'bob@example.com', slug: 'nowhere' }),
      ask({ email: 'nobody@example.com' }),
      ask({ digest: ada.session, slug: 'one' })
    ])
  )
  const known = { userId: ada.userId, email: ada.email, hasPassword: false, projectId: 1, accountId: 1, role: 'viewer' }
  t.match(
    rows.toSorted((a, b) => a.place - b.place),
    [
      { place: 1, ...known, seenAt: String, expiresAt: String },
      { place: 3, userId: bob.userId, seenAt: null, projectId: null, role: null },
      { place: 5, ...known }
    ]
  )
  t.equal(rows.length, 3)
})

t.test('a sign-in whose response was lost is found again, without a second session', async t => {
  const { pool, ada } = await setUp(t)
  await pool.run(async sql => {
    const [link, session] = [digest(), newSession()]
    await insertLink(sql, ada.userId, link, null)
    t.equal(await signInByLink(sql, link, session), ada.userId)
    t.equal(await signInByLink(sql, link, session, { sent: true }), ada.userId, 'the earlier attempt stored it')
    t.equal(await signInByLink(sql, link, newSession(), { sent: true }), undefined)
    const proven = { userId: ada.userId, password: 'stored', own: 's', network: 'n', factor: undefined }
    await setPassword(sql, ada.userId, 'stored', { by: null })
    const other = newSession()
    t.equal(await signInByPassword(sql, proven, other), ada.userId)
    t.equal(await signInByPassword(sql, proven, other, { sent: true }), ada.userId)
    t.equal((await sessions.listWebSessions(sql, ada.userId)).length, 1)
    t.equal(await signInByPassword(sql, { ...proven, password: 'changed meanwhile' }, newSession()), undefined)
  })
})

t.test("a session replaces the same browser's earlier one, and the agent is truncated", async t => {
  const { pool, ada, bob } = await setUp(t)
  await pool.run(async sql => {
    const link = digest()
    await insertLink(sql, ada.userId, link, null)
    await signInByLink(sql, link, newSession({ replaces: bob.session, agent: 'x'.repeat(1000) }))
    t.equal(await sessions.userOfAttempt(sql, newSession({ digest: bob.session }), { sent: true }), undefined)
    t.same((await sessions.listWebSessions(sql, ada.userId)).map(({ agent }) => agent.length).sort(), [1, 200])
    t.equal(await sessions.endSession(sql, bob.userId, ada.session), false, "nobody else's session ends")
    t.equal(await sessions.endSession(sql, ada.userId, ada.session), true)
    t.equal(await sessions.endAllSessions(sql, ada.userId, null), 1)
    t.same(await sessions.countSessions(sql), { users: 2, sessions: 0 })
  })
})

t.test('attempts within a quarter of an hour are counted, by any server', async t => {
  const { pool } = await setUp(t)
  const subjects = [
    { name: 'b', most: 3 },
    { name: 'a', most: 10 }
  ]
  const waits = await Promise.all(Array.from({ length: 6 }, () => pool.run(sql => countAttempt(sql, subjects))))
  t.equal(waits.filter(wait => wait === undefined).length, 3)
  for (const wait of waits) t.ok(wait === undefined || (wait > 890 && wait <= 900))
  await pool.run(async sql => {
    await sql`update sign_in_attempts set until = now()`
    await sql`insert into sign_in_attempts values ('old', 1, now())`
    t.equal(await countAttempt(sql, subjects), undefined, 'the window is over')
    t.same(
      (await sql`select subject, attempts from sign_in_attempts order by 1`).map(row => [row.subject, row.attempts]),
      [
        ['a', 1],
        ['b', 1]
      ],
      'and past attempts are deleted'
    )
  })
})

t.test("a session's expiry is extended when it is used, at most every five minutes", async t => {
  const { pool, ada, bob } = await setUp(t)
  const left = async () =>
    pool.run(async sql => {
      const rows = await sql`
        select round(extract(epoch from expires_at - now()) / 86400)::int as days from web_sessions order by user_id`
      return rows.map(({ days }) => days)
    })
  const touch = () => pool.run(sql => sessions.touchSessions(sql, [bob.session, ada.session, digest()]))
  await pool.run(sql => sql`update web_sessions set expires_at = now() + interval '1 day'`)
  await touch()
  t.same(await left(), [1, 1])
  await pool.run(sql => sql`update web_sessions set seen_at = now() - interval '5 minutes'`)
  await pool.run(
    sql => sql`update web_sessions set created_at = now() - interval '89 days' where user_id = ${bob.userId}`
  )
  await touch()
  t.same(await left(), [30, 1], 'it ends 90 days after it began')
})
