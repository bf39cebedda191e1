import t from 'tap'
import { addMessages, readMessages, sweepMessages } from '../../../../lib/store/trace/messages.ts'
import type { PlacedMessages } from '../../../../lib/trace/span-messages.ts'
import { testDatabase } from '../../../fixtures/database/database.ts'
import { seedProject } from '../../../fixtures/database/seed.ts'

const [TRACE, SPAN, OTHER] = ['a'.repeat(32), 'b'.repeat(16), 'c'.repeat(16)]

const event = (n: number, spanId = SPAN): PlacedMessages => ({
  ...{ traceId: TRACE, spanId, micros: n, place: 0, digest: `${n}`.padStart(32, '0'), input: null, output: null },
  event: `{"name":"event ${n}","timestamp":"2026-11-21T00:00:00.000Z","attributes":{}}`
})
const message = (n: number): PlacedMessages => ({
  ...{ traceId: TRACE, spanId: SPAN, micros: n, place: 0, digest: `${n}`.padStart(32, 'd') },
  ...{ input: '["hi"]', output: null }
})

t.test('a span gets up to 50 events, and any number of messages', async t => {
  const { pool } = await testDatabase(t)
  await pool.run(async sql => {
    const projectId = await seedProject(sql)
    const read = () => readMessages(sql, projectId, [TRACE])
    const events = Array.from({ length: 60 }, (_, i) => event(i))
    await addMessages(sql, projectId, events.slice(0, 30))
    await addMessages(sql, projectId, [...events.slice(30), event(1, OTHER), message(1)])
    const stored = await read()
    t.same(
      stored.filter(({ spanId, event }) => spanId === SPAN && event !== null).map(({ micros }) => micros),
      Array.from({ length: 50 }, (_, i) => i)
    )
    t.equal(stored.length, 52)
    await addMessages(sql, projectId, [...events, message(1)])
    t.same(await read(), stored, 'a resend changes nothing')
  })
})

t.test('messages that wait too long for their span are deleted, and counted by name', async t => {
  const { pool } = await testDatabase(t)
  await pool.run(async sql => {
    const projectId = await seedProject(sql)
    await addMessages(sql, projectId, [event(1), event(2), event(1, OTHER), message(1)])
    t.match(await sweepMessages(sql, 60_000), { leftOut: [] })
    const { leftOut } = await sweepMessages(sql, -1000)
    t.same(
      leftOut.map(each => ({ ...each, counts: Object.fromEntries(each.counts) })),
      [{ projectId, counts: { 'event 1': 2, 'event 2': 1, 'messages of model calls': 1 } }]
    )
    t.same(await readMessages(sql, projectId, [TRACE]), [])
  })
})
