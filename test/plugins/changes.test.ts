import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Sql } from 'postgres'
import t from 'tap'
import { setPrice } from '../../lib/admin/prices.ts'
import { pruneAll } from '../../lib/admin/upkeep/pruning.ts'
import { recomputeCosts } from '../../lib/admin/upkeep/recompute.ts'
import { recountProject } from '../../lib/admin/upkeep/recount.ts'
import { openSingle } from '../../lib/database/pooled/single-connection.ts'
import { changedTraces } from '../../lib/moving/export-changes.ts'
import { exportPages } from '../../lib/moving/export-project.ts'
import type { ExportChoice } from '../../lib/store/answers/export-page.ts'
import { IDS_IN_SQL, readChanges } from '../../lib/store/changes/changes.ts'
import { dropOldChanges, foldChanges } from '../../lib/store/changes/fold.ts'
import { decodePosition, encodePosition, type Position } from '../../lib/store/changes/position.ts'
import { addVerdict } from '../../lib/store/evaluations.ts'
import { addScore } from '../../lib/store/trace/scores.ts'
import { inTransaction } from '../../lib/store/transactions.ts'
import { endBody, ingestBody, span, spanId, spansBody, startBody, traceId } from '../fixtures/bodies/bodies.ts'
import { exportOf, otlpSpan } from '../fixtures/bodies/otlp.ts'
import { logsOf } from '../fixtures/bodies/otlp-logs.ts'
import { databaseAt, isOnCluster } from '../fixtures/database/database.ts'
import { repackAll } from '../fixtures/database/repacking.ts'
import { READ_ONLY, testRole } from '../fixtures/database/roles.ts'
import { seedProject, seedTraces } from '../fixtures/database/seed.ts'
import { relabelAll } from '../fixtures/database/upkeep.ts'
import { type TestService, testService } from '../fixtures/service/service.ts'
import { runs } from '../torture/orders.ts'

const TRACES = '/api/v1/traces'
const CHANGES = '/api/v1/changes'
const OTLP = '/api/v1/otlp/v1'
const NUMBER = { name: 'quality', dataType: 'numeric', value: 1 }

interface Page {
  readonly traces: readonly { readonly id: string }[]
  readonly nextCursor: string
  readonly caughtUp: boolean
  readonly pageSize: number
}

const path = (after?: string, limit?: number) => {
  const search = new URLSearchParams()
  if (after !== undefined) search.set('after', after)
  if (limit !== undefined) search.set('limit', String(limit))
  return search.size === 0 ? CHANGES : `${CHANGES}?${search}`
}

async function read({ call }: TestService, after?: string, limit?: number): Promise<Page> {
  const { status, body, text } = await call('GET', path(after, limit))
  assert.equal(status, 200, text)
  return body
}

/** Reads pages until the end. Returns the ids of all pages in order, and the last cursor. */
async function sync(service: TestService, after?: string, limit?: number) {
  const ids: string[] = []
  for (let cursor = after; ; ) {
    const page = await read(service, cursor, limit)
    ids.push(...page.traces.map(({ id }) => id))
    cursor = page.nextCursor
    if (page.caughtUp) return { ids, cursor }
  }
}

async function record({ call }: TestService, body = ingestBody()): Promise<string> {
  const { status, text } = await call('POST', TRACES, { body })
  assert.equal(status, 201, text)
  return body.trace.id
}

t.test('a first sync lists all stored traces, and later syncs list later writes', async t => {
  const service = await testService(t)
  const { call } = service
  const empty = await read(service)
  t.match(empty, { traces: [], caughtUp: true, pageSize: 50 })
  t.same(await read(service, empty.nextCursor), empty)
  const ids: string[] = []
  for (let i = 0; i < 5; i++) ids.push(await record(service))
  t.same((await sync(service, empty.nextCursor)).ids, ids, 'the first cursor continues')
  for (const limit of [1, 2, 5, 500]) t.same((await sync(service, undefined, limit)).ids, ids, `pages of ${limit}`)
  const first = await read(service, undefined, 2)
  t.equal(first.caughtUp, false)
  const late = await record(service)
  await call('DELETE', `${TRACES}/${ids[3]}`)
  await call('POST', `${TRACES}/${ids[0]}/scores`, { body: NUMBER })
  const rest = await sync(service, first.nextCursor, 2)
  t.same(rest.ids, [ids[2], ids[4], ids[0], late], 'changes during the first sync are listed after it')
  const listed = (await call('GET', TRACES)).body.traces
  const { traces } = await read(service)
  t.same(
    traces.map(({ id }) => id),
    [ids[0], ids[1], ids[2], ids[4], late]
  )
  t.same(
    traces,
    traces.map(({ id }) => listed.find((each: { id: string }) => each.id === id)),
    'a trace is shown as in the list'
  )
})

