import t from 'tap'
import { SCHEMA_NAMES } from '../../../../../lib/database/tables.ts'
import { readExactUsage } from '../../../../../lib/store/analytics/usage/exact.ts'
import { findMatching } from '../../../../../lib/store/analytics/usage/matching.ts'
import { ingestBody, span } from '../../../../fixtures/bodies/bodies.ts'
import { testDatabase } from '../../../../fixtures/database/database.ts'
import { seedProject } from '../../../../fixtures/database/seed.ts'
import { bytes, testWritePath, writer } from '../../../../fixtures/database/write-path.ts'

t.test('more matching traces, or more of their steps, than the bound are not read one by one', async t => {
  const database = await testDatabase(t)
  const path = testWritePath(t, database)
  await database.pool.run(async sql => {
    const projectId = await seedProject(sql)
    for (let i = 0; i < 6; i++) {
      const spans = [span(), span()]
      await path.record(writer({ projectId }), bytes(ingestBody({ spans, ...(i < 4 && { tags: ['prompt:v1'] }) })))
    }
    const time = { from: Date.UTC(2026, 10, 21), to: Date.UTC(2026, 10, 22), interval: 'none' as const }
    const filters = { tag: 'prompt:v1' }
    const find = (most: number, to = time.to) =>
      findMatching(sql, projectId, { ...time, to, filters }, SCHEMA_NAMES, most)
    t.equal((await find(4))?.length, 4)
    t.equal(await find(3), undefined)
    t.same(await find(4, time.from + 3_600_000), [], 'none started in the first hour')

    const read = (most: { traces: number; steps: number }, field?: 'step' | 'name') => {
      const split = field === undefined ? undefined : { field }
      return readExactUsage(sql, projectId, { ...time, filters, split, limit: 5 }, SCHEMA_NAMES, most)
    }
    t.match(await read({ traces: 4, steps: 1 }), { total: { traces: 4 } })
    t.match(await read({ traces: 4, steps: 1 }, 'name'), { rows: [{ traces: 4 }] })
    t.equal(await read({ traces: 3, steps: 100 }), undefined)
    t.match(await read({ traces: 4, steps: 8 }, 'step'), { rows: [{ traces: 4, steps: 8 }] })
    t.equal(await read({ traces: 4, steps: 7 }, 'step'), undefined)
  })
})
