import assert from 'node:assert/strict'
import t, { type Test } from 'tap'
import { applyBackfill, type BackfillRequest, planBackfill } from '../../../../lib/admin/upkeep/environments.ts'
import { insertKey } from '../../../../lib/store/projects/keys.ts'
import { patchMetadata } from '../../../../lib/store/trace/metadata.ts'
import { type TestDatabase, testDatabase } from '../../../fixtures/database/database.ts'
import { countStrays, NO_STRAYS, seedProject, seedTraces } from '../../../fixtures/database/seed.ts'

const id = (n: number) => n.toString(16).padStart(32, '0')

/**
 * Stores six traces: two from before environments existed, one unassigned, two in `staging`, and one from before
 * environments existed in another project.
 */
async function setUp(t: Test) {
  const database = await testDatabase(t)
  await database.pool.run(async sql => {
    const projectId = await seedProject(sql)
    await sql`update projects set slug = 'default' where id = ${projectId}`
    await seedTraces(sql, projectId, [
      { seq: 1, id: id(1), environment: null, tags: ['nightly'], startedAt: '2026-01-01T00:00:00.000Z' },
      { seq: 2, id: id(2), environment: null, startedAt: '2026-01-02T00:00:00.000Z' },
      { seq: 3, id: id(3), environment: 'unassigned', tags: ['nightly'] },
      { seq: 4, id: id(4), environment: 'staging', tags: ['nightly', 'x'], startedAt: '2026-01-03T00:00:00.000Z' },
      { seq: 5, id: id(5), environment: 'staging' }
    ])
    await sql`update traces set key_id = 'key1' where seq in (2, 4)`
    await seedTraces(sql, await seedProject(sql), [{ seq: 6, id: id(6), environment: null }])
  })
  return database
}

const request = (over: Partial<BackfillRequest> = {}): BackfillRequest => ({
  project: 'default',
  environment: 'production',
  overwrite: false,
  ...over
})

const plan = (database: TestDatabase, over?: Partial<BackfillRequest>) =>
  database.pool.run(sql => planBackfill(sql, request(over)))

const apply = (database: TestDatabase, over?: Partial<BackfillRequest>) =>
  database.pool.run(async sql => (await applyBackfill(sql, await planBackfill(sql, request(over)))).changed)

/** Returns each trace's environment, and checks that the other tables agree. */
const environments = async (database: TestDatabase) => {
  assert.deepEqual(await database.pool.run(countStrays), NO_STRAYS)
  return (await database.pool.run(sql => sql`select environment from traces order by seq`)).map(row => row.environment)
}

t.test('counts the selected and the changing traces, and changes nothing', async t => {
  const database = await setUp(t)
  const cases: [Partial<BackfillRequest>, number, number][] = [
    [{}, 5, 2],
    [{ overwrite: true }, 5, 5],
    [{ environment: 'Staging', overwrite: true }, 5, 3],
    [{ environment: 'unassigned' }, 5, 2],
    [{ environment: 'UNASSIGNED', overwrite: true }, 5, 4],
    [{ tag: 'nightly' }, 3, 1],
    [{ tag: 'nightly', overwrite: true }, 3, 3],
    [{ tag: 'night' }, 0, 0],
    [{ keyId: 'key1' }, 2, 1],
    [{ keyId: 'key1', tag: 'nightly', overwrite: true }, 1, 1],
    [{ from: '2026-01-02T00:00:00.000Z' }, 2, 1],
    [{ from: '2026-01-02T00:00:00.000Z', to: '2026-01-03T00:00:00.000Z' }, 2, 1],
    [{ to: '2026-01-01T00:00:00.000Z', tag: 'nightly' }, 2, 1],
    [{ from: '2026-01-03T00:00:00.000Z', to: '2026-01-02T00:00:00.000Z' }, 0, 0]
  ]
  for (const [over, matched, changing] of cases) {
    t.match(await plan(database, over), { matched, changing }, JSON.stringify(over))
  }
  t.same(
    (await plan(database)).environments.map(({ environment, traces }) => [environment, traces]),
    [
      [null, 2],
      ['staging', 2],
      ['unassigned', 1]
    ]
  )
  t.same(await environments(database), [null, null, 'unassigned', 'staging', 'staging', null])
})

t.test('changes only traces without a recorded environment; with overwrite, all selected traces', async t => {
  const database = await setUp(t)
  t.equal(await apply(database, { keyId: 'key1' }), 1)
  t.same(await environments(database), [null, 'production', 'unassigned', 'staging', 'staging', null])
  t.equal(await apply(database, { environment: 'unassigned' }), 1)
  t.equal(await apply(database), 0, 'unassigned counts as recorded')
  t.same(await environments(database), ['unassigned', 'production', 'unassigned', 'staging', 'staging', null])
  t.equal(await apply(database, { tag: 'nightly', environment: 'staging', overwrite: true }), 2)
  t.same(await environments(database), ['staging', 'production', 'staging', 'staging', 'staging', null])
})