t.test('after=now lists the writes from now on', async t => {
  const service = await testService(t)
  const empty = await read(service, 'now')
  t.match(empty, { traces: [], caughtUp: true })
  const first = await record(service)
  t.same((await sync(service, empty.nextCursor)).ids, [first])
  const { nextCursor } = await read(service, 'now', 1)
  t.same((await sync(service, nextCursor)).ids, [], 'earlier writes are not listed')
  const late = await record(service, ingestBody({ startedAt: '2020-01-01T00:00:00Z', endedAt: '2020-01-01T00:00:01Z' }))
  t.same((await sync(service, nextCursor)).ids, [late], 'whenever it started')
})

t.test('a trace is listed after each change, once per page, and not after its deletion or repacking', async t => {
  const service = await testService(t)
  const { call, database } = service
  const run = <T>(work: (sql: Sql) => Promise<T>) => database.pool.run(work)
  let { cursor } = await sync(service)
  const next = async () => {
    const { ids, cursor: after } = await sync(service, cursor)
    cursor = after
    return ids
  }
  const post = async (path: string, body: object, status = 200) =>
    assert.equal((await call('POST', path, { body })).status, status)

  const id = await record(service, startBody())
  t.same(await next(), [id])
  const step = span({ kind: 'llm', output: 'x' })
  await post(`${TRACES}/${id}/spans`, spansBody(step))
  t.same(await next(), [id], 'an append')
  await post(`${TRACES}/${id}/spans`, spansBody(step))
  t.same(await next(), [], 'a resend')
  await post(`${TRACES}/${id}/end`, endBody({ status: 'ok' }))
  t.same(await next(), [id], 'an end')
  await call('PATCH', `${TRACES}/${id}`, { body: { metadata: { a: 1 } } })
  t.same(await next(), [id], 'a patch')
  await call('PATCH', `${TRACES}/${id}`, { body: { metadata: { a: 1 } } })
  t.same(await next(), [], 'a patch that changes nothing')
  await post(`${TRACES}/${id}/scores`, NUMBER, 201)
  t.same(await next(), [id], 'a score')
  const { scores } = (await call('GET', `${TRACES}/${id}/scores`)).body
  await call('DELETE', `${TRACES}/${id}/scores/${scores[0].id}`)
  t.same(await next(), [id], 'a score that is deleted')
  const { bodyHash } = (await call('GET', `${TRACES}/${id}`)).body.trace
  const verdict = { ...NUMBER, evaluatorId: 'judge', runId: 'run', comment: null, spanId: null }
  t.equal(await run(sql => addVerdict(sql, 1, { id, hash: bodyHash }, verdict)), 'added')
  t.same(await next(), [id], 'a verdict of an evaluator')

  const [grown, step1] = [traceId(), spanId()]
  const attributes = { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'own', 'gen_ai.usage.input_tokens': 5 }
  await post(
    `${OTLP}/traces`,
    exportOf(otlpSpan({ traceId: grown, spanId: step1, parentSpanId: spanId(), attributes }))
  )
  t.same(await next(), [grown], 'an export')
  await post(`${OTLP}/traces`, exportOf(otlpSpan({ traceId: grown })))
  t.same(await next(), [grown], 'growth')
  const messageTo = (traceId: string) =>
    logsOf([{ traceId, spanId: step1, at: 0.5, eventName: 'gen_ai.user.message', body: { content: 'hello' } }])
  await post(`${OTLP}/logs`, messageTo(grown))
  t.same(await next(), [grown], 'a message of a log record')
  await post(`${OTLP}/logs`, messageTo(traceId()))
  t.same(await next(), [], 'a message whose trace has not arrived')

  await run(sql => setPrice(sql, { project: 'default', model: 'own', input: 1, output: 1 }))
  await run(sql => recomputeCosts(sql, { project: 'default', apply: true }))
  t.same(await next(), [grown], 'a recomputed cost')
  await run(sql => sql`update traces set span_count = 7 where id = ${id}`)
  await run(sql => recountProject(sql, 'default', true))
  t.same(await next(), [id], 'a count that is corrected')
  await run(sql => relabelAll(sql, { project: 'default', environment: 'prod' }))
  t.same((await next()).sort(), [id, grown].sort(), 'an environment that is set')

  await run(sql => repackAll(sql, 1))
  t.same(await next(), [], 'repacking')
  await call('PATCH', `${TRACES}/${id}`, { body: { metadata: { a: 2 } } })
  await post(`${TRACES}/${grown}/scores`, NUMBER, 201)
  await post(`${TRACES}/${id}/scores`, NUMBER, 201)
  t.equal((await next()).length, 2, 'several changes')
  await call('DELETE', `${TRACES}/${id}`)
  t.same(await next(), [], 'a deletion')
})

