/** Tests a session as a conversation, and the lists of sessions and users. */
import t from 'tap'
import { ingestBody, startBody } from '../../fixtures/bodies/bodies.ts'
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

t.test('a session is added up, and its traces come oldest first', async t => {
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

t.test('sessions and users are listed, added up, and found by how they begin', async t => {
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
  t.same((await ask('GET', `${P}/sessions?env=prod`)).body, { groups: [], nextCursor: null })
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
  t.match(user.body, { ...sums('cyd/1', 2), countedFrom: null, sessions: [{ id: 'talk 1', traces: 3 }] })
})

t.test('what is not there is 404 or empty, and what cannot be is refused', async t => {
  for (const one of ['session', 'user']) t.match(await ask('GET', `${P}/${one}?id=none`), { status: 404 })
  t.match(await ask('GET', `${P}/session-traces?id=none`), { status: 200, body: { traces: [], nextCursor: null } })
  for (const [query, rule] of [
    ['session', 'id: '],
    ['user?id=a&range=2d', 'range: must be one of'],
    ['users?env=%20', 'env: '],
    ['sessions?range=7d', 'range: unknown parameter'],
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
