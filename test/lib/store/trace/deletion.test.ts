import type { Sql } from 'postgres'
import t from 'tap'
import { readProject } from '../../../../lib/store/projects/projects.ts'
import { deleteTrace } from '../../../../lib/store/trace/deletion.ts'
import { patchMetadata } from '../../../../lib/store/trace/metadata.ts'
import { addScore } from '../../../../lib/store/trace/scores.ts'
import { freshVersion } from '../../../../lib/store/write/trace-numbers.ts'
import { testDatabase } from '../../../fixtures/database/database.ts'
import { countLockWaits } from '../../../fixtures/database/locks.ts'
import {
  countStrays,
  freshId,
  NO_STRAYS,
  seedProject,
  seedScores,
  seedSpans,
  seedTraces
} from '../../../fixtures/database/seed.ts'
import { until } from '../../../fixtures/until.ts'

const SCORE = { name: 'quality', dataType: 'numeric', value: 1, comment: null, spanId: null }

/** Counts a project's rows in each table. */
async function countRows(sql: Sql, projectId: number) {
  const [row] = await sql`
    select (select count(*) from traces where project_id = ${projectId}) as traces,
      (select count(*) from spans where project_id = ${projectId}) as spans,
      (select count(*) from scores where project_id = ${projectId}) as scores`
  return { ...row }
}

t.test('deleting a trace', async t => {
  const database = await testDatabase(t)
  const { sqlAccess } = database
  const totals = async (projectId: number) => {
    const project = await sqlAccess.read(sql => readProject(sql, projectId))
    return { traces: project?.traceCount, spans: project?.spanCount, bytes: project?.estimatedBytes }
  }
  /** Creates a project with a trace of three spans and two scores, and another project, which must not change. */
  const makeTraces = async () => {
    const projectId = await sqlAccess.write(seedProject)
    const [id, other] = [freshId(32), freshId(32)]
    const seq = Number.parseInt(id, 16)
    await sqlAccess.write(async sql => {
      await seedTraces(sql, projectId, [
        {
          seq,
          id,
          tags: ['a', 'b'],
          spanCount: 3,
          scoreCount: 2,
          estimatedBytes: 1000,
          ingestedAt: '2026-03-01T00:00:00Z'
        },
        { seq: seq + 1, id: other, spanCount: 1, estimatedBytes: 300, ingestedAt: '2026-02-01T00:00:00Z' }
      ])
      await seedSpans(sql, projectId, seq, [freshId(16), freshId(16), freshId(16)])
      await seedSpans(sql, projectId, seq + 1, [freshId(16)])
      await seedScores(sql, projectId, [{ traceSeq: seq }, { traceSeq: seq }])
    })
    return { projectId, id, seq }
  }

  await t.test('deletes its spans and scores too, and corrects the totals', async t => {
    const { projectId, id } = await makeTraces()
    t.strictSame(await totals(projectId), { traces: 2, spans: 4, bytes: 1300 })
    t.equal(await sqlAccess.write(sql => deleteTrace(sql, projectId, id)), true)
    t.strictSame(await sqlAccess.read(sql => countRows(sql, projectId)), { traces: 1, spans: 1, scores: 0 })
    t.strictSame(await totals(projectId), { traces: 1, spans: 1, bytes: 300 })
    t.strictSame(await sqlAccess.read(countStrays), NO_STRAYS)
    const project = await sqlAccess.read(sql => readProject(sql, projectId))
    t.equal(project?.lastTraceAt, '2026-02-01T00:00:00.000Z', 'lastTraceAt goes back')
    t.equal(await sqlAccess.write(sql => deleteTrace(sql, projectId, id)), false, 'deleting again finds nothing')
    t.strictSame(await totals(projectId), { traces: 1, spans: 1, bytes: 300 })
  })

  await t.test('finds nothing in another project', async t => {
    const { projectId, id } = await makeTraces()
    t.equal(await sqlAccess.write(sql => deleteTrace(sql, projectId + 1000, id)), false)
    t.equal((await totals(projectId)).traces, 2)
  })

  await t.test('leaves no span or score behind that arrives while it waits for the trace', async t => {
    const { projectId, id, seq } = await makeTraces()
    const writer = database.connect()
    t.teardown(() => writer.end({ timeout: 1 }))
    // A writer that has changed the trace but not yet committed delays the deletion.
    await writer`begin`
    await writer`update traces set span_count = 4, score_count = 3, version = ${freshVersion()},
      estimated_bytes = 1500 where project_id = ${projectId} and seq = ${seq}`
    await seedSpans(writer, projectId, seq, [freshId(16)])
    await seedScores(writer, projectId, [{ traceSeq: seq }])
    await writer`insert into project_totals values (${projectId}, 7, 0, 1, 500)`
    const deletion = sqlAccess.write(sql => deleteTrace(sql, projectId, id))
    await until(async () => (await countLockWaits(database)) > 0)
    await writer`commit`
    t.equal(await deletion, true)
    t.strictSame(await sqlAccess.read(sql => countRows(sql, projectId)), { traces: 1, spans: 1, scores: 0 })
    t.strictSame(await totals(projectId), { traces: 1, spans: 1, bytes: 300 })
  })

  await t.test('races with scores and patches, and the rows and totals finally agree', async t => {
    for (let round = 0; round < 10; round++) {
      const { projectId, id } = await makeTraces()
      const work = [
        ...Array.from({ length: 12 }, () => sqlAccess.write(sql => addScore(sql, projectId, id, SCORE))),
        ...Array.from({ length: 4 }, (_, i) => sqlAccess.write(sql => patchMetadata(sql, projectId, id, `{"k${i}":1}`)))
      ]
      work.splice(
        round,
        0,
        sqlAccess.write(async sql => String(await deleteTrace(sql, projectId, id)))
      )
      await Promise.all(work)
      t.strictSame(await sqlAccess.read(sql => countRows(sql, projectId)), { traces: 1, spans: 1, scores: 0 })
      t.strictSame(await totals(projectId), { traces: 1, spans: 1, bytes: 300 })
    }
  })
})
