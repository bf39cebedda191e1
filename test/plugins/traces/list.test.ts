import t from 'tap'
import { checker } from '../../../lib/schema/check.ts'
import { TraceList } from '../../../lib/schema/output.ts'
import { ingestBody, startBody } from '../../fixtures/bodies/bodies.ts'
import { countLockWaits, lockTable } from '../../fixtures/database/locks.ts'
import { testService } from '../../fixtures/service/service.ts'
import { until } from '../../fixtures/until.ts'

const LIST = '/api/v1/traces'
const { check } = checker(TraceList)
const names = (body: { traces: { name: string }[] }) => body.traces.map(trace => trace.name)

t.test('GET /api/v1/traces', async t => {
  const { call, makeKey, makeProject, database, url } = await testService(t)
  const get = (query: string, key?: string) => call('GET', `${LIST}?${query}`, key === undefined ? {} : { key })
  const production = (await makeKey({ environment: 'production' })).key
  const record = async (trace: object, key?: string) => {
    const { status } = await call('POST', LIST, { body: ingestBody(trace), ...(key !== undefined && { key }) })
    t.equal(status, 201)
  }
  const at = (second: number, ms = 0) => new Date(Date.UTC(2026, 0, 1, 0, 0, second, ms)).toISOString()
  await record({ name: 'a', startedAt: at(1), endedAt: at(1, 300), model: 'm', tags: ['x', 'y'], costUsd: 0.5 })
  await record(
    { name: 'b', startedAt: at(2), endedAt: at(2, 100), status: 'error', userId: 'u', costUsd: 0 },
    production
  )
  await record({ name: 'c', startedAt: at(3), endedAt: at(3, 200), sessionId: 's', tags: ['y'], costUsd: 1e-7 })
  const running = await call('POST', LIST, { body: startBody({ name: 'd', startedAt: at(4), costUsd: 7 }) })
  t.equal(running.status, 201)

  for (const [query, expected] of [
    ['', 'dcba'],
    ['sort=newest', 'dcba'],
    ['sort=slowest', 'acb'],
    ['sort=costliest', 'dacb'],
    ['status=running', 'd'],
    ['status=error', 'b'],
    ['status=unset', 'ca'],
    ['name=a', 'a'],
    ['model=m', 'a'],
    ['tag=y', 'ca'],
    ['tag=x&model=m&name=a', 'a'],
    ['sessionId=s', 'c'],
    ['userId=u', 'b'],
    ['environment=production', 'b'],
    ['environment=PRODUCTION', 'b'],
    ['environment=unassigned', 'dca'],
    ['environment=Unassigned', 'dca'],
    ['environment=all', ''],
    ['environment=nobody-has-it', ''],
    ['sort=slowest&environment=unassigned', 'ac'],
    ['sort=costliest&status=unset&tag=y', 'ac'],
    [`from=${at(2)}`, 'dcb'],
    [`to=${at(2)}`, 'ba'],
    [`from=${at(2)}&to=${at(3)}`, 'cb'],
    [`from=${at(3)}&to=${at(2)}`, ''],
    ['from=2026-01-01%2000:00:02.000001', 'dc'],
    ['from=2026-01-01T01:00:02%2B01:00', 'dcb'],
    ['to=2026-01-01T00:00:01.999999999Z', 'a'],
    ['limit=200', 'dcba']
  ] as const) {
    await t.test(`responds to ${query || 'no parameters'} with ${expected || 'nothing'}`, async t => {
      const { status, body } = await get(query)
      t.equal(status, 200)
      t.equal(names(body).join(''), expected)
      t.ok(check(body))
      t.match(body, { nextCursor: null, prevCursor: null, pageSize: query === 'limit=200' ? 200 : 50 })
    })
  }

  for (const [query, message] of [
    ['colour=red', /^colour: /],
    ['status=done', /^status: /],
    ['status=OK', /^status: /],
    ['sort=oldest', /^sort: /],
    ['environment=-x', /^environment: /],
    [`environment=${'x'.repeat(33)}`, /^environment: /],
    ['environment=%E2%84%AAa', /^environment: /],
    ['from=yesterday', /^from: /],
    ['from=2026-01-01', /^from: /],
    ['to=2026-01-01T24:00:00Z', /^to: /],
    ['from=2026-01-01T00:00:00+01:00', /^from: .*a \+ in a query is a space: write it as %2B/],
    ['to=2026-01-01+00:00:00.5+0100', /^to: .*%2B/],
    ['to=2026-01-01+00:00+01', /^to: must be an ISO 8601 date and time, such as [^ ]+$/],
    ['limit=0', /^limit: /],
    ['limit=201', /^limit: /],
    ['limit=05', /^limit: /],
    ['limit=%2B5', /^limit: /],
    ['limit=1.0', /^limit: /],
    ['limit=', /^limit: /],
    ['name=', /^name: /],
    ['name=a&name=b', /^name: /],
    ['name=%00', /^name: .*U\+0000/],
    ['after=xyz', /^after: .*cursor/],
    ['before=MSB4', /^before: .*cursor/],
    ['sort=slowest&sessionId=s', /^sessionId: .*sort=slowest/],
    ['sort=slowest&userId=u', /^userId: /],
    [`sort=slowest&from=${at(1)}`, /^from: /],
    [`sort=costliest&to=${at(1)}`, /^to: .*sort=costliest/]
  ] as const) {
    await t.test(`rejects ${query}`, async t => {
      t.match(await get(query), { status: 400, body: { error: { code: 'invalid_request', message } } })
    })
  }

  await t.test('pages forwards and backwards, and rejects its cursors elsewhere', async t => {
    for (const sort of ['newest', 'slowest', 'costliest']) {
      const order = names((await get(`sort=${sort}`)).body)
      const first = (await get(`sort=${sort}&limit=2`)).body
      t.strictSame([names(first), first.prevCursor, first.pageSize], [order.slice(0, 2), null, 2])
      const second = (await get(`sort=${sort}&limit=2&after=${first.nextCursor}`)).body
      t.strictSame([names(second), second.nextCursor], [order.slice(2), null])
      t.strictSame((await get(`sort=${sort}&limit=2&before=${second.prevCursor}`)).body, first)
      const other = (await get(`sort=${sort}&limit=1&before=${second.prevCursor}&name=${order[0]}`)).body
      t.strictSame(names(other), [order[0]], 'a cursor works with other filters and another limit')
      for (const elsewhere of ['newest', 'slowest', 'costliest'].filter(name => name !== sort)) {
        const { status, body } = await get(`sort=${elsewhere}&after=${first.nextCursor}`)
        t.match([status, body.error.message], [400, /^after: /])
      }
      t.match(await call('GET', `/api/v1/scores?after=${first.nextCursor}`), { status: 400 })
      const both = await get(`sort=${sort}&after=${first.nextCursor}&before=${second.prevCursor}`)
      t.match(both, { status: 400, body: { error: { message: /^before: .*after/ } } })
    }
  })

  await t.test('is cancelled if the client disconnects', async t => {
    const unlock = await lockTable(t, database, 'traces', 'access exclusive')
    const client = new AbortController()
    const { key } = await makeKey({})
    const asked = fetch(`${url}${LIST}`, { headers: { authorization: `Bearer ${key}` }, signal: client.signal })
    await until(async () => (await countLockWaits(database, 'reader')) === 1)
    client.abort()
    await t.rejects(asked)
    await until(async () => (await countLockWaits(database, 'reader')) === 0)
    await unlock()
    t.equal((await get('')).status, 200)
  })

  await t.test("shows only traces of the key's project, to keys that can read", async t => {
    await makeProject('other')
    const other = await makeKey({ project: 'other' })
    t.strictSame((await get('', other.key)).body.traces, [])
    const writer = await makeKey({ scopes: ['traces:write', 'traces:delete'] })
    t.match(await get('', writer.key), { status: 403, body: { error: { code: 'insufficient_scope' } } })
  })
})
