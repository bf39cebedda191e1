import { createHash } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { createAccount } from '../../../../lib/admin/accounts.ts'
import { createProject } from '../../../../lib/admin/projects.ts'
import { ReadBack } from '../../../../lib/moving/backup/read-back.ts'
import { ingestBody, span } from '../../../fixtures/bodies/bodies.ts'
import { testDatabase } from '../../../fixtures/database/database.ts'
import { exportLines, testImporter } from '../../../fixtures/database/moving.ts'
import { runs } from '../../../torture/orders.ts'

const TRACES = 40

t.test('a project is read back as exported, however much of it is stored at a time', async t => {
  const database = await testDatabase(t)
  const project = await database.pool.run(async sql => {
    await createAccount(sql, 'owner', 'owner')
    return Number((await createProject(sql, 1, { name: 'Default', accountId: '1' })).id)
  })
  // Several traces start at the same time, so that only the id orders them.
  const lines = Array.from({ length: TRACES }, (_, n) => {
    const startedAt = `2026-01-01T00:00:0${n % 4}Z`
    const { spans, ...trace } = ingestBody({ startedAt, endedAt: '2026-01-01T00:01:00Z', spans: [span()] }).trace
    return JSON.stringify({ trace, spans })
  })
  await testImporter(t, database)(project, lines.join('\n'))
  const exported = await exportLines(database, 'default')
  const ids: string[] = exported.map(line => JSON.parse(line).trace.id)
  const sha256 = createHash('sha256')
    .update(exported.map(line => `${line}\n`).join(''))
    .digest('hex')
  const whole = { traces: TRACES, spans: TRACES, scores: 0, sha256 }

  const steps = fc.array(fc.record({ stored: fc.integer({ min: 1, max: 12 }), waits: fc.boolean() }))
  await fc.assert(
    fc.asyncProperty(steps, fc.integer({ min: 1, max: 9 }), async (steps, stretch) => {
      const readBack = new ReadBack(database.pool, project, stretch)
      let at = 0
      for (const { stored, waits } of steps) {
        for (const id of ids.slice(at, at + stored)) readBack.stored(id)
        at += stored
        if (waits) await readBack.pause()
      }
      t.same(await readBack.finish(), whole)
    }),
    runs(20)
  )

  const gap = new ReadBack(database.pool, project, 1)
  gap.stored('f'.repeat(32))
  t.not((await gap.finish()).sha256, sha256, 'rows that are claimed but not stored are detected')
  const odd = new ReadBack(database.pool, project, 1)
  odd.stored('no id')
  await t.rejects(odd.finish(), /uuid/, 'a failure is reported at the end')
})
