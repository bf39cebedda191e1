import t from 'tap'
import { listenForKeyChanges } from '../../../lib/access/key-notices.ts'
import * as accounts from '../../../lib/admin/accounts.ts'
import { addUser, listUsers } from '../../../lib/admin/people.ts'
import * as projects from '../../../lib/admin/projects.ts'
import { testDatabase } from '../../fixtures/database/database.ts'
import { until } from '../../fixtures/until.ts'

const LIMIT_BYTES = 1000

t.test('accounts are listed in the order of creation', async t => {
  const { pool } = await testDatabase(t)
  await pool.run(async sql => {
    t.same(await accounts.listAccounts(sql), [])
    const owner = await accounts.createAccount(sql, 'Müller & Töchter 🚀', 'owner')
    const trial = await accounts.createAccount(sql, 'visitors', 'trial')
    t.match(owner, { id: /^\d+$/, name: 'Müller & Töchter 🚀', kind: 'owner', trialUsed: 0, createdAt: /Z$/ })
    t.same(await accounts.listAccounts(sql), [owner, trial])
  })
})

t.test('a new project has all fields that the API returns', async t => {
  const { pool } = await testDatabase(t)
  await pool.run(async sql => {
    await accounts.createAccount(sql, 'visitors', 'trial')
    const owner = await accounts.createAccount(sql, 'owner', 'owner')
    const project = await projects.createProject(sql, LIMIT_BYTES, { name: 'Support bot' })
    t.match(project, { id: /^\d+$/, createdAt: /Z$/ })
    t.match(project, {
      accountId: owner.id,
      name: 'Support bot',
      slug: 'support-bot',
      description: '',
      traceCount: 0,
      spanCount: 0,
      estimatedBytes: 0,
      lastTraceAt: null,
      storage: { limitBytes: LIMIT_BYTES, level: 'ok' }
    })
    t.same(await projects.listProjects(sql, LIMIT_BYTES), [project])
  })
})

t.test('explicit values override the defaults', async t => {
  const { pool } = await testDatabase(t)
  await pool.run(async sql => {
    await accounts.createAccount(sql, 'owner', 'owner')
    const trial = await accounts.createAccount(sql, 'visitors', 'trial')
    const request = {
      name: 'Evals',
      slug: 'nightly_evals',
      description: 'What runs at night',
      accountId: trial.id,
      storageLimitBytes: 5_000_000_000_000
    }
    t.match(await projects.createProject(sql, LIMIT_BYTES, request), {
      slug: 'nightly_evals',
      description: 'What runs at night',
      accountId: trial.id,
      storage: { limitBytes: 5_000_000_000_000 }
    })
  })
})

t.test('a slug is derived from the letters and digits of the name', async t => {
  const { pool } = await testDatabase(t)
  const slugs = {
    'Köln Süd, 2': 'koln-sud-2',
    '  A  b ': 'a-b',
    ﬁne: 'fine',
    ['x'.repeat(80)]: 'x'.repeat(64),
    東京: 'project-130016b2',
    '!': 'project-bb7208bc'
  }
  await pool.run(async sql => {
    await accounts.createAccount(sql, 'owner', 'owner')
    for (const [name, slug] of Object.entries(slugs)) {
      t.equal((await projects.createProject(sql, LIMIT_BYTES, { name })).slug, slug, name)
    }
  })
})

t.test('an invalid project is rejected in a sentence', async t => {
  const { pool } = await testDatabase(t)
  await pool.run(async sql => {
    await t.rejects(projects.createProject(sql, LIMIT_BYTES, { name: 'A' }), /no owner account/)
    await accounts.createAccount(sql, 'owner', 'owner')
    await projects.createProject(sql, LIMIT_BYTES, { name: 'Taken' })
    const refused: [projects.ProjectRequest, RegExp][] = [
      [{ name: '' }, /the name must not be empty/],
      [{ name: 'x'.repeat(201) }, /the name must have at most 200 characters/],
      [{ name: 'two\nlines' }, /the name must not contain control characters/],
      [{ name: 'nul\0' }, /the name must not contain control characters/],
      [{ name: 'A', slug: 'Upper' }, /the slug must/],
      [{ name: 'A', slug: '' }, /the slug must/],
      [{ name: 'A', slug: 'x'.repeat(65) }, /the slug must/],
      [{ name: 'taken' }, /the slug taken is already used/],
      [{ name: 'A', accountId: '4711' }, /no account "4711"/],
      [{ name: 'A', accountId: 'first' }, /no account "first"/],
      [{ name: 'A', description: 'x'.repeat(2001) }, /the description must have at most/]
    ]
    for (const [request, message] of refused) {
      await t.rejects(projects.createProject(sql, LIMIT_BYTES, request), { name: 'AdminError', message })
    }
    t.equal((await projects.listProjects(sql, LIMIT_BYTES)).length, 1)
  })
})