t.test('a write that commits late is listed late, on any server, and delays no other write', async t => {
  const one = await testService(t)
  const two = await testService(t, { database: one.database })
  const held = await record(one)
  const { cursor } = await sync(one)
  const single = await openSingle(one.database, { applicationName: 'held' })
  t.teardown(() => single.end())
  await single`begin`
  t.ok(await addScore(single, 1, held, { ...NUMBER, comment: null, spanId: null }))
  const [first, second] = [await record(one), await record(two)]
  const seen = await sync(two, cursor)
  t.same(seen.ids.sort(), [first, second].sort(), 'writes beside an open transaction are listed')
  await single`commit`
  t.same((await sync(one, seen.cursor)).ids, [held], 'its write is listed after its commit')
})

t.test(
  'a server that cannot write lists changes that already have a position',
  { skip: isOnCluster() && 'roles of a cluster must be made on every node' },
  async t => {
    const service = await testService(t)
    const { database } = service
    const { target } = await testRole(t, database, ...READ_ONLY)
    const { connect, limit, node } = databaseAt(target)
    const reader = await testService(t, { database, view: { connect, limit, node } })
    const none = { status: 503, body: { error: { code: 'unavailable' } } }
    t.match(await reader.call('GET', CHANGES), none, 'there is no order yet')
    const { cursor } = await sync(service)
    const first = await record(service)
    t.same(
      (await read(service, cursor)).traces.map(({ id }) => id),
      [first]
    )
    await record(service)
    const page = await read(reader, cursor)
    t.same([page.traces.map(({ id }) => id), page.caughtUp], [[first], false])
  }
)

t.test('a reader of a project under constant writes catches up', async t => {
  const service = await testService(t)
  const id = await record(service)
  const { cursor } = await sync(service)
  await service.database.pool.run(sql =>
    // No background round folds the note before it is committed.
    inTransaction(sql, async () => {
      await sql`insert into change_news (project_id, seqs) select project_id, array[seq] from traces`
      const asked = { projectId: 1, after: decodePosition(cursor), limit: 10, text: IDS_IN_SQL }
      t.match(await readChanges(sql, { ...asked, isFolded: true }), { isLast: true, text: null })
      t.match(await readChanges(sql, asked), { isLast: false })
    })
  )
  t.match(await read(service, cursor), { traces: [{ id }], caughtUp: true })
})

t.test('concurrent readers see every write that precedes their request', async t => {
  const service = await testService(t)
  const { cursor } = await sync(service)
  const ids = new Set<string>()
  const readers = Array.from({ length: 40 }, async (_, i) => {
    if (i % 4 === 0) ids.add(await record(service))
    const known = [...ids]
    const seen = (await read(service, cursor, 500)).traces.map(({ id }) => id)
    t.ok(known.every(id => seen.includes(id)))
  })
  await Promise.all(readers)
  t.same((await sync(service, cursor)).ids.sort(), [...ids].sort())
})

t.test('a page can begin within a row of the log', async t => {
  const service = await testService(t)
  const { cursor } = await sync(service)
  const { pool } = service.database
  await pool.run(async sql => {
    await seedTraces(
      sql,
      1,
      Array.from({ length: 1300 }, () => ({}))
    )
    await sql`
      insert into change_news (project_id, seqs) select project_id, array_agg(seq) from traces
      where project_id = 1 group by project_id`
  })
  const { ids } = await sync(service, cursor, 400)
  t.equal(ids.length, 1300)
  t.equal(new Set(ids).size, 1300)
  t.same(await pool.run(sql => sql`select cardinality(seqs) as n from change_log order by place`), [
    { n: 1000 },
    { n: 300 }
  ])
})

