/** Tests users created on the command line, and the link that a server prints at its start. */
import t from 'tap'
import { testDatabase } from '../fixtures/database/database.ts'
import { FROM_PAGE } from '../fixtures/service/people.ts'
import { configurationFor, jsonHere, runHere, runWith, serve, startSpoor, stop } from '../fixtures/service/spoor.ts'

const PASSWORD = 'correct horse battery'

interface AuditEntry {
  readonly action: string
}

/** Signs in by a link, as the link's page does. Returns the cookie; undefined if the link is rejected. */
async function open(link: string): Promise<string | undefined> {
  const [address, token] = link.split('#')
  const way = address!.replace(/sign-in$/, 'api/sign-in/link')
  const response = await fetch(way, { method: 'POST', headers: FROM_PAGE, body: JSON.stringify({ token }) })
  return response.status === 204 ? response.headers.get('set-cookie')!.split(';')[0] : undefined
}

t.test(
  'the first start prints a sign-in link for its owner, later starts only on a terminal, and the log never contains it',
  async t => {
    const env = configurationFor(await testDatabase(t))
    const first = await startSpoor(t, { ...env, LOG_LEVEL: 'trace' })
    const [, link, token] =
      /^Dashboard: (http:\S+\/app\/sign-in#([\w-]{43})) \(can be used once, and expires after 15 minutes\)$/m.exec(
        first.out
      )!
    const cookie = await open(link!)
    const session = await fetch(`${new URL(link!).origin}/app/api/session`, { headers: { cookie: cookie! } })
    t.match(await session.json(), { user: { email: 'owner' }, projects: [{ slug: 'default', role: 'owner' }] })
    t.equal(await open(link!), undefined, 'once')
    // The server may write its log after it has responded, but has written the entire log when it stops.
    t.equal((await stop(first)).code, 0)
    t.match(first.err, /"path":"\/app\/api\/sign-in\/link"/)
    for (const secret of [token!, cookie!.split('=')[1]!]) t.notOk(first.err.includes(secret))

    const links = async () =>
      (await jsonHere(['audit'], env)).filter(({ action }: AuditEntry) => action === 'link.make').length
    const before = await links()
    for (const settings of [{}, { BASE_URL: 'https://spoor.example' }, { HOST: '0.0.0.0' }]) {
      const later = await startSpoor(t, { ...env, ...settings })
      const said =
        /^Dashboard: https?:\/\/[\w.:]+\/app \(sign in with a link: node build\/bin\/spoor\.js user link EMAIL/m
      t.match(later.out, said, `no link outside a terminal: ${JSON.stringify(settings)}`)
      t.notMatch(later.out + later.err, /sign-in#/)
      t.equal((await stop(later)).code, 0)
    }
    t.equal(await links(), before)
    const off = await serve(t, { ...env, DASHBOARD: 'off' })
    t.equal(off.dashboard, null)
  }
)

t.test('users are added, listed, changed and removed', async t => {
  const env = configurationFor(await testDatabase(t))
  t.match(await runHere(['user', 'list'], env), { out: /^There are no users yet/ })
  t.match(await runHere(['user', 'add', 'a@b.example'], env), { code: 1, err: /no owner account/ })
  const account = await jsonHere(['account', 'create', 'owner'], env)
  const other = await jsonHere(['account', 'create', 'other'], env)
  const ada = await jsonHere(['user', 'add', ' Ada@Example.com', '--role', 'owner', '--name', 'Ada'], env)
  t.match(ada, {
    id: /^\d+$/,
    email: 'ada@example.com',
    name: 'Ada',
    memberships: [{ account: account.id, role: 'owner' }],
    hasPassword: false,
    seenAt: null
  })
  await jsonHere(['user', 'add', 'bob@example.com'], env)
  const added = await jsonHere(['user', 'add', 'bob@example.com', '--account', other.id, '--role', 'viewer'], env)
  const memberships = [
    { account: account.id, role: 'member' },
    { account: other.id, role: 'viewer' }
  ]
  t.match(added, { memberships })
  t.match(await jsonHere(['user', 'list'], env), [ada, added])
  t.match(await runHere(['user', 'list'], env), { out: /EMAIL +NAME[\s\S]*ada@example\.com +Ada +owner of account 1/ })
  t.match(await jsonHere(['user', 'role', 'bob@example.com', 'member', '--account', other.id], env), {
    memberships: [{}, { role: 'member' }]
  })
  const wrong: [string[], RegExp][] = [
    [['add', 'nobody'], /the address must be an e-mail address/],
    [['add', 'a@b', '--role', 'king'], /the role must be one of viewer, member, owner/],
    [['add', 'a@b', '--name', 'a\nb'], /the name must not contain control/]
  ]
  const refused: [string[], RegExp][] = [
    [['add', 'a@b', '--account', '99'], /no account "99"/],
    [['role', 'bob@example.com', 'viewer'], /has 2 accounts: select one with --account/],
    [['role', 'ada@example.com', 'viewer'], /leave an account without an owner/],
    [['role', 'ada@example.com', 'viewer', '--account', other.id], /not a member of account/],
    [['remove', 'ada@example.com'], /leave an account without an owner/],
    [['remove', 'nobody@example.com'], /no user "nobody@example.com": see `spoor user list`/],
    [['link', 'nobody@example.com'], /no user/],
    [['sign-out', 'nobody@example.com'], /no user/]
  ]
  for (const [args, message] of [...wrong, ...refused]) {
    const code = wrong.some(([each]) => each === args) ? 2 : 1
    t.match(await runHere(['user', ...args, '--json'], env), { code, out: '', err: message }, args.join(' '))
  }
  await jsonHere(['user', 'remove', 'bob@example.com', '--account', account.id], env)
  t.match((await jsonHere(['user', 'list'], env))[1], { memberships: [{ account: other.id }] })
  await jsonHere(['user', 'remove', 'bob@example.com'], env)
  t.equal((await jsonHere(['user', 'list'], env)).length, 1)
})

t.test('links, passwords and sign-outs take effect in a running server', async t => {
  const env = configurationFor(await testDatabase(t))
  const { address, dashboard } = await serve(t, env)
  await open(dashboard!)
  const at = { ...env, BASE_URL: address }
  const { link } = await jsonHere(['user', 'link', 'owner'], at)
  t.ok(link.startsWith(`${address}/app/sign-in#`))
  const cookie = (await open(link))!
  const isSignedIn = async () => (await fetch(`${address}/app/api/sessions`, { headers: { cookie } })).status === 200
  t.equal(await isSignedIn(), true)
  t.match(await runHere(['status'], env), { out: /dashboard +1 user, 2 sessions/ })
  t.same(await jsonHere(['user', 'unlink', 'owner'], env), { unlinked: 0 })
  t.equal(await isSignedIn(), true, 'nothing was linked')

  const setPassword = async (text: string) => {
    const { out, err } = await runWith(text, ['user', 'password', 'owner', '--json'], env)
    return out + err
  }
  t.match(await setPassword('short\n'), /the password must have at least 12 characters/)
  t.equal(await isSignedIn(), true)
  t.match(await setPassword(`${PASSWORD}\n`), /"hasPassword":\s*true/)
  while (await isSignedIn()) await new Promise(resolve => setTimeout(resolve, 20))
  const signIn = () =>
    fetch(`${address}/app/api/sign-in/password`, {
      method: 'POST',
      headers: FROM_PAGE,
      body: JSON.stringify({ email: 'owner', password: PASSWORD })
    })
  t.equal((await signIn()).status, 204)
  t.same(await jsonHere(['user', 'sign-out', 'owner'], env), { sessions: 1 })
  t.match(await jsonHere(['user', 'password', 'owner', '--remove'], env), { hasPassword: false })
  t.equal((await signIn()).status, 401)
})
