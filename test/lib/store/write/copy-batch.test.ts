/** Reads batches of the write path back from the database, column by column. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { WritePath } from '../../../../lib/ingest/write-path.ts'
import { createLog } from '../../../../lib/log.ts'
import { traceTextValues, traceValues } from '../../../../lib/rows/column-values.ts'
import { type Column, TRACE_BODY_COLUMNS, TRACE_COLUMNS, TRACE_TEXT_COLUMNS } from '../../../../lib/rows/columns.ts'
import { textsOfTrace } from '../../../../lib/rows/trace-texts.ts'
import { prepare } from '../../../../lib/trace/prepare.ts'
import { endBody, ingestBody, span, spanId, spansBody, startBody, traceId } from '../../../fixtures/bodies/bodies.ts'
import { anyJson, anyObject, writeJson } from '../../../fixtures/bodies/odd-json.ts'
import { type TestDatabase, testDatabase } from '../../../fixtures/database/database.ts'
import { countStrays, NO_STRAYS } from '../../../fixtures/database/seed.ts'
import { readStoredSpans } from '../../../fixtures/database/stored-spans.ts'
import { bytes, testWritePath, writer } from '../../../fixtures/database/write-path.ts'
import { runs } from '../../../torture/orders.ts'

/** Returns everything that is stored for a project, except internal numbers and the time of recording. */
const readProject = (database: TestDatabase, projectId: number) =>
  database.pool.run(async sql => {
    const traces = await sql`
      select ${sql(names(TRACE_COLUMNS).map(name => `t.${name}`))}, t.input::text as input, t.output::text as output,
        t.metadata::text as metadata, t.end_hash, t.version = t.seq as "isFresh",
        t.ingested_at > now() - interval '1 minute' as "isRecent"
      from traces t where project_id = ${projectId} order by id`
    const spans = await readStoredSpans(sql, projectId)
    return traces.map(
      (trace): Record<string, unknown> => ({
        ...trace,
        spans: spans.filter(span => span.trace === trace.id).map(({ project_id, trace_seq, ...span }) => span)
      })
    )
  })

/** Reads the rows that other tables contain for a project's traces. */
const readBeside = (database: TestDatabase, projectId: number) =>
  database.pool.run(
    sql => sql`
      select array(select concat_ws('|', family, status, environment, model) from trace_families
          where project_id = ${projectId} order by family) as families,
        array(select concat_ws('|', id, tag, named_family, family, tag_family, tag_named_family, tag_user, started_at, duration_ms, cost_usd, user_id) from trace_tags
          where project_id = ${projectId} order by id, tag) as tags`
  )

const readTotals = (database: TestDatabase, projectId: number) =>
  database.pool.run(
    sql => sql`select sum(traces) as traces, sum(spans) as spans, sum(bytes) as bytes
      from project_totals where project_id = ${projectId}`
  )

const names = (columns: readonly Column[]) =>
  columns.filter(({ name, type }) => type !== 'json' && !INNER.includes(name)).map(({ name }) => name)
const INNER = ['project_id', 'seq', 'trace_seq', 'version', 'ingested_at']

const text = (maxLength: number) =>
  fc.oneof(
    fc
      .string({ minLength: 1, maxLength, unit: 'grapheme' })
      .filter(each => !each.includes('\0') && each.isWellFormed()),
    fc.constantFrom('"', '\\', '{}', 'null', 'NULL', '\\N', '\t', '\n', 'a,b', '\u0001', '\u0002', ' ', '😀', 'é')
  )
const fits = (maxLength: number) => (each: string) => [...each].length <= maxLength
const time = fc.constantFrom(
  '0001-01-01T00:00:00Z',
  '1969-12-31T23:59:59.999999Z',
  '1999-12-31T23:59:59.5Z',
  '2026-11-21 12:00:00.000001+02:00',
  '9999-12-31T23:59:59.999999Z'
)
const count = fc.oneof(fc.nat(), fc.constantFrom(0, 2 ** 31, 2 ** 32, Number.MAX_SAFE_INTEGER))
const usage = fc.record({ inputTokens: count, outputTokens: count, totalTokens: count }, { requiredKeys: [] })
const cost = fc.oneof(
  fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(0, 5e-324, 1.7976931348623157e308, 0.1)
)
const optional = { name: text(40), provider: text(40).filter(fits(200)), model: text(40), costUsd: cost, usage }
/** These texts compress well, and are so long that PostgreSQL would compress them. */
const longText = fc.constantFrom(150, 1500).map(count => 'no play \u0000é 😀\n '.repeat(count))
const spanOf = fc
  .record(
    { ...optional, input: fc.oneof(anyJson, longText), output: anyJson, attributes: anyObject, startedAt: time },
    { requiredKeys: ['startedAt'] }
  )
  .map(over => span({ ...over, endedAt: over.startedAt, id: spanId(), parentSpanId: spanId() }))
