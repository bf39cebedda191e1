/** Tests trial mode (specification 5.12) over HTTP. */
import t, { type Test } from 'tap'
import { createAccount } from '../../lib/admin/accounts.ts'
import { createProject } from '../../lib/admin/projects.ts'
import type { Config } from '../../lib/config.ts'
import { endBody, ingestBody, span, spansBody, startBody } from '../fixtures/bodies/bodies.ts'
import { testService } from '../fixtures/service/service.ts'
import { until } from '../fixtures/until.ts'

const TRACES = '/api/v1/traces'
const LIMIT = { status: 403, body: { error: { code: 'trial_limit_reached', message: String } } }

/** Starts a service with a trial account that has two projects, and a key for each project. */
async function trialService(t: Test, config: Partial<Config>) {
  const service = await testService(t, { config })
  const { database, makeKey } = service
  const keys = await database.pool.run(async sql => {
    const { id } = await createAccount(sql, 'guest', 'trial')
    for (const slug of ['one', 'two']) {
      await createProject(sql, service.config.storageLimitBytes, { name: slug, slug, accountId: id })
    }
    return [(await makeKey({ project: 'one' })).key, (await makeKey({ project: 'two' })).key] as const
  })
  return { ...service, trial: keys[0], sibling: keys[1] }
}

t.test('an account records its allotted traces, and none beyond', async t => {
  const { call, trial, sibling } = await trialService(t, { trialTraces: 2 })
  const record = (body: object, key: string = trial) => call('POST', TRACES, { key, body })
  const started = startBody()
  const { id } = started.trace
  t.match(await record(started), { status: 201 }, 'a streamed trace is charged when it starts')
  t.match(await record(started), { status: 200 }, 'a resend is not charged')
  t.match(await record(ingestBody({ id })), { status: 409 }, 'nor is a conflict')
  t.match(await record(ingestBody({ name: '' })), { status: 400 }, 'nor is an invalid trace')
  t.match(await record(ingestBody({ input: 'x'.repeat(768_000) })), { status: 413 }, 'nor is one that is too large')
  const complete = ingestBody()
  t.match(await record(complete, sibling), { status: 201 }, "the account's projects share the allowance")
  for (const key of [trial, sibling]) {
    t.match(await record(ingestBody(), key), LIMIT)
    t.match(await record(startBody(), key), LIMIT)
  }
  t.match(await record(ingestBody({ input: 'x'.repeat(768_000) })), LIMIT, 'which is checked before the size')

  await t.test('everything else continues to work', async t => {
    const send = (method: string, path: string, body?: object) => call(method, path, { key: trial, body })
    t.match(await record(started), { status: 200, body: { duplicate: true } })
    t.match(await record({ ...started, trace: { ...started.trace, name: 'another' } }), {
      status: 409,
      body: { error: { code: 'trace_id_conflict' } }
    })
    t.match(await send('POST', `${TRACES}/${id}/spans`, spansBody(span())), { status: 200 })
    t.match(await send('POST', `${TRACES}/${id}/end`, endBody()), { status: 200 })
    t.match(await send('PATCH', `${TRACES}/${id}`, { metadata: { a: 1 } }), { status: 200 })
    const score = { name: 'n', dataType: 'boolean', value: true }
    t.match(await send('POST', `${TRACES}/${id}/scores`, score), { status: 201 })
    for (const path of [TRACES, `${TRACES}/${id}`, `${TRACES}/${id}/scores`, '/api/v1/scores', '/api/v1/key']) {
      t.match(await send('GET', path), { status: 200 }, path)
    }
    t.match(await send('GET', '/api/v1/project'), { status: 200, body: { slug: 'one', traceCount: 1 } })
  })

  await t.test('deleting restores no allowance', async t => {
    t.match(await call('DELETE', `${TRACES}/${id}`, { key: trial }), { status: 200 })
    t.match(await record(started), LIMIT)
  })

  await t.test('owner projects are never limited', async t => {
    for (let i = 0; i < 4; i++) t.match(await call('POST', TRACES, { body: ingestBody() }), { status: 201 })
  })
})

t.test(
  'of identical traces sent to two processes, the first takes the last allowed trace, and the others are resends',
  async t => {
    const first = await trialService(t, { trialTraces: 1 })
    const second = await testService(t, { database: first.database, config: { trialTraces: 1 } })
    const body = startBody()
    const send = (i: number) => (i % 2 ? first : second).call('POST', TRACES, { key: first.trial, body })
    const answers = await Promise.all(Array.from({ length: 10 }, (_, i) => send(i)))
    const statuses = answers.map(answer => answer.status).sort()
    t.strictSame(statuses, [...Array(9).fill(200), 201])
  }
)

t.test('a trace that another process stores during the look-up decides, not the limit', async t => {
  const { call, trial, database } = await trialService(t, { trialTraces: 1 })
  const other = startBody()
  await call('POST', TRACES, { key: trial, body: other })
  const body = startBody()
  let answer: ReturnType<typeof call> | undefined
  await database.pool.run(sql =>
    sql.begin(async sql => {
      await sql`lock table accounts in access exclusive mode`
      answer = call('POST', TRACES, { key: trial, body })
      await until(async () => {
        const rows = await sql`select from pg_locks where not granted and relation = 'accounts'::regclass`
        return rows.length > 0
      })
      // Before the server can read the account, the stored trace that used up the limit gets the id of the waiting
      // request's trace.
      await sql`update traces set id = ${body.trace.id} where id = ${other.trace.id}`
    })
  )
  t.match(await answer, { status: 409 }, 'another trace has this id')
})

t.test('an allowance of zero allows none', async t => {
  const { call, trial } = await trialService(t, { trialTraces: 0 })
  t.match(await call('POST', TRACES, { key: trial, body: startBody() }), LIMIT)
})

t.test('without trial mode a trial account is not limited', async t => {
  const { call, trial } = await trialService(t, { trialTraces: undefined })
  for (let i = 0; i < 3; i++) t.match(await call('POST', TRACES, { key: trial, body: ingestBody() }), { status: 201 })
})
