import t from 'tap'
import { checker } from '../../lib/schema/check.ts'
import { Project } from '../../lib/schema/output.ts'
import { ingestBody, span } from '../fixtures/bodies/bodies.ts'
import { testService } from '../fixtures/service/service.ts'

t.test('GET /api/v1/project', async t => {
  const { call, makeKey, database, config } = await testService(t)
  const get = (key?: string) => call('GET', '/api/v1/project', key === undefined ? {} : { key })

  await t.test('describes an empty project', async t => {
    const { status, body } = await get()
    t.equal(status, 200)
    t.ok(checker(Project).check(body))
    t.match(body, {
      name: 'default',
      slug: 'default',
      traceCount: 0,
      spanCount: 0,
      estimatedBytes: 0,
      lastTraceAt: null,
      storage: { limitBytes: config.storageLimitBytes, level: 'ok' },
      keyScopes: ['traces:write', 'traces:read', 'traces:delete']
    })
  })

  await t.test('counts across environments, and shows the scopes of the calling key', async t => {
    const { key } = await makeKey({ environment: 'production', scopes: ['traces:write', 'traces:read'] })
    await call('POST', '/api/v1/traces', { body: ingestBody({ spans: [span()] }) })
    const last = ingestBody({ spans: [span(), span()] })
    await call('POST', '/api/v1/traces', { body: last, key })
    const { body } = await get(key)
    const { traces } = (await call('GET', '/api/v1/traces')).body
    const [one, other] = traces.map((trace: { estimatedBytes: number }) => trace.estimatedBytes)
    t.match(body, { traceCount: 2, spanCount: 3, estimatedBytes: one + other })
    t.strictSame(body.keyScopes, ['traces:write', 'traces:read'])
    t.equal(body.lastTraceAt, (await call('GET', `/api/v1/traces/${last.trace.id}`)).body.trace.ingestedAt)
  })

  await t.test('warns at 80 % of its own limit, and is critical at 95 %', async t => {
    const setBytes = (bytes: number) =>
      database.pool.run(async sql => {
        await sql`update projects set storage_limit = 10000`
        await sql`delete from project_totals`
        await sql`insert into project_totals select id, 3, 0, 0, ${bytes} from projects`
      })
    for (const [bytes, level] of [
      [7999, 'ok'],
      [8000, 'warning'],
      [9499, 'warning'],
      [9500, 'critical'],
      [20_000, 'critical']
    ] as const) {
      await setBytes(bytes)
      t.match((await get()).body, { estimatedBytes: bytes, storage: { limitBytes: 10_000, level } })
    }
  })

  t.match(await get((await makeKey({ scopes: ['traces:write'] })).key), { status: 403 })
})
