/** Cuts a connection between the commit of a write and its response. The client still gets the true outcome. */
import t from 'tap'
import { endBody, ingestBody, span, spansBody, startBody } from '../fixtures/bodies/bodies.ts'
import { exportOf, otlpSpan } from '../fixtures/bodies/otlp.ts'
import { type TestDatabase, testDatabase } from '../fixtures/database/database.ts'
import { type Relay, testRelay } from '../fixtures/database/relay.ts'
import { testService } from '../fixtures/service/service.ts'
import { until } from '../fixtures/until.ts'

t.test("every write is answered correctly if the database's response is lost", async t => {
  const database = await testDatabase(t)
  const relay = await testRelay(t, database.target)
  const { call } = await testService(t, { database, view: { connect: relay.connect } })
  const score = { name: 'quality', dataType: 'numeric', value: 1 }
  const record = async () => {
    const body = startBody()
    t.equal((await call('POST', '/api/v1/traces', { body })).status, 201)
    return `/api/v1/traces/${body.trace.id}`
  }
  /** Sends a request whose commit is not confirmed to the service. */
  const lose = async (method: string, path: string, body?: object) => {
    const cutting = await cutAtCommit(database, relay)
    const answer = call(method, path, body === undefined ? {} : { body })
    await cutting()
    relay.mend()
    return answer
  }

  t.match(await lose('POST', '/api/v1/traces', ingestBody()), { status: 201, body: { duplicate: false } })
  t.match(await lose('POST', '/api/v1/otlp/v1/traces', exportOf(otlpSpan())), { status: 200, text: '{}' })
  const trace = await record()
  t.match(await lose('POST', `${trace}/spans`, spansBody(span())), { status: 200, body: { added: 1, spanCount: 1 } })
  t.match(await lose('POST', `${trace}/end`, endBody()), { status: 200, body: { duplicate: false, spanCount: 1 } })
  t.match(await lose('PATCH', trace, { metadata: { a: 1 } }), {
    status: 200,
    body: { changed: true, metadata: { a: 1 } }
  })
  t.match(await call('PATCH', trace, { body: { metadata: { a: 1 } } }), { body: { changed: false } })
  const added = await lose('POST', `${trace}/scores`, score)
  t.match(added, { status: 201, body: { score: { value: 1 } } })
  const { scores } = (await call('GET', `${trace}/scores`)).body
  t.same(scores, [added.body.score], 'one score, the one in the response')
  t.match(await lose('DELETE', `${trace}/scores/${added.body.score.id}`), { status: 200 })
  t.match(await call('DELETE', `${trace}/scores/${added.body.score.id}`), { status: 404 })
  t.match(await lose('DELETE', trace), { status: 200 })
  t.match(await call('DELETE', trace), { status: 404 })
  t.match((await call('GET', '/api/v1/project')).body, { traceCount: 2, spanCount: 1 }, 'the totals agree')
})

t.test('the same if the connection hangs instead of breaking', async t => {
  const database = await testDatabase(t)
  const relay = await testRelay(t, database.target)
  const { call } = await testService(t, { database, view: { connect: relay.connect } })
  const body = startBody()
  await cutAtCommit(database, relay, 'swallow')
  t.match(await call('POST', '/api/v1/traces', { body }), { status: 201, body: { duplicate: false } })
  await cutAtCommit(database, relay, 'swallow')
  const patched = await call('PATCH', `/api/v1/traces/${body.trace.id}`, { body: { metadata: { a: 1 } } })
  t.match(patched, { status: 200, body: { changed: true } })
})

t.test('a write whose outcome cannot be looked up in time gets 429', async t => {
  const database = await testDatabase(t)
  const relay = await testRelay(t, database.target)
  const { call } = await testService(t, { database, view: { connect: relay.connect } })
  const body = startBody()
  const path = `/api/v1/traces/${body.trace.id}`
  await call('POST', '/api/v1/traces', { body })
  await cutAtCommit(database, relay)
  const answer = await call('PATCH', path, { body: { metadata: { a: 1 } } })
  t.match(answer, { status: 429, headers: { 'retry-after': '1' }, body: { error: { code: 'quota_exhausted' } } })
  relay.mend()
  t.match(await call('PATCH', path, { body: { metadata: { a: 1 } } }), { body: { changed: false } }, 'it was stored')
})

t.test('if the database has become read-only, a lost write is not retried for long', async t => {
  const database = await testDatabase(t)
  const relay = await testRelay(t, database.target)
  const { call } = await testService(t, { database, view: { connect: relay.connect } })
  const countBatches = async () => {
    const { text } = await call('GET', '/metrics')
    return Number(/^spoor_batch_operations_count (\d+)$/m.exec(text)?.[1])
  }
  const body = startBody()
  const path = `/api/v1/traces/${body.trace.id}`
  t.equal((await call('POST', '/api/v1/traces', { body })).status, 201)
  t.equal((await call('PATCH', path, { body: { metadata: { a: 0 } } })).status, 200)
  await database.pool.run(async sql => {
    const [row] = await sql`select current_database() as name`
    await sql.unsafe(`alter database ${row?.name} set default_transaction_read_only = on`)
  })
  const before = await countBatches()
  t.ok(before > 0)
  for (const [method, route, body] of [
    ['POST', `${path}/spans`, spansBody(span())],
    ['PATCH', path, { metadata: { a: 1 } }]
  ] as const) {
    relay.cutWhen(async () => true)
    const answer = call(method, route, { body })
    await until(() => relay.isCut)
    relay.mend()
    t.match(await answer, { status: 429, body: { error: { code: 'quota_exhausted' } } }, method)
  }
  // The spans are tried until the lost attempt's outcome is known, and then once more.
  const batches = (await countBatches()) - before
  t.ok(batches >= 1 && batches <= 4, `${batches} batches`)
})

/**
 * After the next commit that changes stored data, every connection is cut, or hangs, before the response. Returns a
 * function that waits until this has happened.
 */
async function cutAtCommit(
  { pool }: TestDatabase,
  relay: Relay,
  fault: 'cut' | 'swallow' = 'cut'
): Promise<() => Promise<void>> {
  const read = async () => {
    const [row] = await pool.run(
      sql => sql`
      select * from (select count(*) as traces, sum(version)::text as versions from traces) t,
        (select count(*) as scores from scores) s`
    )
    return JSON.stringify(row)
  }
  const before = await read()
  relay.cutWhen(async () => (await read()) !== before, fault)
  return () => until(() => relay.isCut)
}
