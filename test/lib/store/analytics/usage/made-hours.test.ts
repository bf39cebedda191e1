import t from 'tap'
import { foldDeltas } from '../../../../../lib/store/analytics/rollups/fold.ts'
import { findMissingUsage, makeUsage } from '../../../../../lib/store/analytics/usage/made-hours.ts'
import { readMadeUsage } from '../../../../../lib/store/analytics/usage/made-sums.ts'
import { deleteTrace } from '../../../../../lib/store/trace/deletion.ts'
import { ingestBody, span } from '../../../../fixtures/bodies/bodies.ts'
import { testDatabase } from '../../../../fixtures/database/database.ts'
import { seedProject } from '../../../../fixtures/database/seed.ts'
import { foldLikeOldServer, makeSomeUsage } from '../../../../fixtures/database/usage-sums.ts'
import { bytes, testWritePath, writer } from '../../../../fixtures/database/write-path.ts'

const database = await testDatabase(t)
const path = testWritePath(t, database)
const HOUR = 3_600_000
const DAY = Date.UTC(2026, 10, 21)
const NOW = DAY + 72 * HOUR

async function record(projectId: number, hour: number, more: object = {}): Promise<string> {
  const times = {
    startedAt: new Date(DAY + hour * HOUR).toISOString(),
    endedAt: new Date(DAY + hour * HOUR + 1).toISOString()
  }
  const body = ingestBody({ ...times, ...more, spans: [span({ kind: 'tool', name: 'search', ...times })] })
  await path.record(writer({ projectId }), bytes(body))
  return body.trace.id
}

t.test('changes folded by a server of the previous version are in the sums after the next round', async t => {
  await database.pool.run(async sql => {
    const projectId = await seedProject(sql)
    const make = async () => {
      while (await makeSomeUsage(sql, projectId, NOW, 0)) {}
    }
    // Traces are not read one by one, so every number comes from stored sums.
    const read = async (interval: 'none' | 'hour' = 'none') => {
      const period = { from: DAY, to: DAY + 24 * HOUR, step: 'hour' as const, offset: 0 }
      const { rows, from, to } = await readMadeUsage(sql, projectId, { period, interval, field: 'user', limit: 5 }, 0)
      return { traces: rows.map(({ key, traces }) => [key, traces]), isWhole: from === DAY && to === DAY + 24 * HOUR }
    }
    const first = await record(projectId, 3, { userId: 'ann' })
    const other = await record(projectId, 5, { userId: 'ann' })
    await foldDeltas(sql, projectId, 100)
    await make()
    t.same(await read(), { traces: [['ann', 2]], isWhole: true })

    await record(projectId, 3, { userId: 'ann' })
    t.equal(await foldLikeOldServer(sql, projectId, 100), 1)
    t.match(await read(), { isWhole: false }, 'the hour and the day are not read from stale sums')
    await make()
    t.same(await read(), { traces: [['ann', 3]], isWhole: true })
    t.same((await read('hour')).traces, [
      ['ann', 2],
      ['ann', 1]
    ])

    await deleteTrace(sql, projectId, first)
    await record(projectId, 3, { userId: 'bob' })
    await foldLikeOldServer(sql, projectId, 100)
    await make()
    t.same((await read()).traces.sort(), [
      ['ann', 2],
      ['bob', 1]
    ])

    await deleteTrace(sql, projectId, other)
    await foldLikeOldServer(sql, projectId, 100)
    await make()
    t.same((await read()).traces.sort(), [
      ['ann', 1],
      ['bob', 1]
    ])
    const [{ rows }] = await sql<[{ rows: number }]>`
      select count(*) as rows from usage_sums
      where project_id = ${projectId} and start = ${new Date(DAY + 5 * HOUR)} and length = 'h'`
    t.equal(rows, 0, 'an hour without traces has no sums')
  })
})

t.test('hours and days take turns, and a sum that became stale after it was found is not computed', async t => {
  await database.pool.run(async sql => {
    const projectId = await seedProject(sql)
    for (let hour = 0; hour < 36; hour++) await record(projectId, hour)
    await foldDeltas(sql, projectId, 1000)
    const hours: number[] = []
    for (;;) {
      const missing = await findMissingUsage(sql, projectId, NOW, 0)
      t.ok(missing !== undefined)
      await makeUsage(sql, projectId, missing!)
      hours.push(missing!.hours.length)
      if (missing!.days.length > 0) break
    }
    t.same(hours, [8, 8, 8], 'the newest day follows as soon as its hours have sums')

    const found = await findMissingUsage(sql, projectId, NOW, 0)
    await record(projectId, (found!.hours[0]! - DAY) / HOUR)
    await makeUsage(sql, projectId, found!)
    const next = await findMissingUsage(sql, projectId, NOW, 0)
    t.notOk(next?.hours.includes(found!.hours[0]!), 'its delta is not folded yet')
    await foldDeltas(sql, projectId, 1000)
    t.equal((await findMissingUsage(sql, projectId, NOW, 0))?.hours[0], found!.hours[0])
  })
})

t.test('sums lie on disk in the order in which they are read', async t => {
  await database.pool.run(async sql => {
    const projectId = await seedProject(sql)
    for (let i = 0; i < 60; i++) await record(projectId, 3, { userId: `user ${(i * i) % 37}` })
    while ((await foldDeltas(sql, projectId, 100)) > 0) {}
    while (await makeSomeUsage(sql, projectId, NOW, 0)) {}
    for (const length of ['h', 'd']) {
      const rows = await sql<{ list: number }[]>`
        select list from usage_sums
        where project_id = ${projectId} and length = ${length} and field = 'user' order by ctid`
      const lists = rows.map(({ list }) => list)
      t.ok(lists.length > 15)
      t.same(
        lists,
        lists.toSorted((a, b) => a - b)
      )
    }
  })
})
