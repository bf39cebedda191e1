import t, { type Test } from 'tap'
import { Refusal } from '../../../lib/errors.ts'
import { endBody, ingestBody, LATER, span, spanId, spansBody, startBody } from '../../fixtures/bodies/bodies.ts'
import { isOnCluster, runOnNodes, type TestDatabase, testDatabase } from '../../fixtures/database/database.ts'
import { lockTable } from '../../fixtures/database/locks.ts'
import { countStrays, NO_STRAYS } from '../../fixtures/database/seed.ts'
import { bytes, testWritePath, writer } from '../../fixtures/database/write-path.ts'

const text = (length: number) =>
  'all work and no play makes Jack a dull boy. '.repeat(Math.ceil(length / 44)).slice(0, length)

/**
 * Returns a body with an additional space, so that a recorded body is not recognised by its bytes
 * (lib/ingest/resends.ts).
 */
const spaced = (body: Buffer) => Buffer.concat([body, Buffer.from(' ')])

const key = writer()

async function setUp(t: Test, trialTraces?: number) {
  const database = await testDatabase(t)
  return { database, path: testWritePath(t, database, { trialTraces }), sql: database.pool }
}

/** The outcome of a write: its response, or its error code. */
const outcome = <T>(work: Promise<T>): Promise<T | string> =>
  work.catch(error => (error instanceof Refusal ? error.code : Promise.reject(error)))

/** Returns the stored totals, the correct totals, and the number of orphaned rows. */
async function audit(database: TestDatabase) {
  const [row] = await database.pool.run(
    sql => sql`
      select (select coalesce(sum(traces), 0) from project_totals)::int as "countedTraces",
        (select coalesce(sum(spans), 0) from project_totals)::int as "countedSpans",
        (select coalesce(sum(bytes), 0) from project_totals)::bigint as "countedBytes",
        (select count(*) from traces)::int as traces, (select count(*) from spans)::int as spans,
        (select coalesce(sum(estimated_bytes), 0) from traces)::bigint as bytes,
        (select coalesce(sum(span_count), 0) from traces)::int as "spanCounts",
        (select count(*) from spans s where not exists
          (select from traces t where t.project_id = s.project_id and t.seq = s.trace_seq))::int as orphans`
  )
  return row as Record<string, number>
}

/** Terminates every connection of the write path. */
const killWriters = (database: TestDatabase) =>
  runOnNodes(
    database,
    `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name like '%writer'`
  )

async function checkAudit(t: Test, database: TestDatabase) {
  const found = await audit(database)
  t.equal(found.countedTraces, found.traces, 'traces as counted')
  t.equal(found.countedSpans, found.spans, 'spans as counted')
  t.equal(found.countedBytes, found.bytes, 'bytes as counted')
  t.equal(found.spanCounts, found.spans, 'span counts of traces')
  t.equal(found.orphans, 0, 'no orphans')
  t.strictSame(await database.pool.run(countStrays), NO_STRAYS)
}

t.test('records, recognises resends and rejects as table 3.1 specifies', async t => {
  const { database, path } = await setUp(t)
  const body = ingestBody({ spans: [span(), span()] })
  const traceId = body.trace.id
  t.same(await path.record(key, bytes(body)), { traceId, spanCount: 2, duplicate: false, running: false })
  t.same(await path.record(key, bytes(body)), { traceId, spanCount: 2, duplicate: true, running: false })
  t.same(await path.record(key, spaced(bytes(body))), { traceId, spanCount: 2, duplicate: true, running: false })
  t.equal(await outcome(path.record(key, bytes(ingestBody({ id: traceId })))), 'trace_id_conflict')
  t.same(await outcome(path.record(writer({ projectId: 2 }), bytes(ingestBody({ id: traceId })))), {
    traceId,
    spanCount: 0,
    duplicate: false,
    running: false
  })
  await checkAudit(t, database)
})

