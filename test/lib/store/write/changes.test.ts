/**
 * Tests, each on its own, the statements that change stored traces. In the service, a connection for COPY runs the
 * statements together.
 */
import type { Sql } from 'postgres'
import t from 'tap'
import { changedTrace, changesOf, type Execution, prepareChanges } from '../../../../lib/store/write/changes.ts'
import { tablesOf } from '../../../../lib/store/write/homes.ts'
import { readTraceStates } from '../../../../lib/store/write/trace-state.ts'
import { makeReady } from '../../../../lib/threads/ready.ts'
import { type DecidedOperation, decide } from '../../../../lib/trace/states/decide.ts'
import { AT, endBody, LATER, span, spansBody } from '../../../fixtures/bodies/bodies.ts'
import { testDatabase } from '../../../fixtures/database/database.ts'
import { freshId, type SeedTrace, seedProject, seedTraces } from '../../../fixtures/database/seed.ts'
import { bytes } from '../../../fixtures/database/write-path.ts'

const database = await testDatabase(t)

/** Runs `work` on one connection, which keeps its prepared statements. */
const onConnection = (work: (sql: Sql) => Promise<void>) =>
  database.pool.run(async sql => {
    const [{ count }] = await sql<[{ count: number }]>`
      select count(*)::int from pg_prepared_statements where name = 'change_append'`
    if (count === 0) for (const statement of prepareChanges(tablesOf(undefined))) await sql.unsafe(statement)
    await work(sql)
  })

/** Stores a running trace in a project. */
async function seedRunning(sql: Sql, projectId: number, over: SeedTrace = {}) {
  const traceId = freshId(32)
  await seedTraces(sql, projectId, [{ id: traceId, status: 'running', durationMs: null, startedAt: AT, ...over }])
  return { projectId, traceId }
}
type Target = Awaited<ReturnType<typeof seedRunning>>

/** Decides the change that a body makes to the trace in its current state. */
async function changeBy(
  sql: Sql,
  { projectId, traceId }: Target,
  operation: 'append' | 'end',
  body: object,
  version = 7
) {
  const look = { projectId, traceId, spanIds: [], detail: operation === 'end' ? ('end' as const) : ('none' as const) }
  const [state] = await readTraceStates(sql, [look])
  const result = makeReady({ operation, body: bytes(body), environment: null, hurries: false })
  if (state === undefined || !('ready' in result)) throw new Error('the trace is stored, and the body is right')
  const decision = decide(state, { ...result.ready, environment: null } as DecidedOperation)
  if (decision.type !== 'change') throw new Error(JSON.stringify(decision))
  return changedTrace({ projectId, traceId, state, version }, decision.change, undefined)
}

async function run(sql: Sql, executions: readonly Execution[]): Promise<void> {
  const literal = (text: string) => `'${text.replaceAll("'", "''")}'`
  for (const { name, parameters } of executions) await sql.unsafe(`execute ${name}(${parameters.map(literal)})`)
}

const read = async (sql: Sql, { projectId, traceId }: Target) => {
  const [row] = await sql`
    select *, input::text as input, output::text as output, metadata::text as metadata from traces
    where project_id = ${projectId} and id = ${traceId}`
  return { ...row }
}

t.test('an append adds up, and applies to the version that it was decided for', async t => {
  await onConnection(async sql => {
    const target = await seedRunning(sql, await seedProject(sql), { spanCount: 3, estimatedBytes: 500, tags: ['x'] })
    const before = await read(sql, target)
    const change = await changeBy(sql, target, 'append', spansBody(span({ status: 'error' }), span()))
    await run(
      sql,
      changesOf([change], () => 0)
    )
    const after = await read(sql, target)
    const { estimatedBytes } = change.changed.sums
    t.ok(estimatedBytes > 500)
    const changed = { version: '7', span_count: 5, error_count: 1, estimated_bytes: String(estimatedBytes) }
    t.strictSame(JSON.parse(JSON.stringify(after)), JSON.parse(JSON.stringify({ ...before, ...same(after, changed) })))
    await t.rejects(
      run(
        sql,
        changesOf([change], () => 0)
      ),
      { code: '22012' },
      'the version has changed'
    )
    t.strictSame(await read(sql, target), after)
  })
})