t.test('totals are the sum of the slots, and the level follows the limit', async t => {
  const { pool } = await testDatabase(t)
  await pool.run(async sql => {
    await accounts.createAccount(sql, 'owner', 'owner')
    const { id } = await projects.createProject(sql, LIMIT_BYTES, { name: 'A' })
    const levels: [number, string][] = [
      [799, 'ok'],
      [800, 'warning'],
      [949, 'warning'],
      [950, 'critical'],
      [2000, 'critical']
    ]
    for (const [bytes, level] of levels) {
      await sql`delete from project_totals`
      await sql`insert into project_totals values (${id}, 0, -1, 3, ${bytes + 50}), (${id}, 1, 6, 9, -50)`
      const [project] = await projects.listProjects(sql, LIMIT_BYTES)
      t.match(project, { traceCount: 5, spanCount: 12, estimatedBytes: bytes, storage: { level } })
    }
  })
})

t.test('a project can be changed, and fields that are not named stay', async t => {
  const { pool } = await testDatabase(t)
  await pool.run(async sql => {
    await accounts.createAccount(sql, 'owner', 'owner')
    const other = await accounts.createAccount(sql, 'other', 'owner')
    const made = await projects.createProject(sql, LIMIT_BYTES, { name: 'A', description: 'D', storageLimitBytes: 5 })
    await projects.createProject(sql, LIMIT_BYTES, { name: 'B' })
    const update = (slug: string, changes: projects.ProjectUpdate) =>
      projects.updateProject(sql, LIMIT_BYTES, slug, changes)
    t.same(await update('a', { name: 'Z' }), { ...made, name: 'Z' })
    t.match(await update('a', { slug: 'z', description: '', accountId: other.id }), {
      ...{ id: made.id, name: 'Z', slug: 'z', description: '', accountId: other.id, storage: { limitBytes: 5 } }
    })
    t.match(await update('z', { storageLimitBytes: null }), { storage: { limitBytes: LIMIT_BYTES } })
    t.match(await update('z', { storageLimitBytes: 7 }), { storage: { limitBytes: 7 } })
    await t.rejects(update('z', {}), /at least one change/)
    await t.rejects(update('z', { slug: 'b' }), /the slug b is already used/)
    await t.rejects(update('z', { slug: 'B' }), /the slug must be/)
    await t.rejects(update('z', { name: '' }), /the name must not be empty/)
    await t.rejects(update('z', { accountId: '99' }), /no account "99"/)
    await t.rejects(update('a', { name: 'A' }), /no project "a"/)
    const entries = await sql`select action, project_id from audit where action = 'project.update'`
    t.same(entries, Array(4).fill({ action: 'project.update', project_id: Number(made.id) }))
  })
})

t.test('servers are notified of a changed project, because they cache its account', async t => {
  const database = await testDatabase(t)
  let heard = 0
  const notices = listenForKeyChanges(
    database,
    () => heard++,
    () => {}
  )
  t.teardown(() => notices.close())
  await database.pool.run(sql => accounts.createAccount(sql, 'owner', 'owner'))
  await database.pool.run(sql => projects.createProject(sql, LIMIT_BYTES, { name: 'A' }))
  await until(() => heard === 1)
  await database.pool.run(sql => projects.updateProject(sql, LIMIT_BYTES, 'a', { name: 'B' }))
  await until(() => heard === 2)
  t.pass()
})

t.test('an account is renamed, and deleted when it has no projects', async t => {
  const { pool } = await testDatabase(t)
  await pool.run(async sql => {
    const owner = await accounts.createAccount(sql, 'owner', 'owner')
    t.same(await accounts.renameAccount(sql, owner.id, 'Research'), { ...owner, name: 'Research' })
    await projects.createProject(sql, LIMIT_BYTES, { name: 'A' })
    await t.rejects(accounts.deleteAccount(sql, owner.id), /has projects/)
    await t.rejects(accounts.renameAccount(sql, owner.id, ''), /the name must not be empty/)
    await t.rejects(accounts.renameAccount(sql, '99', 'x'), /no account "99"/)
    const other = await accounts.createAccount(sql, 'other', 'owner')
    await addUser(sql, { email: 'ada@example.com', accountId: other.id })
    t.same(await accounts.deleteAccount(sql, other.id), other)
    t.same(await accounts.listAccounts(sql), [{ ...owner, name: 'Research' }])
    t.match(await listUsers(sql), [{ email: 'ada@example.com', memberships: [] }])
    const entries = await sql`select action from audit where action in ('account.rename', 'account.delete') order by id`
    t.same(
      entries.map(({ action }) => action),
      ['account.rename', 'account.delete']
    )
  })
})