t.test('streams: starts, appends, ends; a resend of any of them changes nothing', async t => {
  const { database, path } = await setUp(t)
  const start = startBody({ tags: ['a'], metadata: { kept: 1 } })
  const traceId = start.trace.id
  const batch = spansBody(span({ status: 'error' }), span())
  const more = spansBody(batch.spans[1] as object, span())
  const end = endBody({ status: 'ok', tags: ['b'], metadata: { added: 2 }, spans: [span()], output: [1] })
  t.match(await path.record(key, bytes(start)), { duplicate: false, running: true, spanCount: 0 })
  t.same(await path.append(key, traceId, bytes(batch)), { traceId, added: 2, duplicate: 0, spanCount: 2 })
  t.same(await path.append(key, traceId, bytes(more)), { traceId, added: 1, duplicate: 1, spanCount: 3 })
  t.same(await path.append(key, traceId, bytes(batch)), { traceId, added: 0, duplicate: 2, spanCount: 3 })
  t.same(await path.end(key, traceId, bytes(end)), { traceId, duplicate: false, spanCount: 4 })
  t.same(await path.end(key, traceId, bytes(end)), { traceId, duplicate: true, spanCount: 4 })
  t.match(await path.record(key, bytes(start)), { duplicate: true, running: true, spanCount: 4 })
  t.match(await path.record(key, spaced(bytes(start))), { duplicate: true, running: true, spanCount: 4 })
  t.equal(await outcome(path.append(key, traceId, bytes(batch))), 'trace_finished')
  t.equal(await outcome(path.end(key, traceId, bytes(endBody()))), 'trace_finished')
  t.equal(await outcome(path.end(key, start.trace.id.replace(/./g, '0'), bytes(end))), 'not_found')
  const [row] = await database.pool.run(sql => sql`select * from traces`)
  t.match(row, { status: 'ok', tags: ['a', 'b'], metadata: '{"kept":1,"added":2}', output: '[1]', error_count: 1 })
  t.match(row, { ended_at: LATER, duration_ms: 1500 })
  await checkAudit(t, database)
})

t.test('preserves every value exactly', async t => {
  const { database, path } = await setUp(t)
  const odd = 'a\u0001b\u0002"c"\\d{e},f\nnull'
  const body = ingestBody({
    name: odd,
    provider: 'NULL',
    model: '{}',
    userId: ',',
    tags: [odd, 'null', '', 'é😀'].filter(tag => tag !== ''),
    input: [odd, '\u0000', '\ud800'],
    spans: [span({ name: odd, model: '"', attributes: { [odd]: null } }), span({ name: 'plain', input: null })]
  })
  await path.record(writer({ environment: 'prod' }), bytes(body))
  const [trace] = await database.pool.run(sql => sql`select * from traces`)
  t.match(trace, { name: odd, provider: 'NULL', model: '{}', user_id: ',', tags: body.trace.tags, environment: 'prod' })
  t.equal(trace?.input, JSON.stringify(body.trace.input))
  const spans = await database.pool.run(sql => sql`select * from spans order by name = 'plain'`)
  t.match(spans, [
    { name: odd, model: '"', attributes: JSON.stringify({ [odd]: null }) },
    { name: 'plain', input: null }
  ])
})

t.test('many concurrent bodies, large and small, are all stored once', async t => {
  const { database, path } = await setUp(t)
  const bodies = Array.from({ length: 120 }, (_, i) =>
    bytes(ingestBody({ input: text(i % 10 === 0 ? 300_000 : i * 20), spans: [span({ input: text(i * 100) })] }))
  )
  const answers = await Promise.all([...bodies, ...bodies].map(body => path.record(key, body)))
  t.equal(answers.filter(answer => !answer.duplicate).length, bodies.length)
  await checkAudit(t, database)
  t.equal((await audit(database)).traces, bodies.length)
})

t.test('large resent traces block nobody', async t => {
  const { database, path } = await setUp(t)
  const large = () => bytes(ingestBody({ input: text(40_000), tags: ['x'], spans: [span({ output: text(30_000) })] }))
  const [sent, fresh] = [Array.from({ length: 12 }, large), Array.from({ length: 12 }, large)]
  for (const body of sent) t.match(await path.record(key, body), { duplicate: false })
  const running = startBody()
  await path.record(key, bytes(running))
  const all = sent.flatMap((body, i) => [spaced(body), fresh[i]!])
  const [append, ...answers] = await Promise.all([
    path.append(key, running.trace.id, bytes(spansBody(span()))),
    ...all.map(body => path.record(key, body))
  ])
  t.match(append, { added: 1 })
  t.strictSame(
    answers.map(({ duplicate }) => duplicate),
    all.map((_, i) => i % 2 === 0)
  )
  t.equal((await audit(database)).traces, 25)
  await checkAudit(t, database)
})

