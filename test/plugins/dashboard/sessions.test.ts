/** Tests a session as a conversation, and the lists of sessions and users. */
import t from 'tap'
import { rankGroups } from '../../../lib/store/analytics/groups/ranked-groups.ts'
import { ingestBody, span, startBody } from '../../fixtures/bodies/bodies.ts'
import { signedIn } from '../../fixtures/service/people.ts'
import { testService } from '../../fixtures/service/service.ts'

const service = await testService(t)
const { call } = service
const { ask } = await signedIn(service, 'viewer@example.com', 'viewer')
const P = 'p/default'
const at = (minute: number) => new Date(Date.parse('2026-11-20T10:00:00Z') + minute * 60_000).toISOString()

async function record(more: object): Promise<string> {
  const body = ingestBody(more)
  const { status, text } = await call('POST', '/api/v1/traces', { body })
  t.equal(status, 201, text)
  return body.trace.id
}

t.test('a session is summed, and its traces are listed oldest first', async t => {
  const id = 'chat/7 ä"1'
  const ids: string[] = []
  for (let minute = 0; minute < 53; minute++) {
    const usage = { usage: { inputTokens: 10, outputTokens: 2 }, ...(minute < 2 && { costUsd: 0.25 }) }
    const more = { sessionId: id, userId: minute === 0 ? 'ada' : 'bob', status: minute === 3 ? 'error' : 'ok' }
    ids.push(await record({ ...usage, ...more, startedAt: at(minute), endedAt: at(minute + 0.5) }))
  }
  await record({ sessionId: 'chat/7', userId: 'eve' })
  const running = startBody({ sessionId: id, startedAt: at(53) })
  t.equal((await call('POST', '/api/v1/traces', { body: running })).status, 201)
  ids.push(running.trace.id)

  const query = `id=${encodeURIComponent(id)}`
  const { body } = await ask('GET', `${P}/session?${query}`)
  t.same(body, {
    id,
    traces: 54,
    running: 1,
    errors: 1,
    inputTokens: 530,
    outputTokens: 106,
    costUsd: 0.5,
    durationMs: 53 * 30_000,
    firstAt: at(0),
    lastAt: at(53),
    users: ['ada', 'bob'],
    newest: null
  })
  const first = await ask('GET', `${P}/session-traces?${query}`)
  const second = await ask('GET', `${P}/session-traces?${query}&after=${first.body.nextCursor}`)
  const shown = [first, second].map(page => page.body.traces.map((trace: { id: string }) => trace.id))
  t.same(shown, [ids.slice(0, 50), ids.slice(50)])
  t.equal(second.body.nextCursor, null)
})

t.test('sessions and users are listed, summed, and found by prefix', async t => {
  const recently = new Date(Date.now() - 3_600_000).toISOString()
  const usage = { inputTokens: 7, outputTokens: 3 }
  for (const userId of ['cyd/1', 'cyd/2', 'cyd/1']) {
    await record({ sessionId: 'talk 1', userId, usage, costUsd: 0.5, startedAt: recently, endedAt: recently })
  }
  const sessions = await ask('GET', `${P}/sessions`)
  const ids = sessions.body.groups.map(({ id }: { id: string }) => id)
  t.equal(ids[0], 'talk 1')
  t.same(new Set(ids), new Set(['talk 1', 'chat/7', 'chat/7 ä"1']))
  t.match(sessions.body.groups[0], { traces: 3, isMore: false, costUsd: 1.5, firstAt: recently, lastAt: recently })
  t.match((await ask('GET', `${P}/sessions?prefix=talk`)).body.groups, [{ id: 'talk 1' }])
  t.same((await ask('GET', `${P}/sessions?env=prod`)).body, { groups: [], nextCursor: null, since: null })
  const { body } = await ask('GET', `${P}/users?prefix=cyd&range=7d`)
  t.match(body, { nextCursor: null, countedFrom: null })
  const sums = (id: string, traces: number) => ({
    id,
    traces,
    errors: 0,
    inputTokens: 7 * traces,
    costUsd: 0.5 * traces
  })
  t.match(
    body.groups.toSorted((a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1)),
    [sums('cyd/1', 2), sums('cyd/2', 1)]
  )
  const user = await ask('GET', `${P}/user?id=cyd%2F1`)
  t.match(user.body, { ...sums('cyd/1', 2), countedFrom: null, sessions: [{ id: 'talk 1', traces: 2, costUsd: 1 }] })
})

