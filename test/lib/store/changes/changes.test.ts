/** Tests positions at the end of the log. test/plugins/changes.test.ts compares the route with a model. */
import t from 'tap'
import { IDS_IN_SQL, NOW, needsFold, readChanges } from '../../../../lib/store/changes/changes.ts'
import { foldChanges } from '../../../../lib/store/changes/fold.ts'
import { noteTraces } from '../../../../lib/store/changes/news.ts'
import { traceId } from '../../../fixtures/bodies/bodies.ts'
import { testDatabase } from '../../../fixtures/database/database.ts'
import { seedProject, seedTraces } from '../../../fixtures/database/seed.ts'

t.test('a read from now on begins after the folded writes', async t => {
  const database = await testDatabase(t)
  await database.pool.run(async sql => {
    const projectId = await seedProject(sql)
    const read = { projectId, limit: 10, text: IDS_IN_SQL, isFolded: true }
    await t.rejects(readChanges(sql, { ...read, after: NOW }), { code: 'unavailable' }, 'there is no log yet')
    t.equal(await needsFold(sql, projectId), true)
    await foldChanges(sql, projectId)
    t.equal(await needsFold(sql, projectId), false)
    const start = await readChanges(sql, { ...read, after: NOW })
    t.match(start, { text: null, next: { in: 'log', place: 0 }, hasMore: false, isLast: true })

    const [first, second] = [traceId(), traceId()]
    await seedTraces(sql, projectId, [{ id: first }, { id: second }])
    const note = async (id: string) => {
      t.same(await noteTraces(sql, projectId, [id]), [])
      t.equal(await foldChanges(sql, projectId), 1)
    }
    await note(first)
    const now = await readChanges(sql, { ...read, after: NOW })
    await note(second)
    const positionOf = (page: typeof start) => ('expired' in page ? undefined : page.next)
    const all = await readChanges(sql, { ...read, after: positionOf(start) })
    t.match(all, { text: `${first},${second}`, isLast: true })
    t.match(await readChanges(sql, { ...read, after: positionOf(now) }), { text: second, isLast: true })

    await noteTraces(sql, projectId, [first])
    t.match(await readChanges(sql, { ...read, after: NOW, isFolded: false }), { isLast: false }, 'a write waits')
  })
})