t.test('a cursor that cannot be continued is rejected with advice', async t => {
  const service = await testService(t)
  const { call, database, makeKey, makeProject } = service
  const { pool } = database
  await makeProject('other')
  const { key } = await makeKey({ project: 'other' })
  await record(service)
  await record(service)
  const walking = (await read(service, undefined, 1)).nextCursor
  const { cursor } = await sync(service)
  const wrong = ['x', `${cursor}=`, (await call('GET', `${TRACES}?limit=1`)).body.nextCursor]
  const at = decodePosition(cursor)!
  t.equal(encodePosition(at), cursor)
  for (const after of wrong) {
    const answer = await call('GET', path(after))
    t.match(answer, {
      status: 400,
      body: { error: { code: 'invalid_request', message: /^after: must be a nextCursor/ } }
    })
  }
  for (const search of ['limit=0', 'limit=501', 'limit=05', 'limit=1&limit=1', 'after=', 'after=x&after=x', 'from=x']) {
    t.match(await call('GET', `${CHANGES}?${search}`), { status: 400, body: { error: { code: 'invalid_request' } } })
  }
  const expired = (message: RegExp) => ({ status: 410, body: { error: { code: 'cursor_expired', message } } })
  t.match(
    await call('GET', path(cursor), { key }),
    expired(/^after: the cursor is from another database or project: start/)
  )
  t.equal((await call('GET', CHANGES, { key })).status, 200)
  t.match(await call('GET', path(cursor), { key }), expired(/another database or project/))
  const future = encodePosition({ ...at, place: at.place + 1 })
  t.match(await call('GET', path(future)), expired(/restored to a state before this cursor: start again/))

  await pool.run(async sql => {
    t.equal(await dropOldChanges(sql, 1), 0, 'new rows are kept')
    await sql`update change_log set noted_at = now() - interval '31 days'`
  })
  const late = await record(service)
  const page = await read(service, cursor)
  t.same(
    page.traces.map(({ id }) => id),
    [late]
  )
  await pool.run(async sql => {
    t.ok((await dropOldChanges(sql, 1)) > 0)
    t.equal(await dropOldChanges(sql, 1), 0)
    t.equal((await sql`select from change_log where project_id = 1`).length, 1)
  })
  t.equal((await read(service, cursor)).traces.length, 1, 'a cursor behind which nothing was dropped continues')
  await pool.run(async sql => {
    await sql`update change_log set noted_at = now() - interval '31 days'`
    await dropOldChanges(sql, 1)
  })
  t.equal((await read(service, page.nextCursor)).caughtUp, true)
  t.match(await call('GET', path(cursor)), expired(/kept for 30 days, and this cursor is older: start again/))
  t.match(await call('GET', path(walking)), expired(/kept for 30 days/))
  t.equal((await sync(service)).ids.length, 3)
})

t.test('folds by several processes give each write one position', async t => {
  const { database } = await testService(t)
  const { pool } = database
  const project = await pool.run(sql => seedProject(sql))
  const notes = 40
  await pool.run(async sql => {
    for (let i = 1; i <= notes; i++) {
      await sql`insert into change_news (project_id, seqs) values (${project}, ${[i]}::bigint[])`
    }
  })
  const folded = await Promise.all(Array.from({ length: 8 }, () => pool.run(sql => foldChanges(sql, project, 7))))
  t.equal(
    folded.reduce((sum, each) => sum + each, 0),
    notes
  )
  const places = await pool.run(
    sql => sql`select place, seqs from change_log where project_id = ${project} order by place`
  )
  t.same(
    places.map(({ place }) => place),
    places.map((_, i) => i + 1)
  )
  t.equal(new Set(places.flatMap(({ seqs }) => seqs)).size, notes)
})

const which = fc.nat({ max: 3 })
const someStep = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constantFrom('record', 'start', 'append', 'end', 'export', 'patch', 'score', 'unscore', 'delete'),
      which,
      server: fc.nat({ max: 1 })
    })
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('hold', 'let go') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('fold' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('export' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('relabel' as const), environment: fc.constantFrom('prod', 'unassigned') })
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('prune' as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('read' as const),
      copy: fc.nat({ max: 1 }),
      limit: fc.integer({ min: 1, max: 4 })
    })
  }
)

/** A copy of the project, kept up to date as the guide says: each trace that is listed is fetched. */
class Copy {
  readonly traces = new Map<string, string>()
  cursor: string | undefined

  async read(service: TestService, limit: number): Promise<boolean> {
    const page = await read(service, this.cursor, limit)
    for (const { id } of page.traces) {
      const { status, text } = await service.call('GET', `${TRACES}/${id}`)
      if (status === 200) this.traces.set(id, text)
      else this.traces.delete(id)
    }
    this.cursor = page.nextCursor
    return page.caughtUp
  }
}

/** A copy that is kept up to date by `spoor export --since`. */
class Exported {
  readonly lines = new Map<string, string>()
  #at: Position | undefined

