/** Tests scores over time, disagreements between sources, and the traces behind a bar. */
import t from 'tap'
import { listScoresByTrace } from '../../../lib/store/lists/scores-by-trace.ts'
import { ingestBody } from '../../fixtures/bodies/bodies.ts'
import { signedIn } from '../../fixtures/service/people.ts'
import { testService } from '../../fixtures/service/service.ts'

const service = await testService(t)
const { call, database } = service
const { ask } = await signedIn(service, 'member@example.com', 'member')
const P = 'p/default'

async function makeTrace(): Promise<string> {
  const { trace } = ingestBody({ name: 'scored' })
  t.equal((await call('POST', '/api/v1/traces', { body: { schemaVersion: 1, trace } })).status, 201)
  return trace.id
}

const give = async (id: string, name: string, value: number | string | boolean) => {
  const dataType = { number: 'numeric', string: 'categorical', boolean: 'boolean' }[typeof value as 'number']
  await call('POST', `/api/v1/traces/${id}/scores`, { body: { name, dataType, value } })
}
/** Adds a numeric score in the dashboard, as a person. */
const judge = async (id: string, name: string, value: number) => {
  await ask('POST', `${P}/traces/${id}/scores`, { body: { name, dataType: 'numeric', value } })
}
/** Changes the time of a name's scores to `hours` hours ago. */
const age = (name: string, hours: number) => {
  const at = new Date(Date.now() - hours * 3_600_000).toISOString()
  return database.pool.run(sql => sql`update scores set created_at = ${at} where name = ${name}`)
}

t.test('scores are counted by name over time', async t => {
  const [a, b] = [await makeTrace(), await makeTrace()]
  await give(a, 'tone', 'warm')
  await give(b, 'tone', 'cold')
  await give(a, 'helpful', 1)
  await age('helpful', 30)
  await give(b, 'helpful', 0.5)
  const { body } = await ask('GET', `${P}/score-series?range=7d&offset=60`)
  t.match(body, { step: 'hour', newest: null })
  t.equal(body.starts.length, 7 * 24)
  const [helpful, tone] = ['helpful', 'tone'].map(name =>
    body.names.find((each: { name: string }) => each.name === name)
  )
  t.match(helpful, { count: 2, dataType: 'numeric', sources: { api: 2, annotation: 0, eval: 0 } })
  const means = helpful.mean.flatMap((mean: number | null, i: number) => (mean === null ? [] : [[mean, i]]))
  t.same(
    means.map(([mean]: number[]) => mean),
    [1, 0.5]
  )
  t.equal(means[1][1] - means[0][1], 30)
  t.same(Object.keys(tone.shares), ['cold', 'warm'])
  const alone = await ask('GET', `${P}/score-series?range=24h&name=helpful`)
  t.match(alone.body.names, [{ name: 'helpful', count: 1 }])
  t.equal(alone.body.names.length, 1)
  t.same((await ask('GET', `${P}/score-series?range=30d`)).body.step, 'day')
  t.same((await ask('GET', `${P}/score-series?range=1h&name=none`)).body.names, [])
  t.match((await ask('GET', `${P}/score-series?env=unassigned`)).body.names, [{}, {}])
  t.same((await ask('GET', `${P}/score-series?env=prod`)).body.names, [])
})

t.test('traces with different scores from two sources are listed', async t => {
  const [same, other] = [await makeTrace(), await makeTrace()]
  for (const id of [same, other]) await give(id, 'quality', 0)
  for (const id of [same, other]) await give(id, 'quality', 1)
  await judge(same, 'quality', 1)
  await judge(other, 'quality', 0.25)
  const { body } = await ask('GET', `${P}/score-disagreement?name=quality&range=24h`)
  t.match(body.pairs, [
    { a: 'annotation', b: 'api', both: 2, differing: 1, meanDifference: 0.375, meanDistance: 0.375 }
  ])
  t.same(body.differences, [{ traceId: other, spanId: null, values: { annotation: 0.25, api: 1 } }], 'newest of each')
  t.match(body.traces, [{ id: other, name: 'scored' }])
  t.match((await ask('GET', `${P}/score-disagreement?name=none`)).body, {
    pairs: [],
    differences: [],
    traces: [],
    newest: null
  })
})

t.test("a bar's traces are found by value, bounds and source", async t => {
  const ids = [await makeTrace(), await makeTrace(), await makeTrace()] as const
  for (const [i, id] of ids.entries()) await give(id, 'depth', i * 1.5)
  await judge(ids[1], 'depth', 7)
  await give(ids[2], 'tier', 'gold "1"')
  const idsOf = async (query: string) => {
    const { status, body, text } = await ask('GET', `${P}/scored-traces?range=24h&name=${query}`)
    t.equal(status, 200, text)
    t.same(
      new Set(body.traces.map(({ id }: { id: string }) => id)),
      new Set(body.scores.map(({ traceId }: { traceId: string }) => traceId))
    )
    return body.scores.map(({ traceId }: { traceId: string }) => traceId)
  }
  t.same(await idsOf('depth'), [ids[1], ids[2], ids[1], ids[0]])
  t.same(await idsOf('depth&min=1.5&below=3'), [ids[1]])
  t.same(await idsOf('depth&min=1.5'), [ids[1], ids[2], ids[1]])
  t.same(await idsOf('depth&value=1.50'), [ids[1]])
  t.same(await idsOf('depth&source=annotation'), [ids[1]])
  t.same(await idsOf(`tier&value=${encodeURIComponent('gold "1"')}`), [ids[2]])
  t.same(await idsOf('tier&value=gold'), [])
  t.same(await idsOf('tier&min=0'), [], 'a category is not a number')
})

