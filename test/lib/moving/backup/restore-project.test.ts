import t from 'tap'
import { applyProjectDeletion, planProjectDeletion } from '../../../../lib/admin/upkeep/project-deletion.ts'
import {
  backupOf,
  bytesOf,
  fullInstance,
  inPieces,
  instanceRows,
  linesOf,
  restore
} from '../../../fixtures/database/backups.ts'
import { type TestDatabase, testDatabase } from '../../../fixtures/database/database.ts'
import { countOrphans, countStrays, NO_ORPHANS, NO_STRAYS } from '../../../fixtures/database/seed.ts'
import type { TestService } from '../../../fixtures/service/service.ts'

const OPTIONS = { project: { slug: 'default' } }

const remove = ({ database: { pool } }: TestService, slug: string) =>
  pool.run(async sql => applyProjectDeletion(sql, slug, await planProjectDeletion(sql, slug), { settleMs: 0 }))

const slugsIn = async (database: TestDatabase): Promise<string[]> =>
  (await database.pool.run(sql => sql<{ slug: string }[]>`select slug from projects order by slug`)).map(
    row => row.slug
  )

/** Returns the rows of one project, without its id and the rows of the audit log. */
async function rowsOf(database: TestDatabase, slug: string) {
  const { projects, keys, views, prices, traces } = await instanceRows(database)
  const at = projects.findIndex(project => project.slug === slug)
  const own = (rows: readonly Record<string, unknown>[]) =>
    rows.filter(row => row.project_id === projects[at]?.id).map(({ project_id: _, ...row }) => row)
  const { id: __, ...project } = projects[at] as Record<string, unknown>
  return { project, keys: own(keys), views: own(views), prices: own(prices), traces: traces[at] }
}

t.test('a deleted project is restored, and other projects are unchanged', async t => {
  const service = await fullInstance(t)
  const { database, call, key } = service
  const backup = await backupOf(database)
  const before = await rowsOf(database, 'default')
  const others = await rowsOf(database, 'second')
  await remove(service, 'default')
  t.equal((await call('GET', '/api/v1/project', { key })).status, 401)
  const restored = await restore(t, database, backup, OPTIONS)
  t.match(restored, { project: 'default', resumed: false, otherSecret: false, keptKeys: [] })
  t.match(restored.counts, { projects: 1, users: 0, members: 0, acts: 0, authors: 2, messages: 1 })
  t.same(await rowsOf(database, 'default'), before)
  t.same(await rowsOf(database, 'second'), others)
  t.equal((await call('GET', '/api/v1/project', { key })).status, 200, 'its keys work again')
  t.same(await database.pool.run(countStrays), NO_STRAYS)
  t.same(await database.pool.run(countOrphans), NO_ORPHANS)
  const acts = await database.pool.run(
    sql => sql`select action, detail->'project'->>'slug' as slug, project_id is not null as known
      from audit where action like 'restore.%' order by id`
  )
  t.same(
    [...acts],
    ['restore.begin', 'restore.end'].map(action => ({ action, slug: 'default', known: true }))
  )
  // It can be lost and brought back again.
  await remove(service, 'default')
  t.match(await restore(t, database, backup, OPTIONS), { resumed: false })
  t.same(await rowsOf(database, 'default'), before)
})

t.test('an older state is restored next to the project, which keeps its keys', async t => {
  const service = await fullInstance(t)
  const { database, call, key } = service
  const backup = await backupOf(database)
  const before = await instanceRows(database)
  await t.rejects(restore(t, database, backup, OPTIONS), {
    name: 'AdminError',
    message: /default is already used.*--as/
  })
  const as = (slug: string) => ({ project: { slug: 'default', as: slug } })
  await t.rejects(restore(t, database, backup, { project: { slug: 'none' } }), {
    name: 'AdminError',
    message: 'the backup has no project "none": it contains default, second'
  })
  await t.rejects(restore(t, database, backup, { project: { slug: 'default', as: 'old', account: '99' } }), {
    message: /there is no account "99"/
  })
  const { acts: _, ...rows } = await instanceRows(database)
  t.same(rows, (({ acts: __, ...others }) => others)(before), 'a rejected restore changes nothing')
  const { keptKeys, counts } = await restore(t, database, backup, as('old'))
  t.equal(keptKeys?.length, before.keys.filter(({ project_id: id }) => id === 1).length)
  t.equal(counts.keys, 0)
  t.same((await rowsOf(database, 'old')).traces, (await rowsOf(database, 'default')).traces)
  t.equal((await call('GET', '/api/v1/project', { key })).body.slug, 'default')
})

t.test('an interrupted restore lets nobody in, continues, and can be removed', async t => {
  const original = await fullInstance(t)
  const lines = linesOf(await backupOf(original.database))
  const before = await rowsOf(original.database, 'default')
  const cutAt = (part: number) =>
    async function* () {
      yield* inPieces(bytesOf(lines.slice(0, Math.max(12, Math.floor(lines.length * part)))))
      throw new Error('the power went')
    }
  for (const part of [0, 0.2, 0.4, 0.6, 0.8, 1]) {
    await remove(original, 'default')
    await t.rejects(restore(t, original.database, cutAt(part)(), OPTIONS), { message: 'the power went' })
    t.same(await slugsIn(original.database), ['default-restoring', 'second'])
    const keys = await original.database.pool.run(
      sql => sql`select from api_keys k join projects p
      on p.id = k.project_id where p.slug like 'default%'`
    )
    t.equal(keys.length, 0)
    if (part === 0.4) {
      await remove(original, 'default-restoring')
      t.match(await restore(t, original.database, bytesOf(lines), OPTIONS), { resumed: false })
    } else t.match(await restore(t, original.database, bytesOf(lines), OPTIONS), { resumed: true })
    t.same(await rowsOf(original.database, 'default'), before)
  }
})

t.test('in another instance, a project belongs to the oldest owner account, and has no unknown authors', async t => {
  const original = await fullInstance(t)
  const backup = await backupOf(original.database)
  const copy = await testDatabase(t)
  await t.rejects(restore(t, copy, backup, OPTIONS), { message: /no owner account yet/ })
  await copy.pool.run(sql => sql`insert into accounts (name) values ('theirs')`)
  const secret = { ...copy, digestSecret: 'another' }
  await t.rejects(restore(t, secret, backup, OPTIONS), { message: /use --revoke-keys/ })
  const restored = await restore(t, secret, backup, { ...OPTIONS, revokeKeys: true })
  t.match(restored, { project: 'default', otherSecret: false, counts: { authors: 0 } })
  const [row] = await copy.pool.run(
    sql => sql`select (select count(*)::int from users) as users, (select count(*)::int from saved_views) as views,
      (select count(*)::int from scores where author_id is not null) as authors,
      (select count(*)::int from api_keys where revoked_at is null) as keys`
  )
  t.same(row, { users: 0, views: 1, authors: 0, keys: 0 })
  t.equal((await rowsOf(copy, 'default')).project.name, 'default')
})