t.test('two processes that record, append to and end the same traces agree', async t => {
  const { database, path } = await setUp(t)
  const other = testWritePath(t, database)
  const paths = [path, other]
  const start = bytes(startBody({ id: 'a'.repeat(32) }))
  const started = await Promise.all(Array.from({ length: 20 }, (_, i) => paths[i % 2]?.record(key, start)))
  t.equal(started.filter(answer => answer?.duplicate === false).length, 1, 'one start of 20 is the first')

  const ids = Array.from({ length: 60 }, spanId)
  const appends = ids.flatMap(id => {
    const body = bytes(spansBody(span({ id, name: 'same' })))
    return paths.map(each => each.append(key, 'a'.repeat(32), body))
  })
  const appended = await Promise.all(appends)
  t.equal(
    appended.reduce((sum, answer) => sum + answer.added, 0),
    60,
    'each span is written once'
  )
  const ends = ['ok', 'error'].flatMap(status =>
    paths.map(each => each.end(key, 'a'.repeat(32), bytes(endBody({ status }))))
  )
  const ended = await Promise.all(ends.map(outcome))
  t.equal(ended.filter(answer => typeof answer === 'object' && !answer.duplicate).length, 1, 'one end wins')
  t.equal(
    ended.filter(answer => typeof answer === 'object' && answer.duplicate).length,
    1,
    'the identical one is a duplicate'
  )
  t.equal(ended.filter(answer => answer === 'trace_finished').length, 2, 'the other end is rejected')
  await checkAudit(t, database)
})

t.test('an append is written completely or not at all, and the span limit holds under concurrency', async t => {
  const { database, path } = await setUp(t)
  const other = testWritePath(t, database)
  const { trace } = startBody()
  await path.record(key, bytes({ schemaVersion: 1, trace }))
  const batch = () => bytes(spansBody(...Array.from({ length: 30 }, () => span())))
  const appends = Array.from({ length: 10 }, (_, i) => (i % 2 ? path : other).append(key, trace.id, batch()))
  const answers = await Promise.all(appends.map(outcome))
  t.equal(answers.filter(answer => typeof answer === 'object').length, 6, 'six batches of 30 fit')
  t.equal(answers.filter(answer => answer === 'invalid_trace').length, 4)
  t.equal((await audit(database)).spans, 180)
  await checkAudit(t, database)
})

t.test('exactly one of many requests gets the last allowed trace of a trial account', async t => {
  const { database, path } = await setUp(t, 3)
  const other = testWritePath(t, database, { trialTraces: 3 })
  const [account] = await database.pool.run(
    sql => sql<{ id: number }[]>`insert into accounts (name, type) values ('trial', 'trial') returning id`
  )
  const trial = writer({ trialAccountId: account?.id ?? 0 })
  const bodies = Array.from({ length: 12 }, () => startBody())
  const answers = await Promise.all(bodies.map((body, i) => outcome((i % 2 ? path : other).record(trial, bytes(body)))))
  t.equal(answers.filter(answer => answer === 'trial_limit_reached').length, 9)
  const stored = bodies.filter((_, i) => typeof answers[i] === 'object')
  t.equal(stored.length, 3)
  for (const body of stored) {
    t.match(await path.record(trial, spaced(bytes(body))), { duplicate: true }, 'a resend at the limit')
    t.match(await path.append(trial, body.trace.id, bytes(spansBody(span()))), { added: 1 }, 'an append at the limit')
    t.match(await path.end(trial, body.trace.id, bytes(endBody())), { duplicate: false }, 'an end at the limit')
  }
  const conflict = { ...stored[0]?.trace, name: 'other' }
  t.equal(await outcome(path.record(trial, bytes({ schemaVersion: 1, trace: conflict }))), 'trace_id_conflict')
  t.match(await path.record(key, bytes(ingestBody())), { duplicate: false }, 'owner projects are never limited')
  const [{ used } = { used: 0 }] = await database.pool.run(
    sql => sql<{ used: number }[]>`select trial_used as used from accounts where id = ${account?.id ?? 0}`
  )
  t.equal(used, 3)
  await checkAudit(t, database)
})