t.test("on request, scores count at their traces' times", async t => {
  const day = (n: number) => new Date(Date.UTC(2026, 8, n, 12)).toISOString()
  const made: string[] = []
  for (const n of [1, 2, 2, 5]) {
    const body = ingestBody({ name: 'rated', startedAt: day(n), endedAt: day(n) })
    t.equal((await call('POST', '/api/v1/traces', { body })).status, 201)
    made.push(body.trace.id)
  }
  for (const [i, value] of [1, 2, 4, 9].entries()) await give(made[i]!, 'rating', value)
  const time = 'from=2026-09-01T00:00:00Z&to=2026-09-04T00:00:00Z'
  t.same((await ask('GET', `${P}/score-series?name=rating&${time}`)).body.names, [], 'they were added today')
  const { body } = await ask('GET', `${P}/score-series?name=rating&by=trace&${time}`)
  t.match(body, { newest: null, names: [{ count: 3, average: 7 / 3 }] })
  const means = body.names[0].mean.flatMap((mean: number | null, i: number) => (mean === null ? [] : [[i, mean]]))
  t.same(means, [
    [12, 1],
    [36, 3]
  ])
  t.same((await ask('GET', `${P}/score-series?name=rating&by=trace&${time}&env=prod`)).body.names, [])
  const list = async (query: string) =>
    (await ask('GET', `${P}/scored-traces?name=rating&by=trace&${time}${query}`)).body as {
      readonly scores: readonly { value: number }[]
      readonly nextCursor: string | null
    }
  t.same(
    (await list('')).scores.map(({ value }) => value),
    [4, 2, 1]
  )
  t.same(
    (await list('&min=2')).scores.map(({ value }) => value),
    [4, 2]
  )
  await judge(made[0]!, 'rating', 3)
  const disagreement = await ask('GET', `${P}/score-disagreement?name=rating&by=trace&${time}`)
  t.match(disagreement.body, { pairs: [{ both: 1, differing: 1 }], differences: [{ traceId: made[0] }] })
  t.same((await ask('GET', `${P}/score-disagreement?name=rating&${time}`)).body.pairs, [])
})

t.test('pages of scores by trace contain each score once', async t => {
  const asked = { name: 'rating', limit: 1, from: '2026-09-01T00:00:00.000Z', to: '2026-09-30T00:00:00.000Z' }
  for (const most of [20_000, 1, 2]) {
    const values: number[] = []
    let after: Parameters<typeof listScoresByTrace>[2]['after']
    for (let calls = 0; calls < 20; calls++) {
      const page = await database.pool.run(sql => listScoresByTrace(sql, 1, { ...asked, after }, most))
      values.push(...(JSON.parse(page.scores) as { value: number }[]).map(({ value }) => value))
      after = page.next
      if (after === undefined) break
    }
    t.same(
      values.toSorted((a, b) => a - b),
      [1, 2, 3, 4, 9],
      `${most} traces at a time`
    )
  }
})

t.test('invalid parameters are rejected by name', async t => {
  for (const [query, rule] of [
    ['score-series?range=2h', 'range: must be one of'],
    ['score-series?range=1h&from=2026-01-01T00:00:00Z', 'range: cannot be combined with `from` and `to`'],
    ['score-series?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z', 'to: must be later than `from`'],
    ['score-series?from=2001-01-01T00:00:00Z', 'from: must be at most 3660 days before `to`'],
    ['score-series?to=0001-01-01T00:00:00Z', 'to: must be later than `from`'],
    ['score-series?offset=900', 'offset: '],
    ['score-series?name=a%00', 'name: '],
    ['score-series?colour=red', 'colour: unknown parameter'],
    ['score-disagreement', 'name: '],
    ['scored-traces?name=a&min=x', 'min: '],
    ['scored-traces?name=a&min=1e999', 'min: must be a finite number'],
    ['scored-traces?name=a&value=%00', 'value: '],
    ['scored-traces?name=a&after=x', 'after: must be a cursor'],
    ['scored-traces?name=a&by=trace&after=x', 'after: must be a cursor'],
    ['score-series?by=day', 'by: must be one of']
  ] as const) {
    const { status, body } = await ask('GET', `${P}/${query}`)
    t.equal(status, 400, query)
    t.ok(body.error.message.startsWith(rule), `${query}: ${body.error.message}`)
  }
  t.equal((await ask('GET', `${P}/score-series?to=1970-01-01T00:00:00Z`)).status, 200)
  for (const route of ['score-series?', 'score-disagreement?name=a', 'scored-traces?name=a']) {
    const early = `${P}/${route}&from=0001-01-01T00:00:00Z&to=0001-02-01T00:00:00Z&offset=840`
    t.equal((await ask('GET', early)).status, 200, early)
  }
  t.equal(
    (await ask('GET', `${P}/score-series?from=9999-12-31T00:00:00Z&to=9999-12-31T23:59:59.999999Z&offset=840`)).status,
    200
  )
})