const traceOf = fc
  .record(
    {
      ...optional,
      input: anyJson,
      output: anyJson,
      metadata: anyObject,
      tags: fc.array(text(20).filter(fits(64)), { maxLength: 4 }),
      sessionId: text(20),
      userId: text(20),
      spans: fc.array(spanOf, { maxLength: 3 }),
      startedAt: time,
      runs: fc.boolean()
    },
    { requiredKeys: ['startedAt'] }
  )
  .map(({ runs, ...over }) => writeJson(runs ? startBody(over) : ingestBody({ ...over, endedAt: over.startedAt })))

/** A running trace, two batches of spans for it that may share a span, and its end. */
const streamOf = fc
  .record({
    start: fc.record({ ...optional, metadata: anyObject, tags: fc.array(text(20).filter(fits(64)), { maxLength: 3 }) }),
    spans: fc.array(spanOf, { minLength: 2, maxLength: 5 }),
    cut: fc.nat({ max: 4 }),
    isShared: fc.boolean(),
    end: fc.record(
      {
        ...optional,
        output: anyJson,
        metadata: anyObject,
        tags: fc.array(text(20).filter(fits(64)), { maxLength: 3 })
      },
      { requiredKeys: [] }
    )
  })
  .map(({ start, spans, cut, isShared, end: { name, ...end } }) => {
    const [first, second] = [spans.slice(0, cut + 1), spans.slice(isShared ? cut : cut + 1)]
    const { trace } = startBody(start)
    return {
      id: trace.id,
      start: writeJson({ schemaVersion: 1, trace }),
      appends: [first, second].filter(each => each.length > 0).map(each => writeJson(spansBody(...each))),
      end: writeJson(endBody({ ...end, spans: [span({ id: spanId() }), ...first.slice(0, 1)] }))
    }
  })

const withNewId = (body: string) => body.replace(/"id":"[0-9a-f]{32}"/, `"id":"${traceId()}"`)

/** Computes the expected values of a trace's own columns, in the form in which they are read. */
function columnsOf(body: string) {
  const trace = prepare('record', Buffer.from(body))
  const texts = textsOfTrace(trace)
  return Object.fromEntries([
    ...TRACE_BODY_COLUMNS.map(({ name }) => [name, traceValues[name](trace)]),
    ...TRACE_TEXT_COLUMNS.map(({ name }) => [name, traceTextValues[name](texts)])
  ])
}

t.test("each column of a trace has its body's value, packed or not", async t => {
  const database = await testDatabase(t)
  const path = testWritePath(t, database)
  // Under this load, the write path does not take the time to compress.
  const hurrying = testWritePath(t, database)
  hurrying.admit(0, 1000)
  let round = 0
  await fc.assert(
    fc.asyncProperty(fc.array(traceOf, { minLength: 1, maxLength: 20 }), async bodies => {
      const [first, second] = [++round, ++round]
      const environment = round % 4 === 0 ? 'prod' : null
      const record = (path: WritePath, projectId: number, bodies: readonly string[]) =>
        bodies.map(body => path.record(writer({ projectId, environment }), Buffer.from(body)))
      // The second time, the traces' families are known.
      const all = [...bodies, ...bodies.map(withNewId)]
      for (const each of [all.slice(0, bodies.length), all.slice(bodies.length)]) {
        await Promise.all([...record(path, first, each), ...record(hurrying, second, each)])
      }
      const stored = await readProject(database, first)
      assert.deepEqual(await readProject(database, second), stored)
      const expected = new Map(all.map(columnsOf).map(columns => [columns.id, columns]))
      assert.equal(stored.length, expected.size)
      for (const trace of stored) {
        for (const [name, value] of Object.entries(expected.get(trace.id as string) ?? {})) {
          if (name in trace) assert.deepEqual(trace[name], value, name)
        }
      }
      assert.deepEqual(await readBeside(database, first), await readBeside(database, second))
      assert.deepEqual(await database.pool.run(countStrays), NO_STRAYS)
      assert.deepEqual(await readTotals(database, first), await readTotals(database, second))
    }),
    runs(8)
  )
  const [packed] = await database.pool.run(
    sql => sql`select count(packed) > 0 and count(*) filter (where length(input::text) > 1000) > 0 as both from spans`
  )
  t.equal(packed?.both, true, 'some texts are packed, and others are not')
})