t.test('a session in the list has its first question, users, duration and scores', async t => {
  const id = 'detailed'
  const traces: string[] = []
  for (const [i, userId] of ['zoe', 'yan', 'zoe'].entries()) {
    const startedAt = new Date(Date.now() - 3_000_000 + i * 60_000).toISOString()
    const endedAt = new Date(Date.parse(startedAt) + 1000 * (i + 1)).toISOString()
    traces.push(await record({ sessionId: id, userId, startedAt, endedAt, input: `question ${i}`, output: 'x' }))
  }
  for (const [i, value] of [0.5, 1].entries()) {
    const body = { name: 'helpful', dataType: 'numeric', value }
    t.equal((await call('POST', `/api/v1/traces/${traces[i]}/scores`, { body })).status, 201)
    const verdict = { name: 'verdict', dataType: 'categorical', value: i === 0 ? 'right' : 'wrong' }
    t.equal((await call('POST', `/api/v1/traces/${traces[i]}/scores`, { body: verdict })).status, 201)
  }
  const { body } = await ask('GET', `${P}/sessions?prefix=${id}&range=7d`)
  const details = { question: 'question 0', users: ['yan', 'zoe'], durationMs: 6000 }
  t.match(body.groups, [{ id, traces: 3, ...details }])
  t.same(body.groups[0].scores, [
    { name: 'helpful', dataType: 'numeric', count: 2, average: 0.75, value: null },
    { name: 'verdict', dataType: 'categorical', count: 2, average: null, value: 'right' }
  ])
  const user = await ask('GET', `${P}/user?id=zoe&range=7d`)
  t.match(user.body.sessions, [{ id, traces: 2, durationMs: 4000, question: 'question 0' }])
  t.match(user.body.sessions[0].scores, [{ name: 'helpful', count: 1, average: 0.5 }, { name: 'verdict' }])
})

t.test("a user's sums and sessions cover the chosen period and environment", async t => {
  const ago = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString()
  const record = async (sessionId: string, days: number, key: string, userId = 'ida') => {
    const startedAt = ago(days)
    const endedAt = new Date(Date.parse(startedAt) + 1000).toISOString()
    const body = ingestBody({ sessionId, userId, costUsd: 1, startedAt, endedAt })
    const { status, text } = await call('POST', '/api/v1/traces', { body, key })
    t.equal(status, 201, text)
    const score = { name: 'helpful', dataType: 'numeric', value: days === 1 ? 1 : 0 }
    t.equal((await call('POST', `/api/v1/traces/${body.trace.id}/scores`, { body: score, key })).status, 201)
  }
  const { key } = await service.makeKey({ environment: 'staging' })
  await record('both', 1, service.key)
  await record('both', 20, service.key)
  await record('both', 1, service.key, 'other')
  await record('old', 20, service.key)
  await record('staged', 2, key)
  const user = async (query: string) => {
    const { status, body, text } = await ask('GET', `${P}/user?id=ida&${query}`)
    t.equal(status, 200, text)
    const sessions = body.sessions.map(({ id, traces, durationMs, scores }: Record<string, unknown>) => {
      const [score] = scores as { count: number; average: number }[]
      return [id, traces, durationMs, score?.count, score?.average]
    })
    return { traces: body.traces, from: body.from, sessions }
  }
  const day = (days: number) => `${ago(days).slice(0, 10)}T00:00:00.000Z`
  const both = ['both', 1, 1000, 1, 1]
  t.same(await user('range=7d'), { traces: 2, from: day(6), sessions: [both, ['staged', 1, 1000, 1, 0]] })
  t.same(await user('range=30d'), {
    traces: 4,
    from: day(29),
    sessions: [
      ['both', 2, 2000, 2, 0.5],
      ['staged', 1, 1000, 1, 0],
      ['old', 1, 1000, 1, 0]
    ]
  })
  t.same(await user('range=7d&env=staging'), { traces: 1, from: day(6), sessions: [['staged', 1, 1000, 1, 0]] })
  t.match(await ask('GET', `${P}/user?id=ida&env=none`), { status: 404 })
})

