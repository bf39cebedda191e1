/** Ten questions that people ask of their history. The API, the MCP tools and the commands give the same answers. */
import t from 'tap'
import { ingestBody, span } from '../fixtures/bodies/bodies.ts'
import { mcpClient } from '../fixtures/service/mcp.ts'
import { indexNow } from '../fixtures/service/searching.ts'
import { testService } from '../fixtures/service/service.ts'
import { configurationFor, jsonHere, runHere } from '../fixtures/service/spoor.ts'

const DAY = 86_400_000
const today = new Date().toISOString().slice(0, 10)
const dayBefore = (days: number) => new Date(Date.parse(today) - days * DAY).toISOString()
/** The day of the month before on which the cost doubled, and the day after it. */
const [dear, after] = [dayBefore(3), dayBefore(2)]
const lasting = (startedAt: string, ms: number) => ({
  startedAt,
  endedAt: new Date(Date.parse(startedAt) + ms).toISOString()
})
const idsOf = (items: readonly { readonly id: string }[]) => items.map(({ id }) => id)

const service = await testService(t)
const { use } = await mcpClient(t, service)
const beside = configurationFor(service.database)
const env = { SPOOR_URL: service.url, SPOOR_API_KEY: service.key }
const ask = async (path: string, body?: object) => {
  const answer = await service.call(body === undefined ? 'GET' : 'POST', `/api/v1/${path}`, body && { body })
  t.ok(answer.status < 300, answer.text)
  return answer.body
}
const tool = async (name: string, args: object) => (await use(name, args)).value
const command = (...args: string[]) => jsonHere(args, env)
const record = async (over: object) => {
  const body = ingestBody(over)
  await ask('traces', body)
  return body.trace.id
}

await jsonHere(['project', 'update', 'default', '--search', 'on', '--usage-tags', 'prompt'], beside)
const since = (await ask('changes?after=now')).nextCursor
const now = dayBefore(0)
const failing = (name: string, message: string, ms: number) =>
  span({ name, kind: 'tool', status: 'error', attributes: { 'error.message': message }, ...lasting(now, ms) })
const asked = { input: 'my delivery address changed', userId: 'ada', sessionId: 'chat-1' }
const failed = [
  await record({
    ...lasting(now, 10),
    ...asked,
    status: 'error',
    spans: [failing('lookup', 'no route 12', 5), failing('lookup', 'no route 13', 6), failing('pay', 'declined', 7)]
  })
]
const calling = { kind: 'llm', model: 'gpt-4o', usage: { inputTokens: 5 } }
const slow = span({ ...calling, name: 'plan', costUsd: 0.1, ...lasting(dear, 9000) })
const unpriced = span({ ...calling, name: 'draft', model: 'own', ...lasting(dear, 100) })
const costly = await record({
  ...lasting(dear, 10_000),
  name: 'report',
  costUsd: 5,
  tags: ['prompt:v13'],
  spans: [slow, unpriced]
})
const cheap = await record({ ...lasting(dayBefore(4), 1000), name: 'answer', costUsd: 1, tags: ['prompt:v12'] })
await ask(`traces/${cheap}/scores`, { name: 'helpfulness', dataType: 'numeric', value: 0.3 })
await ask(`traces/${costly}/scores`, { name: 'helpfulness', dataType: 'numeric', value: 0.9 })
await indexNow(service)

t.test('which tool failed most today?', async t => {
  const steps = [
    { name: 'lookup', kind: 'tool', count: 2 },
    { name: 'pay', kind: 'tool', count: 1 }
  ]
  t.match((await ask(`errors?kind=tool&from=${now}`)).steps, steps)
  t.match((await tool('list_errors', { kind: 'tool', from: now })).steps, steps)
  t.match((await command('errors', '--kind', 'tool', '--since', 'today')).steps, steps)
})

t.test("why did a user's last session fail?", async t => {
  const { sessions } = await ask('sessions?userId=ada&limit=1')
  t.match(sessions, [{ id: 'chat-1', errorCount: 1 }])
  const { firstError } = (await ask('sessions/chat-1')).traces[0]
  t.match(firstError, { step: 'lookup', message: 'no route 12' })
  t.match((await tool('list_sessions', { userId: 'ada', limit: 1 })).sessions, [{ id: 'chat-1' }])
  t.match((await tool('search_traces', { sessionId: 'chat-1', errors: true })).traces, [
    { id: failed[0], firstError: { message: 'no route 12' } }
  ])
  t.match(await command('session', 'list', '--user', 'ada', '--limit', '1'), [{ id: 'chat-1' }])
  t.match((await runHere(['session', 'show', 'chat-1'], env)).out, /lookup.*no route 12/)
})