t.test('appends and ends have the same result, whether decided from remembered or read states', async t => {
  const database = await testDatabase(t)
  const remembering = testWritePath(t, database)
  let round = 0
  await fc.assert(
    fc.asyncProperty(fc.array(streamOf, { minLength: 1, maxLength: 12 }), async streams => {
      const projects = [++round, ++round] as const
      const stages: ((path: WritePath, project: number, stream: (typeof streams)[number]) => unknown)[] = [
        (path, projectId, { start }) => path.record(writer({ projectId }), Buffer.from(start)),
        (path, projectId, { id, appends }) =>
          Promise.all(appends.map(each => path.append(writer({ projectId }), id, Buffer.from(each)))),
        (path, projectId, { id, end }) => path.end(writer({ projectId }), id, Buffer.from(end))
      ]
      for (const stage of stages) {
        // A process that has just started has no cached state.
        const starting = new WritePath(database, { workers: 1, trialTraces: undefined }, createLog('silent'))
        const [first, second] = await Promise.all(
          [remembering, starting].map((path, i) =>
            Promise.all(streams.map(stream => stage(path, projects[i] as number, stream)))
          )
        )
        await starting.close()
        assert.deepEqual(first, second)
        const [stored, other] = await Promise.all(projects.map(project => readProject(database, project)))
        assert.equal(stored?.length, streams.length)
        assert.deepEqual(stored, other)
      }
      for (const read of [readBeside, readTotals])
        assert.deepEqual(await read(database, projects[0]), await read(database, projects[1]))
      assert.deepEqual(await database.pool.run(countStrays), NO_STRAYS)
    }),
    runs(1)
  )
})

t.test('large appends by two processes to the same traces are stored once each', async t => {
  const database = await testDatabase(t)
  const paths = [testWritePath(t, database), testWritePath(t, database)]
  const starts = Array.from({ length: 3 }, () => startBody())
  for (const start of starts) await paths[0]?.record(writer(), bytes(start))
  const large = () => span({ output: 'all work and no play '.repeat(1500) })
  const sent = Array.from({ length: 24 }, (_, i) => ({
    id: (starts[i % 3] as (typeof starts)[number]).trace.id,
    body: bytes(spansBody(large(), large(), large()))
  }))
  const answers = await Promise.all(
    [...sent, ...sent].map(({ id, body }, i) => paths[(i + (i >= 24 ? 1 : 0)) % 2]?.append(writer(), id, body))
  )
  t.equal(
    answers.reduce((sum, answer) => sum + (answer?.added ?? 0), 0),
    72
  )
  t.match(
    await database.pool.run(
      sql => sql`select span_count, (select count(*)::int from spans s
      where s.project_id = t.project_id and s.trace_seq = t.seq) as stored from traces t`
    ),
    [1, 2, 3].map(() => ({ span_count: 24, stored: 24 }))
  )
})

t.test('an existing trace undoes the copy of its neighbours, which are then written anyway', async t => {
  const database = await testDatabase(t)
  const path = testWritePath(t, database)
  const body = (id: string) => bytes(ingestBody({ id, spans: [span()] }))
  const known = body(traceId())
  await path.record(writer(), known)
  for (let round = 0; round < 12; round++) {
    const bodies = [body(traceId()), known, body(traceId())]
    const answers = await Promise.all(bodies.map(each => path.record(writer(), each)))
    t.same(
      answers.map(({ duplicate }) => duplicate),
      [false, true, false]
    )
  }
  t.equal((await readProject(database, 1)).length, 25)
})