t.test('killing backends under the writer loses nothing and writes nothing twice', async t => {
  const { database, path } = await setUp(t)
  const killer = (async () => {
    for (let kills = 0; kills < 12; kills++) {
      await new Promise(resolve => setTimeout(resolve, 100))
      await killWriters(database)
    }
  })()
  const answered: string[] = []
  // A connection that is killed while it opens counts as unavailable. Nothing was stored then, so the write is sent
  // again.
  const persist = async <T>(write: () => Promise<T>): Promise<T> => {
    for (;;) {
      try {
        return await write()
      } catch (error) {
        if (!(error instanceof Refusal) || !error.message.includes('nothing was stored')) throw error
      }
    }
  }
  const streams = Array.from({ length: 8 }, async () => {
    for (let i = 0; i < 12; i++) {
      const start = startBody()
      const { id } = start.trace
      const more = bytes(spansBody(span(), span()))
      const end = bytes(endBody({ spans: [span()] }))
      const started = await persist(() => path.record(key, bytes(start)))
      const appended = await persist(() => path.append(key, id, more))
      const ended = await persist(() => path.end(key, id, end))
      t.match([started, appended, ended], [{ duplicate: false }, { added: 2 }, { duplicate: false, spanCount: 3 }])
      answered.push(id)
    }
  })
  await Promise.all(streams)
  await killer
  const found = await audit(database)
  t.equal(found.traces, answered.length)
  t.equal(found.spans, answered.length * 3)
  await checkAudit(t, database)
})

t.test('a request that the database rejects does not fail its neighbours', async t => {
  const { database, path } = await setUp(t)
  await database.pool.run(sql => sql`alter table traces add constraint no_poison check (name <> 'poison')`)
  const bodies = Array.from({ length: 30 }, (_, i) => bytes(ingestBody({ name: i === 17 ? 'poison' : `n${i}` })))
  const results = await Promise.allSettled(bodies.map(body => path.record(key, body)))
  t.equal(results.filter(result => result.status === 'fulfilled').length, 29)
  t.equal(results[17]?.status, 'rejected')
  await checkAudit(t, database)
})

t.test('a store that rejects writes leads to 429 with nothing stored, and recovers by itself', async t => {
  const { database, path } = await setUp(t)
  const body = bytes(ingestBody())
  await path.record(key, bytes(ingestBody()))
  const name = (await database.pool.run(sql => sql`select current_database() as name`))[0]?.name
  await runOnNodes(database, `alter database ${name} set default_transaction_read_only = on`)
  await killWriters(database)
  t.equal(await outcome(path.record(key, body)), 'quota_exhausted')
  await runOnNodes(database, `begin read write; alter database ${name} reset default_transaction_read_only; commit`)
  await killWriters(database)
  t.match(await path.record(key, body), { duplicate: false })
  await checkAudit(t, database)
})

t.test('operations that arrive while one lane is blocked are written by the other', async t => {
  const { database, path } = await setUp(t)
  const start = startBody()
  await path.record(key, bytes(start))
  const holder = database.connect()
  t.teardown(() => holder.end())
  await holder.unsafe('begin; select from traces where project_id = 1 for update')
  const held = path.append(key, start.trace.id, bytes(spansBody(span())))
  let waiting: readonly unknown[] = []
  while (waiting.length === 0) {
    waiting = isOnCluster()
      ? await database.pool.run(sql => sql`select from citus_lock_waits`)
      : await holder`select from pg_stat_activity
          where datname = current_database() and application_name like '%writer' and wait_event_type = 'Lock'`
  }
  t.match(await path.record(key, bytes(ingestBody())), { duplicate: false })
  await holder.unsafe('commit')
  t.match(await held, { added: 1 })
  await checkAudit(t, database)
})

t.test('a full queue rejects requests before reading them', async t => {
  const { path } = await setUp(t)
  const rooms: { release(): void }[] = []
  const fill = () => {
    for (let i = 0; i < 200; i++) rooms.push(path.admit(2 * 1024 * 1024))
  }
  t.throws(fill, { code: 'quota_exhausted' })
  for (const room of rooms) {
    room.release()
    room.release()
  }
  t.doesNotThrow(() => path.admit(2 * 1024 * 1024).release())
})

t.test('a connection whose first batch had a lock timeout accepts the next batches', async t => {
  const database = await testDatabase(t)
  const settings = { lock_timeout: '100ms' }
  const connect: TestDatabase['connect'] = (options, onSocket) =>
    database.connect({ ...options, settings: { ...options?.settings, ...settings } }, onSocket)
  const path = testWritePath(t, { ...database, connect })
  const unlock = await lockTable(t, database, 'traces', 'exclusive')
  const record = () => path.record(key, bytes(ingestBody()))
  for (let i = 0; i < 3; i++) t.equal(await outcome(record()), 'quota_exhausted')
  await unlock()
  for (let i = 0; i < 3; i++) t.match(await record(), { duplicate: false })
})
