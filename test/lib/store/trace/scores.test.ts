import t from 'tap'
import type { ScoreOutput } from '../../../../lib/schema/output.ts'
import { readTraceDetail } from '../../../../lib/store/answers/traces.ts'
import { addScore, deleteScore, type NewScore, readTraceScores } from '../../../../lib/store/trace/scores.ts'
import { testDatabase } from '../../../fixtures/database/database.ts'
import { freshId, seedProject, seedTraces } from '../../../fixtures/database/seed.ts'

const SCORE: NewScore = { name: 'quality', dataType: 'numeric', value: 0.5, comment: null, spanId: null }

t.test('the scores of a trace', async t => {
  const { sqlAccess } = await testDatabase(t)
  const projectId = await sqlAccess.write(seedProject)
  const makeTrace = async () => {
    const id = freshId(32)
    await sqlAccess.write(sql => seedTraces(sql, projectId, [{ id }]))
    return id
  }
  const add = async (traceId: string, score: Partial<NewScore> = {}): Promise<ScoreOutput> =>
    JSON.parse((await sqlAccess.write(sql => addScore(sql, projectId, traceId, { ...SCORE, ...score }))) ?? 'null')
  const list = async (traceId: string): Promise<ScoreOutput[]> =>
    JSON.parse((await sqlAccess.read(sql => readTraceScores(sql, projectId, traceId))) ?? 'null')
  const remove = (traceId: string, scoreId: string) =>
    sqlAccess.write(sql => deleteScore(sql, projectId, traceId, scoreId))
  const summary = async (traceId: string) =>
    JSON.parse((await sqlAccess.read(sql => readTraceDetail(sql, projectId, traceId))) ?? '').trace.scores
  const counted = (traceId: string) =>
    sqlAccess.read(async sql => {
      const [row] = await sql<{ counted: number; real: number; version: number }[]>`
        select score_count as counted, version,
          (select count(*) from scores s where s.project_id = t.project_id and s.trace_seq = t.seq) as real
        from traces t where project_id = ${projectId} and id = ${traceId}`
      return row!
    })

  await t.test('are returned as they were sent', async t => {
    const traceId = await makeTrace()
    const given: Partial<NewScore>[] = [
      { value: -1.5e-7, comment: '' },
      { dataType: 'categorical', value: 'say "hi" \\ 😀', spanId: '0a'.repeat(8) },
      { dataType: 'boolean', value: false, comment: 'no\nwonder' }
    ]
    const added: ScoreOutput[] = []
    for (const score of given) added.push(await add(traceId, score))
    for (const [i, score] of added.entries()) {
      const { id, createdAt, ...rest } = score
      t.match(id, /^[0-9a-f]{16}$/)
      t.match(createdAt, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
      t.strictSame(rest, { traceId, ...SCORE, ...given[i], source: 'api', evaluatorId: null, runId: null })
    }
    t.strictSame(await list(traceId), added.toReversed(), 'and listed newest first')
    t.strictSame(await list(await makeTrace()), [])
  })

  await t.test('appear in the summary with the newest of each name, whatever is deleted', async t => {
    const traceId = await makeTrace()
    const [first, second, third] = [
      await add(traceId, { value: 1 }),
      await add(traceId, { value: 2 }),
      await add(traceId, { value: 3 })
    ]
    t.equal((await summary(traceId)).quality.scoreId, third.id)
    t.equal(await remove(traceId, second.id), true)
    t.equal((await summary(traceId)).quality.scoreId, third.id)
    t.equal(await remove(traceId, third.id), true)
    t.strictSame(await summary(traceId), {
      quality: { scoreId: first.id, dataType: 'numeric', value: 1, evaluatorId: null }
    })
    t.equal(await remove(traceId, first.id), true)
    t.strictSame(await summary(traceId), {})
  })

  await t.test("change the trace's version, so that every writer notices them", async t => {
    const traceId = await makeTrace()
    const before = await counted(traceId)
    const { id } = await add(traceId)
    const between = await counted(traceId)
    await remove(traceId, id)
    const after = await counted(traceId)
    t.equal(new Set([before.version, between.version, after.version]).size, 3)
  })

  await t.test('are rejected, or not found, where specified', async t => {
    const traceId = await makeTrace()
    const { id } = await add(traceId)
    const missing = 'ee'.repeat(16)
    t.equal(await add(missing), null)
    t.equal(await list(missing), null)
    t.equal(await remove(missing, id), false)
    t.equal(await remove(await makeTrace(), id), false, 'a score of another trace')
    t.equal(await remove(traceId, 'ee'.repeat(8)), false)
    t.equal(await sqlAccess.write(sql => addScore(sql, projectId + 1, traceId, SCORE)), undefined, 'another project')
    t.equal(await sqlAccess.read(sql => readTraceScores(sql, projectId + 1, traceId)), undefined)
    t.equal(await sqlAccess.write(sql => deleteScore(sql, projectId + 1, traceId, id)), false)
    t.equal((await counted(traceId)).real, 1)
  })

  await t.test('are limited to 100, even if 150 arrive at once', async t => {
    const traceId = await makeTrace()
    const outcomes = await Promise.allSettled(Array.from({ length: 150 }, (_, i) => add(traceId, { value: i })))
    const refused = outcomes.filter(outcome => outcome.status === 'rejected')
    t.equal(refused.length, 50)
    t.ok(refused.every(outcome => outcome.reason.code === 'conflict'))
    t.match(await counted(traceId), { counted: 100, real: 100 })
    const [newest] = await list(traceId)
    t.ok(await remove(traceId, newest!.id))
    t.ok(await add(traceId), 'and deleting a score allows another')
    await t.rejects(add(traceId), { code: 'conflict' })
  })

  await t.test('are deleted once under concurrent requests, and the count agrees', async t => {
    const traceId = await makeTrace()
    const ids = await Promise.all(Array.from({ length: 8 }, async () => (await add(traceId)).id))
    const answers = await Promise.all([...ids, ...ids, ...ids].map(id => remove(traceId, id)))
    t.equal(answers.filter(Boolean).length, 8)
    t.match(await counted(traceId), { counted: 0, real: 0 })
  })
})
