/** Tests the groups of failures of a period and of the preceding one. */
import t from 'tap'
import { createAccount } from '../../../lib/admin/accounts.ts'
import { ingestBody, span } from '../../fixtures/bodies/bodies.ts'
import { signedIn } from '../../fixtures/service/people.ts'
import { testService } from '../../fixtures/service/service.ts'

const service = await testService(t)
const { call, makeKey } = service
const { ask } = await signedIn(service, 'viewer@example.com', 'viewer')
const P = 'p/default'
const HOUR = 3_600_000

const failing = async (startedAt: string, output: string, key?: string) => {
  const spans = [span({ name: 'pay', kind: 'tool', status: 'error', output, startedAt, endedAt: startedAt })]
  const { status, text } = await call('POST', '/api/v1/traces', {
    body: ingestBody({ startedAt, endedAt: startedAt, spans }),
    ...(key !== undefined && { key })
  })
  if (status !== 201) throw new Error(text)
}

interface Group {
  readonly pattern: string
  readonly count: number
  readonly traces: number
  readonly steps: readonly number[]
  readonly before: number
}
const read = async (query: string) => {
  const { status, body } = await ask('GET', `${P}/errors?${query}`)
  t.equal(status, 200, JSON.stringify(body))
  const groups = body.groups as readonly Group[]
  return { body, shown: groups.map(({ pattern, count, traces, before }) => [pattern, count, traces, before]) }
}

const day = (hour: number, d = 2) => `2026-11-0${d}T${String(hour).padStart(2, '0')}:30:00.000Z`
const DAY = 'from=2026-11-02T00:00:00Z&to=2026-11-03T00:00:00Z'

t.before(async () => {
  const { key } = await makeKey({ environment: 'staging' })
  await failing(day(1), 'The card 17 expired')
  await failing(day(1), 'The card 18 expired')
  await failing(day(5), 'The card 19 expired', key)
  await failing(day(5), 'No stock')
  await failing(day(3, 1), 'No stock')
  await failing(day(3, 1), 'Gone since then')
  await failing(day(0, 3), 'The next day')
})

t.test('failures are counted by time step, and those of the previous period in total', async t => {
  const { body, shown } = await read(DAY)
  t.same(shown, [
    ['The card <number> expired', 3, 3, 0],
    ['No stock', 1, 1, 1]
  ])
  t.match(body, { step: 'hour', reached: null, nextCursor: null, others: 0, otherFailures: 0 })
  t.equal(body.starts.length, 24)
  t.same(body.groups[0].steps, [0, 2, 0, 0, 0, 1])
  t.match(body.groups[1], { firstAt: day(3, 1), lastAt: day(5), name: 'pay', kind: 'tool' })
  t.equal(body.groups[1].example.message, 'No stock')
})

t.test('earlier failures are read separately, with their first occurrence and without counts', async t => {
  const { body } = await read(DAY)
  t.match(body.earlier, [{ pattern: 'Gone since then', before: 1, firstAt: day(3, 1) }])
  const next = 'from=2026-11-04T00:00:00Z&to=2026-11-05T00:00:00Z&earlier=1'
  const earlier = (await read(next)).body
  t.same(earlier.groups, [])
  t.same(
    earlier.earlier.map(({ pattern, before, firstAt }: Record<string, unknown>) => [pattern, before, firstAt]).sort(),
    [
      ['Gone since then', 0, day(3, 1)],
      ['No stock', 0, day(3, 1)],
      ['The card <number> expired', 0, day(1)]
    ]
  )
  t.same((await read(`${next}&env=staging`)).body.earlier.length, 1)
  t.same((await read('from=0001-01-01T00:00:00Z&to=0001-01-02T00:00:00Z&earlier=1')).body.earlier, [])
})

t.test('an environment has its own failures', async t => {
  t.same((await read(`${DAY}&env=STAGING`)).shown, [['The card <number> expired', 1, 1, 0]])
  t.same((await read(`${DAY}&env=none`)).shown, [])
})

t.test('a step that starts after the period counts at its end', async t => {
  const startedAt = '2026-11-05T23:59:00.000Z'
  const late = new Date(Date.parse(startedAt) + HOUR).toISOString()
  const spans = [span({ name: 'late', kind: 'tool', status: 'error', output: 'x', startedAt: late, endedAt: late })]
  const body = ingestBody({ startedAt, endedAt: late, spans })
  t.equal((await call('POST', '/api/v1/traces', { body })).status, 201)
  const found = await read('from=2026-11-05T00:00:00Z&to=2026-11-06T00:00:00Z')
  t.equal(found.body.groups[0].steps.at(-1), 1)
  t.equal(found.body.groups[0].steps.length, 24)
})

t.test('the first and the last representable days are valid periods', async t => {
  for (const time of ['from=0001-01-01T00:00:00Z&to=0001-01-02T00:00:00Z', 'from=9999-12-31T00:00:00Z&offset=-720']) {
    const to = time.includes('to=') ? '' : '&to=9999-12-31T23:59:59Z'
    t.same((await read(`${time}${to}`)).shown, [], time)
  }
})

t.test("another account's failures are not visible", async t => {
  const { id } = await service.database.pool.run(sql => createAccount(sql, 'strangers', 'trial'))
  const stranger = await signedIn(service, 'stranger@example.com', 'owner', id)
  t.equal((await stranger.ask('GET', `${P}/errors?${DAY}`)).status, 404)
})

t.test('invalid parameters are rejected by name', async t => {
  for (const [query, name] of [
    ['range=2d', 'range'],
    ['after=x', 'after'],
    ['env=', 'env'],
    ['name=a', 'name'],
    ['earlier=2', 'earlier']
  ] as const) {
    const { status, body } = await ask('GET', `${P}/errors?${query}`)
    t.match([status, body.error.message], [400, new RegExp(`${name}: `)], query)
  }
})
