import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import type { AuditEntry } from '../../../../lib/store/audit.ts'
import { type DeletionTarget, deleteTargeted, withinBounds } from '../../../../lib/store/trace/bulk-deletion.ts'
import { deleteTrace } from '../../../../lib/store/trace/deletion.ts'
import { testDatabase } from '../../../fixtures/database/database.ts'
import {
  countOrphans,
  countStrays,
  freshId,
  NO_ORPHANS,
  NO_STRAYS,
  seedProject,
  seedTraces
} from '../../../fixtures/database/seed.ts'

t.test('at most one trace exceeds the limit on spans, and the first is never held back', async () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 9 })), fc.integer({ min: 1, max: 20 }), (counts, most) => {
      const traces = counts.map((spanCount, seq) => ({ seq, spanCount }))
      const chosen = withinBounds(traces, most)
      const spans = (list: typeof chosen) => list.reduce((sum, { spanCount }) => sum + spanCount, 0)
      assert.deepEqual(chosen, traces.slice(0, chosen.length))
      assert.ok(chosen.length === 0 || spans(chosen.slice(0, -1)) < most)
      assert.ok(chosen.length === traces.length || spans(chosen) >= most)
    })
  )
})

t.test('deleting the traces of a target', async t => {
  const { pool } = await testDatabase(t)
  await pool.run(async sql => {
    let projectId = 0
    // Seeding traces twice in a project would count the first ones again.
    t.beforeEach(async () => {
      projectId = await seedProject(sql)
    })
    const bounds = { traces: 3, spans: 100 }
    const auditOf = (traceIds: readonly string[]): AuditEntry => ({
      by: null,
      action: 'trace.delete',
      projectId,
      detail: { traces: traceIds.length }
    })
    const remove = (
      target: DeletionTarget,
      attempts = { sent: false },
      progress = { deleted: 0, sent: [] as number[] }
    ) =>
      deleteTargeted(sql, projectId, target, auditOf, attempts, progress, bounds).then(left => [progress.deleted, left])

    await t.test('continues where the previous request ended, in all families of traces', async t => {
      const traces = Array.from({ length: 7 }, (_, i) => ({ userId: 'ada', model: `m${i % 3}`, tags: ['a', 'b'] }))
      await seedTraces(sql, projectId, [...traces, { userId: 'bob' }])
      const target = { userId: 'ada' }
      t.same(
        [await remove(target), await remove(target), await remove(target), await remove(target)],
        [
          [3, 4],
          [3, 1],
          [1, 0],
          [0, 0]
        ]
      )
      t.same(await sql`select user_id as id from traces where project_id = ${projectId}`, [{ id: 'bob' }])
      const entries = await sql`
        select detail->>'traces' as n from audit
        where project_id = ${projectId} and action = 'trace.delete' order by id`
      t.same(
        entries.map(({ n }) => n),
        ['3', '3', '1'],
        'each deletion has an entry'
      )
    })

    await t.test('counts the deletions of an attempt whose response was lost', async t => {
      const ids = [freshId(32), freshId(32), freshId(32)]
      await seedTraces(
        sql,
        projectId,
        ids.map(id => ({ id, sessionId: 'lost' }))
      )
      const rows = await sql<{ seq: number }[]>`
        select seq from traces where project_id = ${projectId} and session_id = 'lost' order by seq`
      const sent = rows.map(({ seq }) => seq)
      const attempts = { sent: true }
      t.same(await remove({ sessionId: 'lost' }, attempts, { deleted: 0, sent }), [3, 0], 'it was not committed')
      t.equal(attempts.sent, false)
      t.same(await remove({ sessionId: 'lost' }, { sent: true }, { deleted: 0, sent }), [3, 0], 'it was committed')
      const [again, progress] = [{ sent: true }, { deleted: 0, sent }]
      await remove({ sessionId: 'lost' }, again, progress)
      t.same(
        await remove({ sessionId: 'lost' }, again, progress),
        [3, 0],
        'the next attempt was lost before it deleted'
      )
      t.same(await remove({ sessionId: 'lost' }, { sent: false }, { deleted: 0, sent }), [0, 0], 'it was rejected')
    })

    await t.test('ignores unknown ids', async t => {
      const ids = [freshId(32), freshId(32)]
      await seedTraces(
        sql,
        projectId,
        ids.map(id => ({ id }))
      )
      await deleteTrace(sql, projectId, ids[0]!)
      t.same(await remove({ traceIds: ids }), [1, 0])
    })

    t.same(await countOrphans(sql), NO_ORPHANS)
    t.same(await countStrays(sql), NO_STRAYS)
  })
})
