/** Tests the API's routes for sessions and users. test/whole/people.test.ts compares them with a model. */
import t from 'tap'
import { ingestBody, span, startBody } from '../fixtures/bodies/bodies.ts'
import { mcpClient } from '../fixtures/service/mcp.ts'
import { testService } from '../fixtures/service/service.ts'

const service = await testService(t)
const { call } = service
const at = (minute: number) => new Date(Date.parse('2026-11-20T10:00:00Z') + minute * 60_000).toISOString()
const read = (path: string) => call('GET', `/api/v1/${path}`)

async function record(more: object): Promise<string> {
  const body = ingestBody(more)
  const { status, text } = await call('POST', '/api/v1/traces', { body })
  t.equal(status, 201, text)
  return body.trace.id
}

const ODD = 'chat/7 ä?#%"1'
const usage = { usage: { inputTokens: 10, outputTokens: 2 } }

t.test('a session is summed, and its traces are listed oldest first', async t => {
  const ids: string[] = []
  for (let minute = 0; minute < 5; minute++) {
    const more = { sessionId: ODD, userId: minute === 0 ? 'ada' : 'bob', status: minute === 3 ? 'error' : 'ok' }
    const cost = minute < 2 ? { costUsd: 0.25 } : {}
    ids.push(await record({ ...usage, ...more, ...cost, startedAt: at(minute), endedAt: at(minute + 0.5) }))
  }
  const running = startBody({ sessionId: ODD, startedAt: at(5) })
  t.equal((await call('POST', '/api/v1/traces', { body: running })).status, 201)
  ids.push(running.trace.id)

  const path = `sessions/${encodeURIComponent(ODD)}`
  const first = await read(`${path}?limit=4`)
  const sums = {
    id: ODD,
    traceCount: 6,
    errorCount: 1,
    inputTokens: 50,
    outputTokens: 10,
    costUsd: 0.5,
    partial: false,
    firstStartedAt: at(0),
    lastStartedAt: at(5)
  }
  t.strictSame(first.body.session, { ...sums, runningCount: 1, durationMs: 5 * 30_000, users: ['ada', 'bob'] })
  t.equal(first.body.pageSize, 4)
  const second = await read(`${path}?limit=4&after=${first.body.nextCursor}`)
  t.equal(second.body.nextCursor, null)
  const shown = [first, second].flatMap(page => page.body.traces.map((trace: { id: string }) => trace.id))
  t.same(shown, ids)
  const { firstError, ...summary } = second.body.traces[1]
  t.equal(firstError, null)
  t.same(summary, (await read(`traces?sessionId=${encodeURIComponent(ODD)}&limit=1`)).body.traces[0])
  t.strictSame((await read('sessions')).body, { sessions: [sums], hint: null, nextCursor: null, pageSize: 50 })
})

t.test('a failed turn states its first error', async t => {
  const message = `order 12 ${'is unknown '.repeat(40)}`
  const attributes = { 'error.type': 'NotFound', 'error.message': message }
  const failed = { startedAt: at(0), status: 'error' }
  const tool = span({ name: 'lookup', kind: 'tool', attributes, endedAt: at(1), ...failed })
  const spans = [span({ name: 'agent', endedAt: at(2), ...failed }), tool]
  const times = { startedAt: at(0), endedAt: at(3), sessionId: 'failing' }
  await record({ ...times, spans: [span()] })
  await record({ ...times, startedAt: at(1), spans, status: 'error' })
  await record({ ...times, startedAt: at(2), spans: [span()], status: 'error' })
  const { traces } = (await read('sessions/failing')).body
  t.same(
    traces.map(({ firstError }: { firstError: { step: string } | null }) => firstError?.step),
    [undefined, 'lookup', undefined]
  )
  const { message: shown, ...rest } = traces[1].firstError
  t.same(rest, { spanId: tool.id, step: 'lookup', kind: 'tool', type: 'NotFound' })
  t.ok(shown.startsWith('order 12 is unknown') && shown.length <= 201, shown)
})

