/** Tests long lists over HTTP: full pages at the maximum limits, and the rule of 1000 scores (specification 4.14). */
import t from 'tap'
import { ingestBody } from '../fixtures/bodies/bodies.ts'
import { freshId, type SeedScore, seedScores, seedTraces } from '../fixtures/database/seed.ts'
import { testService } from '../fixtures/service/service.ts'

t.test('pages', async t => {
  const { call, makeKey, database } = await testService(t)
  const projectId = Number((await makeKey()).projectId)
  const at = (n: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, n)).toISOString()
  const get = async (path: string) => {
    const { status, body } = await call('GET', path)
    t.equal(status, 200)
    return body
  }

  await t.test('of traces hold up to 200', async t => {
    const traces = Array.from({ length: 201 }, (_, n) => ({ id: freshId(32), startedAt: at(n) }))
    await database.pool.run(sql => seedTraces(sql, projectId, traces))
    const ids = (page: { traces: { id: string }[] }) => page.traces.map(trace => trace.id)
    const newestFirst = traces.map(trace => trace.id).reverse()
    const first = await get('/api/v1/traces?limit=200')
    t.strictSame(ids(first), newestFirst.slice(0, 200))
    const last = await get(`/api/v1/traces?limit=200&after=${first.nextCursor}`)
    t.strictSame([ids(last), last.nextCursor], [newestFirst.slice(200), null])
    t.strictSame(await get(`/api/v1/traces?limit=200&before=${last.prevCursor}`), first)
    t.equal((await get('/api/v1/traces')).traces.length, 50)
  })

  await t.test('of scores hold up to 500, and with an environment examine 1000', async t => {
    const rare = (await makeKey({ environment: 'rare' })).key
    const [common, other] = [ingestBody(), ingestBody()]
    await call('POST', '/api/v1/traces', { body: common })
    await call('POST', '/api/v1/traces', { body: other, key: rare })
    await database.pool.run(async sql => {
      const rows = await sql<{ seq: number; id: string }[]>`select seq, id from traces`
      const seqOf = (id: string) => rows.find(row => row.id === id)!.seq
      // From the oldest to the newest: a score in the rare environment, 1000 others, and another score in the rare
      // environment.
      const scores: SeedScore[] = Array.from({ length: 1002 }, (_, n) => ({
        traceSeq: seqOf(n === 0 || n === 1001 ? other.trace.id : common.trace.id),
        createdAt: at(n),
        value: String(n)
      }))
      await seedScores(sql, projectId, scores)
    })
    const values = (page: { scores: { value: number }[] }) => page.scores.map(score => score.value)
    const whole = await get('/api/v1/scores?limit=500')
    t.strictSame([values(whole).length, values(whole)[0], values(whole)[499]], [500, 1001, 502])
    t.equal((await get('/api/v1/scores')).scores.length, 50)

    const first = await get('/api/v1/scores?environment=rare')
    t.strictSame(values(first), [1001], 'the last one examined is not the last one returned')
    t.type(first.nextCursor, 'string')
    t.strictSame(
      values(await get(`/api/v1/scores?limit=1&after=${first.nextCursor}`)),
      [1],
      'nextCursor points at the thousandth'
    )
    const second = await get(`/api/v1/scores?environment=rare&after=${first.nextCursor}`)
    t.strictSame([values(second), second.nextCursor], [[0], null])
    const nobody = await get('/api/v1/scores?environment=nobody')
    t.strictSame(nobody.scores, [], 'an empty page')
    t.type(nobody.nextCursor, 'string', 'that is not the last')
    t.strictSame(await get(`/api/v1/scores?environment=nobody&after=${nobody.nextCursor}`), {
      scores: [],
      nextCursor: null,
      pageSize: 50
    })
  })
})