t.test('why did the cost double on a day?', async t => {
  const days = [
    { start: dayBefore(4), costUsd: 1 },
    { start: dear, costUsd: 5 }
  ]
  const rows = (of: readonly { costUsd: number | null }[]) => of.filter(({ costUsd }) => (costUsd ?? 0) > 0)
  t.match(rows((await ask(`usage?interval=day&from=${dayBefore(30)}`)).rows), days)
  t.match(rows((await tool('get_usage', { interval: 'day', from: dayBefore(30) })).rows), days)
  t.match(rows((await command('usage', '--interval', 'day', '--since', '30d')).rows), days)
  const of = { by: 'name', sort: 'cost', from: dear, to: after }
  const names = [{ key: 'report', costUsd: 5 }]
  t.match((await ask(`usage?${new URLSearchParams(of)}`)).rows, names)
  t.match((await tool('get_usage', of)).rows, names)
  t.match((await command('usage', '--by', 'name', '--sort', 'cost', '--since', dear, '--before', after)).rows, names)
})

t.test('which model calls of this week are the slowest?', async t => {
  const [from, ids] = [dayBefore(7), [slow.id, unpriced.id]]
  t.same(idsOf((await ask(`spans?kind=llm&sort=slowest&from=${from}`)).spans), ids)
  t.same(idsOf((await tool('list_spans', { kind: 'llm', sort: 'slowest', from })).spans), ids)
  t.same(idsOf(await command('span', 'list', '--kind', 'llm', '--sort', 'slowest', '--since', '7d')), ids)
})

t.test('which traces have a helpfulness below 0.5?', async t => {
  const score = 'helpfulness<0.5'
  t.same(idsOf((await ask(`search?score=${encodeURIComponent(score)}`)).traces), [cheap])
  t.same(idsOf((await tool('search_traces', { score: [score] })).traces), [cheap])
  t.same(idsOf(await command('trace', 'list', '--score', score)), [cheap])
})

t.test('where does "delivery address" occur?', async t => {
  const q = '"delivery address"'
  const found = [{ id: failed[0], excerpt: { place: 'input', text: 'my delivery address changed' } }]
  t.match((await ask(`search?q=${encodeURIComponent(q)}`)).traces, found)
  t.match((await tool('search_traces', { q })).traces, found)
  t.match(await command('trace', 'search', q), found)
})

t.test('what did prompt:v13 change against prompt:v12?', async t => {
  const from = dayBefore(30)
  const versions = new Map([
    ['v12', 1],
    ['v13', 5]
  ])
  const costs = (rows: readonly { readonly key?: string | null; readonly costUsd: number | null }[]) =>
    new Map(rows.flatMap(({ key, costUsd }) => (key == null ? [] : [[key, costUsd]])).sort() as [string, number][])
  t.same(costs((await ask(`usage?by=tag:prompt&from=${from}`)).rows), versions)
  t.same(costs((await tool('get_usage', { by: 'tag:prompt', from })).rows), versions)
  t.same(costs((await command('usage', '--by', 'tag:prompt', '--since', '30d')).rows), versions)
})

t.test('what has no price?', async t => {
  t.same(idsOf((await ask('spans?kind=llm&withoutCost=true')).spans), [unpriced.id])
  t.same(idsOf((await tool('list_spans', { kind: 'llm', withoutCost: true })).spans), [unpriced.id])
  t.same(idsOf(await command('span', 'list', '--kind', 'llm', '--no-cost')), [unpriced.id])
})

t.test('what has been written since the last sync?', async t => {
  const all = [...failed, costly, cheap].sort()
  t.same(idsOf((await ask(`changes?after=${since}`)).traces).sort(), all)
  t.same(idsOf((await tool('list_changes', { after: since })).traces).sort(), all)
  const { out } = await runHere(['export', '--since', since], env)
  const lines = out.trimEnd().split('\n')
  t.same(lines.map(line => JSON.parse(line).trace.id).sort(), all)
})

t.test('what belongs to one person? It is exported, and erased', async t => {
  failed.push(await record({ ...lasting(dear, 10), userId: 'ada' }))
  t.same(idsOf((await ask('search?userId=ada')).traces), failed)
  t.same(idsOf((await tool('search_traces', { userId: 'ada' })).traces), failed)
  const { out } = await runHere(['export', '--user', 'ada'], env)
  const lines = out.trimEnd().split('\n')
  t.same(lines.map(line => JSON.parse(line).trace.id).sort(), failed.toSorted())
  t.match(await ask('deletions', { userId: 'ada', dryRun: true }), { deleted: 0, remaining: 2 })
  t.match(await command('trace', 'delete', '--user', 'ada', '--apply'), { traces: 2, applied: true })
  t.match(await ask('deletions', { userId: 'ada' }), { deleted: 0, remaining: 0 })
  t.same((await ask('search?userId=ada')).traces, [])
})
