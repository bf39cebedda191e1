import t, { type Test } from 'tap'
import { DIGESTS_PER_RESEND, LEAST_BODIES, MAX_BYTES, Resends } from '../../../lib/ingest/resends.ts'
import { deleteTrace } from '../../../lib/store/trace/deletion.ts'
import { makeReady, type ReadyRecord } from '../../../lib/threads/ready.ts'
import { endBody, ingestBody, span, startBody } from '../../fixtures/bodies/bodies.ts'
import { isOnCluster, testDatabase } from '../../fixtures/database/database.ts'
import { bytes, testWritePath, writer } from '../../fixtures/database/write-path.ts'

const key = writer()

/** Returns a write path and a separate Resends, both of which have seen a resend and thus expect more. */
async function setUp(t: Test) {
  const database = await testDatabase(t)
  const path = testWritePath(t, database)
  const body = bytes(ingestBody())
  await path.record(key, body)
  await path.record(key, body)
  const resends = new Resends(database.pool, isOnCluster)
  resends.noteResend()
  return { database, path, resends }
}

t.test('a recorded body is answered without a write', async t => {
  const { database, path } = await setUp(t)
  const body = bytes(ingestBody({ spans: [span()] }))
  const { traceId } = await path.record(key, body)
  await database.pool.run(sql =>
    sql.begin(async sql => {
      // An insert waits for the end of this transaction.
      await sql`lock table traces in share mode`
      t.same(await path.record(key, body), { traceId, spanCount: 1, duplicate: true, running: false })
    })
  )
})

t.test("the database determines the trace's current state", async t => {
  const { database, path } = await setUp(t)
  const body = startBody()
  const traceId = body.trace.id
  await path.record(key, bytes(body))
  await path.end(key, traceId, bytes(endBody({ spans: [span()] })))
  t.match(await path.record(key, bytes(body)), { duplicate: true, running: true, spanCount: 1 }, 'it has grown')
  t.match(await path.record(writer({ projectId: 2 }), bytes(body)), { duplicate: false }, 'of another project')

  await database.pool.run(sql => deleteTrace(sql, key.projectId, traceId))
  t.match(await path.record(key, bytes(body)), { duplicate: false, spanCount: 0 }, 'deleted and recorded again')
  await database.pool.run(sql => deleteTrace(sql, key.projectId, traceId))
  await path.record(key, bytes(ingestBody({ id: traceId })))
  await t.rejects(path.record(key, bytes(body)), { code: 'trace_id_conflict' }, 'another trace took its id')
})

/** Returns a body and the operation prepared from it. */
function recordedBody(spans: number) {
  const body = bytes(ingestBody({ spans: Array.from({ length: spans }, () => span()) }))
  const result = makeReady({ operation: 'record', body, environment: null, hurries: true }) as { ready: ReadyRecord }
  return { body, ready: result.ready }
}

t.test('answers many concurrent resends, each with its own result; unknown traces are not found', async t => {
  const { path, resends } = await setUp(t)
  const all = Array.from({ length: 40 }, (_, i) => recordedBody(i % 3))
  const isStored = (i: number) => i % 4 > 0
  await Promise.all(all.filter((_, i) => isStored(i)).map(({ body }) => path.record(key, body)))
  const find = (body: Uint8Array) => resends.find(key.projectId, resends.keyOf(key.projectId, body) as string)
  t.equal(await find(all[1]!.body), undefined, 'unknown')
  for (const { body, ready } of all) resends.remember(resends.keyOf(key.projectId, body) as string, ready)
  const found = await Promise.all(all.map(({ body }) => find(body)))
  for (const [i, answer] of found.entries()) {
    const { traceId } = all[i]!.ready
    t.same(answer, isStored(i) ? { traceId, spanCount: i % 3, duplicate: true, running: false } : undefined)
  }
})

t.test('answers concurrent resends from several projects', async t => {
  const { path, resends } = await setUp(t)
  const projects = Array.from({ length: 8 }, (_, i) => i + 1)
  const found = await Promise.all(
    projects.map(async projectId => {
      const { body, ready } = recordedBody(projectId)
      await path.record(writer({ projectId }), body)
      const key = resends.keyOf(projectId, body) as string
      resends.remember(key, ready)
      return () => resends.find(projectId, key)
    })
  )
  const answers = await Promise.all(found.map(find => find()))
  t.same(
    answers.map(answer => answer?.spanCount),
    projects
  )
})

t.test('forgets the oldest digests, and computes none of large bodies', async t => {
  const { path, resends } = await setUp(t)
  const [first, second] = [recordedBody(0), recordedBody(1)]
  for (const { body } of [first, second]) await path.record(key, body)
  const keyOf = ({ body }: { body: Uint8Array }) => resends.keyOf(key.projectId, body) as string
  resends.remember(keyOf(first), first.ready)
  resends.remember(keyOf(second), second.ready)
  for (let i = 0; i < LEAST_BODIES; i++) resends.remember(`other ${i}`, first.ready)
  t.match(await resends.find(key.projectId, keyOf(second)), { duplicate: true }, 'that many are remembered')
  resends.remember(keyOf(second), second.ready)
  for (let i = 0; i < LEAST_BODIES; i++) resends.remember(`another ${i}`, first.ready)
  t.equal(await resends.find(key.projectId, keyOf(first)), undefined, 'older ones are not')
  t.match(
    await resends.find(key.projectId, keyOf(second)),
    { duplicate: true },
    'when recorded again, it is a late resend'
  )
  t.equal(resends.keyOf(1, Buffer.alloc(MAX_BYTES + 1)), undefined)
})

t.test('computes digests of bodies only while resends arrive', async t => {
  const { path, resends } = await setUp(t)
  const { body, ready } = recordedBody(0)
  await path.record(key, body)
  t.equal(new Resends((await testDatabase(t)).pool, () => false).keyOf(1, body), undefined, 'none has arrived yet')
  const name = resends.keyOf(key.projectId, body) as string
  const digest = (count: number) => Array.from({ length: count }, () => resends.keyOf(key.projectId, body))
  t.same(new Set(digest(DIGESTS_PER_RESEND - 1)), new Set([name]))
  t.equal(resends.keyOf(key.projectId, body), undefined, 'no more arrived')
  resends.remember(name, ready)
  t.match(await resends.find(key.projectId, name), { duplicate: true })
  t.equal(resends.keyOf(key.projectId, body), name, 'one that was found also counts')
})

t.test('if the database cannot be read, nothing is found', async t => {
  const { database, resends } = await setUp(t)
  const { body, ready } = recordedBody(0)
  const name = resends.keyOf(key.projectId, body) as string
  resends.remember(name, ready)
  await database.pool.end()
  t.equal(await resends.find(key.projectId, name), undefined)
})