/** Compares a row with expected values, in the types that the driver returns. */
const same = (row: Record<string, unknown>, values: Record<string, string | number>) =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, typeof row[name] === 'number' ? Number(value) : value])
  )

t.test('an end sets the values that it sends, and moves its trace from its old lists to new ones', async t => {
  await onConnection(async sql => {
    const projectId = await seedProject(sql)
    const [whole, bare] = [
      await seedRunning(sql, projectId, { tags: ['x'], metadata: '{"k":1}' }),
      await seedRunning(sql, projectId)
    ]
    await sql`update traces set output = '"kept"' where project_id = ${projectId}`
    const sent = endBody({
      output: null,
      metadata: { l: 2 },
      tags: ['y'],
      status: 'ok',
      model: 'm',
      usage: { inputTokens: 3 }
    })
    const changes = [await changeBy(sql, whole, 'end', sent, 7), await changeBy(sql, bare, 'end', endBody(), 8)]
    t.strictSame(
      changes.map(({ listed }) => listed?.rows.tags.length),
      [2, 0],
      'rows of tags to copy'
    )
    await run(
      sql,
      changesOf(changes, trace => (trace === changes[0] ? 3 : 1))
    )
    t.match(await read(sql, whole), {
      ...{ status: 'ok', model: 'm', output: null, metadata: '{"k":1,"l":2}', tags: ['x', 'y'], ranked: 3 },
      ...{ end_hash: String, body_hash: String }
    })
    t.match(await read(sql, bare), {
      status: 'unset',
      model: null,
      output: '"kept"',
      metadata: null,
      tags: null,
      ranked: 1
    })
    const tags = await sql`select tag from trace_tags where project_id = ${projectId}`
    t.strictSame([...tags], [], 'the rows of its old tags are deleted, and the new ones are copied')
    const [times] =
      await sql`select extract(epoch from ended_at - started_at)::float8 as s from traces where id = ${whole.traceId}`
    t.equal(times?.s, (Date.parse(LATER) - Date.parse(AT)) / 1000)
  })
})

t.test('one trace with a different version undoes all changes', async t => {
  await onConnection(async sql => {
    const projectId = await seedProject(sql)
    const targets = [await seedRunning(sql, projectId), await seedRunning(sql, projectId)]
    const changes = await Promise.all(targets.map(target => changeBy(sql, target, 'append', spansBody(span()))))
    await sql`update traces set version = version + 1 where id = ${targets[1]!.traceId}`
    const before = await read(sql, targets[0]!)
    await t.rejects(
      run(
        sql,
        changesOf(changes, () => 0)
      ),
      { code: '22012' }
    )
    t.strictSame(await read(sql, targets[0]!), before)
  })
})

t.test('the statements lock one project after another in a fixed order, whatever the order of traces', async t => {
  await onConnection(async sql => {
    const [one, two] = [await seedProject(sql), await seedProject(sql)]
    const changes = await Promise.all(
      [two, one, two].map(async projectId =>
        changeBy(sql, await seedRunning(sql, projectId), 'append', spansBody(span()))
      )
    )
    const end = await changeBy(sql, await seedRunning(sql, one, { tags: ['x'] }), 'end', endBody())
    const executions = changesOf([...changes, end], () => 0)
    const short = executions.map(({ name, parameters }) => [name, Number(parameters[0]), Number(parameters[1])])
    t.strictSame(short, [
      ['change_append', one, 1],
      ['change_end', one, 1],
      ['remove_tags', one, 1],
      ['change_append', two, 2]
    ])
    t.strictSame(
      changesOf([], () => 0),
      []
    )
  })
})
