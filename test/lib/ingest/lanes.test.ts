/** Tests which operations form a batch, and when another lane takes them. */
import t, { type Test } from 'tap'
import { Lanes } from '../../../lib/ingest/lanes.ts'
import { createLog } from '../../../lib/log.ts'
import { KnownFloors } from '../../../lib/store/rankings/known-floors.ts'
import { ingestBody } from '../../fixtures/bodies/bodies.ts'
import { testDatabase } from '../../fixtures/database/database.ts'
import { seedProject } from '../../fixtures/database/seed.ts'
import { until } from '../../fixtures/until.ts'
import { makePending } from './make-pending.ts'

async function setUp(t: Test, count: number) {
  const database = await testDatabase(t)
  const projectId = await database.pool.run(seedProject)
  const batches: number[] = []
  const options = { count, floors: new KnownFloors(), log: createLog('silent') }
  const lanes = new Lanes(database, { ...options, onBatch: batch => void batches.push(batch.length) })
  t.teardown(() => lanes.close())
  const answers: unknown[] = []
  const add = (...bodies: ReturnType<typeof ingestBody>[]) => {
    for (const body of bodies) {
      const { pending, answer } = makePending(projectId, 'record', body.trace.id, body, pending => {
        answers.push(answer())
        lanes.release(pending)
      })
      lanes.add(pending)
    }
  }
  /** Runs `work` while inserts of traces wait for a lock. `waiting` resolves when `count` inserts wait. */
  const whileLocked = (work: (waiting: (count: number) => Promise<void>) => Promise<void>) =>
    database.pool.run(sql =>
      sql.begin(async sql => {
        await sql`lock table traces in share mode`
        await work(count =>
          until(async () => {
            const [row] = await sql<{ count: number }[]>`
              select count(*)::int as count from pg_locks where not granted and relation = 'traces'::regclass`
            return row?.count === count
          })
        )
      })
    )
  return { lanes, batches, answers, add, whileLocked }
}
const some = (count: number) => Array.from({ length: count }, () => ingestBody())

t.test('operations that arrive together form a batch, and those that arrive during it form the next', async t => {
  const { lanes, batches, answers, add, whileLocked } = await setUp(t, 1)
  await whileLocked(async waiting => {
    add(...some(5))
    await waiting(1)
    add(...some(9))
    add(...some(60))
  })
  await lanes.finish()
  await until(() => batches.length === 3)
  t.strictSame(batches, [5, 64, 5])
  t.match(answers, new Array(74).fill({ type: 'insert' }))
})

t.test('another lane takes many operations at once, and few if the first lane takes long', async t => {
  for (const count of [16, 3]) {
    const { lanes, batches, add, whileLocked } = await setUp(t, 2)
    await whileLocked(async waiting => {
      add(...some(1))
      await waiting(1)
      add(...some(count))
      await waiting(2)
    })
    await lanes.finish()
    // A batch is reported after its operations have been answered.
    await until(() => batches.length === 2)
    t.strictSame(
      batches.sort((a, b) => a - b),
      [1, count]
    )
  }
})

t.test('operations on one trace are never in the same batch', async t => {
  const { lanes, batches, answers, add } = await setUp(t, 2)
  const body = ingestBody()
  add(body, body, { ...body, trace: { ...body.trace, name: 'other' } })
  await lanes.finish()
  await until(() => batches.length === 3)
  t.strictSame(batches, [1, 1, 1])
  t.match(answers, [{ type: 'insert' }, { type: 'duplicate' }, { type: 'refused' }])
})
