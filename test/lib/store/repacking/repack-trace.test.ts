import t from 'tap'
import { traceId } from '../../../fixtures/bodies/bodies.ts'
import { testDatabase } from '../../../fixtures/database/database.ts'
import { projectRows } from '../../../fixtures/database/moving.ts'
import { recordTrace, repackAll, runOf, storedTexts } from '../../../fixtures/database/repacking.ts'
import { countOrphans, NO_ORPHANS, seedProject } from '../../../fixtures/database/seed.ts'
import { testWritePath, writer } from '../../../fixtures/database/write-path.ts'

t.test('a run that came in pieces takes hardly more disk than a whole one, once repacked', async t => {
  const database = await testDatabase(t)
  const path = testWritePath(t, database)
  await database.pool.run(async sql => {
    const key = writer({ projectId: await seedProject(sql) })
    for (const variant of [0, 1, 2, 3]) {
      const sizes = new Map<string, number>()
      for (const way of ['whole', 'live', 'otlp'] as const) {
        const id = traceId()
        await recordTrace(path, key, way, runOf(variant, id))
        const before = await storedTexts(sql, key.projectId, id)
        const rows = await projectRows(database, key.projectId)
        const outcomes = await repackAll(sql, key.projectId)
        const after = await storedTexts(sql, key.projectId, id)
        t.same(await projectRows(database, key.projectId), rows, 'and everything is as it was')
        t.equal(outcomes.length, way === 'whole' ? 0 : 1)
        t.same([after.groups, after.plain], [1, 0])
        if (way !== 'whole') t.ok(after.bytes < before.bytes / 2, `${after.bytes} of ${before.bytes} bytes, ${way}`)
        sizes.set(way, after.bytes)
      }
      for (const way of ['live', 'otlp']) {
        const times = sizes.get(way)! / sizes.get('whole')!
        t.ok(times <= 1.3, `${way}: ${times} times the bytes of the whole run`)
      }
    }
    t.same(await countOrphans(sql), NO_ORPHANS)
    t.same(await repackAll(sql, key.projectId), [], 'nothing is left to repack')
  })
})
