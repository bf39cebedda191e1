import t from 'tap'
import { foldDeltas } from '../../../../../lib/store/analytics/rollups/fold.ts'
import { slowestFirst } from '../../../../../lib/store/analytics/usage/duration-order.ts'
import { readMadeUsage } from '../../../../../lib/store/analytics/usage/made-sums.ts'
import { readSummedUsage } from '../../../../../lib/store/analytics/usage/summed.ts'
import { ingestBody } from '../../../../fixtures/bodies/bodies.ts'
import { makeSomeUsage } from '../../../../fixtures/database/usage-sums.ts'
import { testService } from '../../../../fixtures/service/service.ts'

const HOUR = 3_600_000
const DAY = Date.UTC(2026, 10, 21)
const period = { from: DAY, to: DAY + 24 * HOUR, step: 'hour' as const, offset: 0 }

t.test('stored sums are ranked by the 95th percentile of the durations', async t => {
  const { call, database, makeProject, makeKey } = await testService(t)
  const projectId = Number(await makeProject('durations'))
  const { key } = await makeKey({ project: 'durations' })
  const record = async (who: string, hour: number, ms: number) => {
    const at = DAY + hour * HOUR
    const times = { startedAt: new Date(at).toISOString(), endedAt: new Date(at + ms).toISOString() }
    const body = ingestBody({ name: who, userId: who, ...times })
    t.equal((await call('POST', '/api/v1/traces', { key, body })).status, 201)
  }
  // Ada has many fast traces, and bob a few slow ones. Eve is slower than bob in one hour only.
  for (let n = 0; n < 5; n++) await record('ada', 1, 100)
  for (const hour of [1, 2, 2, 2]) await record('bob', hour, 5000)
  await record('eve', 1, 9000)
  await record('eve', 2, 50)
  const read = (field: 'name' | 'user', limit: number, interval: 'none' | 'hour') =>
    database.pool.run(async sql => {
      const asked = { period, interval, limit, sort: 'duration' } as const
      const { rows, others } = await (field === 'name'
        ? readSummedUsage(sql, projectId, { ...asked, field })
        : readMadeUsage(sql, projectId, { ...asked, field }))
      return { rows: rows.map(({ start, key }) => `${start?.slice(11, 13) ?? ''}${key}`), others }
    })
  const check = async (state: string) => {
    for (const field of ['name', 'user'] as const) {
      t.same(await read(field, 9, 'none'), { rows: ['eve', 'bob', 'ada'], others: 0 }, `${field}, ${state}`)
      t.same(await read(field, 1, 'none'), { rows: ['eve', 'null'], others: 2 })
      t.same(await read(field, 2, 'hour'), { rows: ['01eve', '01bob', '01null', '02bob', '02eve'], others: 1 })
    }
  }
  await check('not folded')
  await database.pool.run(async sql => {
    while ((await foldDeltas(sql, projectId, 100)) > 0) {}
    while (await makeSomeUsage(sql, projectId, DAY + 72 * HOUR, 0)) {}
  })
  await check('folded')
})

t.test('groups that are equally slow keep their order', t => {
  const groups = ['b', 'a', 'c'].map(id => ({ id, latency: id === 'c' ? `1${'0'.repeat(12 * 300)}` : '0' }))
  t.same(slowestFirst(groups, 3), ['c', 'b', 'a'])
  t.same(slowestFirst(groups, 1), ['c'])
  t.end()
})