  async read(sql: Sql): Promise<void> {
    for await (const { ids, next } of changedTraces(sql, 1, this.#at, { atOnce: 3, remembered: 2 })) {
      if (ids.length > 0) for (const [id, line] of await linesById(sql, { ids })) this.lines.set(id, line)
      this.#at = next
    }
  }
}

async function linesById(sql: Sql, choice: ExportChoice = {}): Promise<Map<string, string>> {
  const pieces: Buffer[] = []
  for await (const { lines } of exportPages(sql, 1, choice)) pieces.push(lines)
  const lines = Buffer.concat(pieces).toString().split('\n').slice(0, -1)
  return new Map(lines.map(line => [JSON.parse(line).trace.id, line]))
}

t.test('a copy is complete, whatever is recorded, changed and deleted meanwhile', async t => {
  const one = await testService(t)
  const two = await testService(t, { database: one.database })
  const { pool } = one.database
  const single = await openSingle(one.database, { applicationName: 'held' })
  t.teardown(() => single.end())
  let serial = 0
  await fc.assert(
    fc.asyncProperty(fc.array(someStep, { minLength: 5, maxLength: 40 }), async steps => {
      const ids = Array.from({ length: 4 }, () => traceId())
      const held = await record(one)
      const copies = [new Copy(), new Copy()]
      const exported = new Exported()
      let isHeld = false
      const letGo = async () => {
        if (isHeld) await single`commit`
        isHeld = false
      }
      try {
        for (const step of steps) {
          if (step.do === 'read') await copies[step.copy]!.read(one, step.limit)
          else if (step.do === 'export') await pool.run(sql => exported.read(sql))
          else if (step.do === 'fold') await pool.run(sql => foldChanges(sql, 1, 2))
          else if (step.do === 'relabel') {
            const { environment } = step
            await pool.run(sql => relabelAll(sql, { project: 'default', environment, tag: 'free' }))
          } else if (step.do === 'prune') await pool.run(sql => pruneAll(sql, 1, { tag: 'free', status: 'error' }))
          else if (step.do === 'let go') await letGo()
          else if (step.do === 'hold') {
            if (isHeld) continue
            await single`begin`
            isHeld = true
            await addScore(single, 1, held, { ...NUMBER, comment: null, spanId: null })
          } else if ('which' in step) await send(step.server === 0 ? one : two, step.do, ids[step.which]!, ++serial)
        }
      } finally {
        await letGo()
      }
      await pool.run(async sql => {
        await exported.read(sql)
        for (const [id, line] of await linesById(sql)) assert.equal(exported.lines.get(id), line)
      })
      for (const copy of [...copies, new Copy()]) {
        while (!(await copy.read(two, 3)));
        for (const id of [...ids, held]) {
          const { status, text } = await one.call('GET', `${TRACES}/${id}`)
          // Deletions are not listed, so a copy may have a trace that was deleted.
          if (status === 200) assert.equal(copy.traces.get(id), text)
        }
        assert.equal((await read(one, copy.cursor)).traces.length, 0)
      }
    }),
    runs(5)
  )
})

async function send({ call }: TestService, what: string, id: string, n: number): Promise<void> {
  const post = (path: string, body: object) => call('POST', path, { body })
  const otlp = () => otlpSpan({ traceId: id, ...(n % 2 === 0 ? { parentSpanId: 'f'.repeat(16) } : {}) })
  // The trace that a held transaction changes has no tag, so upkeep of traces with the tag does not wait.
  const tags = ['free']
  const requests: Record<string, () => Promise<unknown>> = {
    record: () => post(TRACES, ingestBody({ id, input: n, tags, status: n % 4 === 0 ? 'error' : 'ok' })),
    start: () => post(TRACES, startBody({ id, input: n, tags })),
    append: () => post(`${TRACES}/${id}/spans`, spansBody(span())),
    end: () => post(`${TRACES}/${id}/end`, endBody()),
    export: () => post(`${OTLP}/traces`, exportOf(otlp())),
    patch: () => call('PATCH', `${TRACES}/${id}`, { body: { metadata: { n } } }),
    score: () => post(`${TRACES}/${id}/scores`, NUMBER),
    async unscore() {
      const { status, body } = await call('GET', `${TRACES}/${id}/scores`)
      if (status === 200 && body.scores.length > 0) await call('DELETE', `${TRACES}/${id}/scores/${body.scores[0].id}`)
    },
    delete: () => call('DELETE', `${TRACES}/${id}`)
  }
  await requests[what]!()
}