t.test('a session is found by its user, and a user by id prefix', async t => {
  for (const [sessionId, userId, minute] of [
    ['one', 'ada', 10],
    ['one', 'eve', 11],
    ['two', 'eve', 12]
  ] as const) {
    await record({ sessionId, userId, startedAt: at(minute), endedAt: at(minute) })
  }
  const idsOf = async (query: string) => {
    const { sessions } = (await read(`sessions?${query}`)).body
    return sessions.map(({ id }: { id: string }) => id)
  }
  t.same(await idsOf('userId=eve'), ['two', 'one'])
  t.same(await idsOf('userId=eve&limit=1'), ['two'])
  t.same(await idsOf('userId=ada'), ['one', ODD])
  t.same(await idsOf('userId=ada&prefix=chat'), [ODD])
  t.same(await idsOf('userId=eve&prefix=one'), ['one'])
  t.same(await idsOf(`userId=eve&prefix=${encodeURIComponent(ODD)}`), [])
  const { users, from } = (await read('users?prefix=e&from=2026-11-20T11:00:00%2B01:00')).body
  t.equal(from, '2026-11-20T00:00:00.000Z')
  t.match(users, [{ id: 'eve', traceCount: 2, firstDay: from, lastStartedAt: at(12) }])
})

t.test('a response without sessions or users names existing ones', async t => {
  const hintOf = async (path: string) => (await read(path)).body.hint
  t.match(await hintOf('sessions?userId=Adda'), /No trace has the user ID "Adda"\. The nearest: "ada"/)
  t.match(await hintOf('sessions?prefix=chta'), /No recent session begins with "chta"\. The nearest: "chat\/7 ä/)
  t.match(
    await hintOf('sessions?environment=prod'),
    /No trace has the environment "prod"\. The most frequent: "unassigned"\./
  )
  t.match(
    await hintOf('users?prefix=evee&from=2026-11-01'.replace('-01', '-01T00:00:00Z')),
    /"evee"\. The nearest: "eve"/
  )
  t.match(await hintOf('sessions?userId=ada&prefix=two'), /^No session .* All of the values exist\./)
  const { client } = await mcpClient(t, service)
  const { structuredContent } = await client.callTool({ name: 'list_sessions', arguments: { userId: 'evve' } })
  t.match(structuredContent, { sessions: [], hint: /The nearest: "eve"/ })
})

t.test('an unknown session gets 404, and an invalid id is rejected', async t => {
  for (const path of ['sessions/none', 'sessions/%00', 'sessions/a%2Fb']) {
    t.match(await read(path), { status: 404, body: { error: { code: 'not_found' } } }, path)
  }
  for (const path of ['sessions/', 'users/', 'users/ada']) t.equal((await read(path)).status, 404, path)
  for (const [query, rule] of [
    ['sessions?range=7d', 'range: unknown parameter'],
    ['sessions?prefix=', 'prefix: must not be empty'],
    ['sessions?prefix=%00', 'prefix: '],
    ['sessions?userId=%00', 'userId: '],
    ['sessions?userId=a&userId=b', 'userId: must not be repeated'],
    ['sessions?environment=%20', 'environment: '],
    ['sessions?limit=0', 'limit: must be at least 1'],
    ['sessions?limit=101', 'limit: must be at most 100'],
    ['sessions?after=x', 'after: must be a cursor'],
    ['sessions/one?limit=201', 'limit: must be at most 200'],
    ['sessions/one?after=x', 'after: must be a cursor'],
    ['sessions/one?before=x', 'before: unknown parameter'],
    ['users?from=yesterday', 'from: must be an ISO 8601'],
    ['users?to=2026-11-20T00:00:00Z', 'to: unknown parameter'],
    ['users?userId=ada', 'userId: unknown parameter'],
    ['users?prefix=%00', 'prefix: '],
    ['users?environment=A%20B', 'environment: '],
    ['users?limit=x', 'limit: must be an integer'],
    ['users?after=x', 'after: must be a cursor']
  ] as const) {
    const { status, body } = await read(query)
    t.equal(status, 400, query)
    t.ok(body.error.message.startsWith(rule), `${query}: ${body.error.message}`)
  }
})