t.test('sessions and users are sorted by their sums over a period', async t => {
  const hours = [1, 2, 300]
  const spent: [string, string, number, string][] = [
    ['cheap', 'sort/a', 1, 'ok'],
    ['dear', 'sort/b', 4, 'ok'],
    ['dear', 'sort/b', 4, 'error'],
    ['old', 'sort/c', 90, 'ok']
  ]
  for (const [i, [session, userId, costUsd, status]] of spent.entries()) {
    const startedAt = new Date(Date.now() - hours[Math.min(2, Math.floor((i + 1) / 2))]! * 3_600_000).toISOString()
    const at = session === 'old' ? new Date(Date.now() - 300 * 3_600_000).toISOString() : startedAt
    const usage = { inputTokens: 10 * costUsd, outputTokens: 1 }
    const times = { startedAt: at, endedAt: at }
    await record({ sessionId: `sort/${session}`, userId, costUsd, status, usage, ...times })
  }
  const list = async (kind: string, query: string) => {
    const { status, body } = await ask('GET', `${P}/${kind}?prefix=sort&${query}`)
    t.match([status, body.since ?? null, body.nextCursor ?? null], [200, null, null], query)
    return body.groups.map(({ id }: { id: string }) => id.slice('sort/'.length))
  }
  t.same(await list('sessions', 'sort=cost&range=7d'), ['dear', 'cheap'])
  t.same(await list('sessions', 'sort=cost&range=30d'), ['old', 'dear', 'cheap'])
  t.same(await list('sessions', 'sort=errors&range=30d'), ['dear', 'cheap', 'old'])
  t.same(await list('sessions', 'sort=traces'), ['dear', 'cheap', 'old'])
  t.same(await list('users', 'sort=tokens&range=7d'), ['b', 'a'])
  t.same(await list('users', 'sort=cost&range=1y'), ['c', 'b', 'a'])
  t.same(await list('users', 'sort=cost&env=none'), [])
  t.same(await list('sessions', 'range=7d'), ['cheap', 'dear'], 'last seen')
  const { body } = await ask('GET', `${P}/users?prefix=sort&sort=cost&range=7d`)
  t.match(body.groups[0], { id: 'sort/b', traces: 2, errors: 1, inputTokens: 80, costUsd: 8 })
})

t.test('a sort that omits traces states the start of the summed period', async t => {
  const { database } = service
  const asked = { field: 'user_id', sort: 'traces', limit: 10 } as const
  const few = await database.pool.run(sql => rankGroups(sql, 1, asked, 1))
  t.equal(few.groups.length, 1)
  t.ok(few.since !== null && few.since > at(53))
  t.match(await database.pool.run(sql => rankGroups(sql, 2, asked)), { groups: [], since: null })
})

t.test('a failed turn in a session shows its first error', async t => {
  const failed = span({ name: 'pay', kind: 'tool', status: 'error', output: 'No stock' })
  const id = await record({ sessionId: 'failing', status: 'error', spans: [failed] })
  await record({ sessionId: 'failing' })
  const { body } = await ask('GET', `${P}/session-traces?id=failing`)
  t.same(Object.keys(body.errors), [id])
  t.match(body.errors[id], { step: 'pay', kind: 'tool', message: 'No stock', spanId: failed.id })
})

t.test('missing sessions get 404 or an empty list, and invalid parameters are rejected', async t => {
  for (const one of ['session', 'user']) t.match(await ask('GET', `${P}/${one}?id=none`), { status: 404 })
  t.match(await ask('GET', `${P}/session-traces?id=none`), {
    status: 200,
    body: { traces: [], nextCursor: null, errors: {} }
  })
  for (const [query, rule] of [
    ['session', 'id: '],
    ['user?id=a&range=2d', 'range: must be one of'],
    ['users?env=%20', 'env: '],
    ['sessions?range=2d', 'range: must be one of'],
    ['sessions?sort=name', 'sort: must be one of'],
    ['users?sort=cost&after=x', 'after: cannot be combined with `sort=cost`'],
    ['sessions?prefix=%00', 'prefix: '],
    ['users?after=x', 'after: must be a cursor'],
    ['session?id=', 'id: must not be empty'],
    ['session?id=%00', 'id: '],
    ['session-traces?id=a&after=x', 'after: must be a cursor'],
    ['session-traces?id=a&limit=1', 'limit: unknown parameter']
  ] as const) {
    const { status, body } = await ask('GET', `${P}/${query}`)
    t.equal(status, 400, query)
    t.ok(body.error.message.startsWith(rule), `${query}: ${body.error.message}`)
  }
})