t.test('reports how many of the changed traces were selected by then', async t => {
  const database = await setUp(t)
  const tagged = (seq: number) => database.pool.run(sql => sql`update traces set tags = '{late}' where seq = ${seq}`)
  await tagged(2)
  await tagged(4)
  const planned = await plan(database, { tag: 'late' })
  t.match(planned, { matched: 2, changing: 1 })
  await tagged(1)
  t.same(await database.pool.run(sql => applyBackfill(sql, planned)), { matched: 3, changed: 2 })
  t.same(await database.pool.run(async sql => applyBackfill(sql, await planBackfill(sql, request({ tag: 'late' })))), {
    matched: 3,
    changed: 0
  })
})

t.test('works in batches, stops between two batches on request, and continues when run again', async t => {
  const database = await testDatabase(t)
  await database.pool.run(async sql => {
    const projectId = await seedProject(sql)
    await sql`update projects set slug = 'default'`
    const traces = Array.from({ length: 1800 }, (_, n) => ({
      seq: 10 + 3 * n,
      environment: n % 3 === 0 ? 'staging' : null
    }))
    await seedTraces(sql, projectId, traces)
  })
  const controller = new AbortController()
  const progress: number[] = []
  const onProgress = (changed: number) => {
    progress.push(changed)
    if (progress.length === 2) controller.abort()
  }
  const planned = await plan(database)
  t.match(planned, { matched: 1800, changing: 1200 })
  await t.rejects(
    database.pool.run(sql => applyBackfill(sql, planned, { onProgress, signal: controller.signal })),
    {
      name: 'AdminError',
      message: /^interrupted: 66\d of 1200 traces changed; run the command again to continue$/
    }
  )
  const [audit] = await database.pool.run(sql => sql`select detail from audit where action = 'environment.backfill'`)
  t.match(JSON.parse(audit!.detail), { planned: 1200, traces: progress[1] }, 'the planned and the actual number')
  t.match(await plan(database), { matched: 1800, changing: 1200 - progress[1]! })
  t.equal(await apply(database), 1200 - progress[1]!)
  const found = await environments(database)
  t.equal(found.filter(each => each === 'production').length, 1200)
  t.equal(found.filter(each => each === 'staging').length, 600)
})

t.test('loses no concurrent change', async t => {
  const database = await testDatabase(t)
  const { projectId, ids } = await database.pool.run(async sql => {
    const projectId = await seedProject(sql)
    await sql`update projects set slug = 'default'`
    const ids = Array.from({ length: 1200 }, (_, n) => id(n))
    await seedTraces(
      sql,
      projectId,
      ids.map((id, n) => ({ seq: n + 1, id, environment: null }))
    )
    return { projectId, ids }
  })
  const patched = ids.filter((_, n) => n % 10 === 0).reverse()
  const patching = Promise.all(
    patched.map(id => database.sqlAccess.write(sql => patchMetadata(sql, projectId, id, '{"patched":true}')))
  )
  t.equal(await apply(database), 1200)
  t.ok((await patching).every(result => result?.changed))
  const rows = await database.pool.run(sql => sql`select environment, metadata from traces`)
  t.equal(rows.filter(row => row.environment === 'production').length, 1200)
  t.equal(rows.filter(row => row.metadata === '{"patched":true}').length, patched.length)
})

t.test('rejects unknown values', async t => {
  const database = await setUp(t)
  const refused: [Partial<BackfillRequest>, RegExp][] = [
    [{ project: 'nowhere' }, /no project "nowhere"/],
    [{ environment: 'all' }, /'all' is reserved/],
    [{ environment: 'a b' }, /must be 1 to 32/],
    [{ keyId: 'key9' }, /project default has no key "key9", and no traces were recorded with it: see `spoor key list/]
  ]
  for (const [over, message] of refused) await t.rejects(plan(database, over), { message }, JSON.stringify(over))
  t.match(await plan(database, { keyId: 'key1', tag: 'nothing' }), { matched: 0 }, 'a key that only occurs in traces')
  await database.pool.run(async sql => {
    const key = { digest: Buffer.alloc(32), label: '', scopes: [], environment: null, expiresInDays: null }
    const [project] = await sql<{ id: number }[]>`select id from projects where slug = 'default'`
    await insertKey(sql, { ...key, id: 'key9', projectId: project!.id })
  })
  t.match(await plan(database, { keyId: 'key9' }), { matched: 0, changing: 0 }, 'a key that has recorded nothing')
})
