/** Tests score definitions, and the queue and leases of a review. */
import t from 'tap'
import { MOST_DEFINITIONS } from '../../../lib/store/projects/score-definitions.ts'
import { freshId } from '../../fixtures/database/seed.ts'
import { signedIn } from '../../fixtures/service/people.ts'
import { testService } from '../../fixtures/service/service.ts'

const P = 'p/default'
const invalid = (message: RegExp) => ({ status: 400, body: { error: { code: 'invalid_request', message } } })
const forbidden = { status: 403, body: { error: { code: 'forbidden' } } }

const service = await testService(t)
const { database } = service
const viewer = await signedIn(service, 'viewer@example.com', 'viewer')
const ada = await signedIn(service, 'ada@example.com', 'member')
const bob = await signedIn(service, 'bob@example.com', 'member')
const owner = await signedIn(service, 'owner@example.com', 'owner')

const define = (body: object, person = owner) => person.ask('POST', `${P}/score-definitions`, { body })
const defined = async (project = P) => (await viewer.ask('GET', `${project}/score-definitions`)).body.definitions

async function record(name: string): Promise<string> {
  const id = freshId(32)
  const trace = { id, name, status: 'ok', startedAt: new Date().toISOString(), endedAt: new Date().toISOString() }
  const { status } = await service.call('POST', '/api/v1/traces', { body: { schemaVersion: 1, trace } })
  t.equal(status, 201)
  return id
}
const claim = (person: typeof ada, traceIds: readonly string[], judge = 'quality') =>
  person.ask('POST', `${P}/review/claims`, { body: { judge, traceIds } })
const judge = (person: typeof ada, traceId: string, more: object = {}) =>
  person.ask('POST', `${P}/traces/${traceId}/scores`, {
    body: { name: 'quality', dataType: 'numeric', value: 4, ...more }
  })

t.test('owners define scores, everyone sees the definitions, and the API accepts any score', async t => {
  t.match(await define({ name: 'quality', dataType: 'numeric' }, ada), forbidden)
  const quality = { name: 'quality', dataType: 'numeric', minimum: 1, maximum: 5, description: 'How good is it?' }
  t.match(await define(quality), { status: 201, body: { definition: { ...quality, categories: [] } } })
  const verdict = { name: 'verdict', dataType: 'categorical', categories: ['correct', ' wrong '] }
  t.match(await define(verdict), { status: 201, body: { definition: { categories: ['correct', 'wrong'] } } })
  t.match(await define({ ...quality, maximum: 10 }), { status: 201 })
  t.match(await defined(), [{ name: 'quality', maximum: 10 }, { name: 'verdict' }], 'the second replaces the first')
  await service.makeProject('second')
  t.same(await defined('p/second'), [])

  t.equal((await judge(ada, await record('any'), { value: 99 })).status, 201, 'a definition does not validate scores')
  const remove = (name: string, person = owner) => person.ask('DELETE', `${P}/score-definitions/${name}`)
  t.match(await remove('verdict', ada), forbidden)
  t.match(await remove('verdict'), { status: 200 })
  t.match(await remove('verdict'), { status: 404 })
  const acts = await database.pool.run(
    sql => sql`select action from audit where action like 'score-definition.%' order by id`
  )
  t.same(
    acts.map(({ action }) => action),
    [...Array(3).fill('score-definition.set'), 'score-definition.remove']
  )
})

t.test('an invalid definition is rejected with the field and the rule', async t => {
  const wrong: [object, RegExp][] = [
    [{ name: 'two words' }, /^name: must/],
    [{ dataType: 'text' }, /^dataType: must/],
    [{ minimum: 5, maximum: 5 }, /^maximum: must be greater than `minimum`$/],
    [{ dataType: 'boolean', minimum: 1 }, /^minimum: must be absent unless/],
    [{ dataType: 'categorical', maximum: 1, categories: ['a', 'b'] }, /^maximum: must be absent unless/],
    [{ categories: ['a', 'b'] }, /^categories: must be absent unless/],
    [{ dataType: 'categorical', categories: ['a'] }, /^categories: must have at least 2/],
    [{ dataType: 'categorical', categories: ['a', ' A'] }, /^categories: must not repeat a value/],
    [{ dataType: 'categorical', categories: ['a', ' '] }, /^categories\[1\]: must not be empty/],
    [{ dataType: 'categorical', categories: ['a', 'b\u0000'] }, /^categories\[1\]: must not/],
    [{ description: 'a\nb' }, /^description: must not contain control characters/],
    [{ description: 'x'.repeat(301) }, /^description: must/],
    [{ minimum: '1' }, /^minimum: must/],
    [{ more: 1 }, /more/]
  ]
  for (const [change, message] of wrong) {
    t.match(await define({ name: 'some', dataType: 'numeric', ...change }), invalid(message), JSON.stringify(change))
  }
})

t.test('a project has a limited number of definitions', async t => {
  await database.pool.run(
    sql => sql`
      insert into score_definitions (project_id, name, data_type)
      select 1, 'filler-' || n, 'boolean' from generate_series(2, ${MOST_DEFINITIONS}) n`
  )
  t.match(await define({ name: 'beyond', dataType: 'boolean' }), { status: 409 })
  t.match(
    await define({ name: 'filler-2', dataType: 'numeric' }),
    { status: 201 },
    'an existing one can still be replaced'
  )
  await database.pool.run(sql => sql`delete from score_definitions where name like 'filler%'`)
})

t.test('score names include their categories', async t => {
  const id = await record('named')
  for (const value of ['wrong', 'correct', 'correct']) {
    await ada.ask('POST', `${P}/traces/${id}/scores`, { body: { name: 'label', dataType: 'categorical', value } })
  }
  const names = (await viewer.ask('GET', `${P}/score-names`)).body
  const { categories } = names.find(({ name }: { name: string }) => name === 'label')
  t.same(categories, ['correct', 'wrong'])
  t.same(names.find(({ name }: { name: string }) => name === 'quality').categories, [])
})

t.test('a queue has the traces of any search, and says which are judged', async t => {
  const ids = [await record('queued'), await record('queued'), await record('queued')]
  t.equal((await judge(ada, ids[1]!)).status, 201)
  const queue = async (query: string) => (await viewer.ask('GET', `${P}/review?${query}`)).body
  t.same(await queue('name=queued&judge=quality'), {
    traces: [2, 1, 0].map(i => ({ id: ids[i], isJudged: i === 1, isRunning: false })),
    nextCursor: null
  })
  t.same(
    (await queue('name=queued&judge=other')).traces.filter((each: { isJudged: boolean }) => each.isJudged),
    []
  )
  const first = await queue('name=queued&judge=quality&limit=2')
  t.equal(first.traces.length, 2)
  const rest = await queue(`name=queued&judge=quality&limit=2&after=${encodeURIComponent(first.nextCursor)}`)
  t.same(rest, { traces: [{ id: ids[0], isJudged: false, isRunning: false }], nextCursor: null })
  t.same((await queue('name=queued&score=quality%3C3&judge=quality')).traces, [], 'with conditions of the search')
  t.match(await viewer.ask('GET', `${P}/review?name=queued`), invalid(/^judge:/))
  t.match(await viewer.ask('GET', `${P}/review?judge=a%20b`), invalid(/^judge:/))
  t.match(await viewer.ask('GET', `${P}/review?judge=a&q=word`), invalid(/^q: cannot be used/))
})

t.test('no two people get the same trace, and leases expire', async t => {
  const ids = [await record('leased'), await record('leased'), await record('leased')]
  t.match(await claim(viewer, ids), forbidden)
  t.match((await claim(ada, ids)).body, { traceId: ids[0], judged: [] })
  t.match((await claim(ada, ids)).body, { traceId: ids[0] }, 'renewed')
  t.match((await claim(bob, ids)).body, { traceId: ids[1] })
  t.match((await claim(bob, [ids[0]!])).body, { traceId: null })
  t.match((await claim(bob, [ids[0]!], 'other')).body, { traceId: ids[0] }, 'a different score is a different review')
  t.equal((await judge(ada, ids[0]!)).status, 201)
  await database.pool.run(sql => sql`update review_leases set until = now() where score_name = 'quality'`)
  t.match((await claim(bob, ids)).body, { traceId: ids[1], judged: [ids[0]] }, 'a judged trace is not leased again')
  t.match((await claim(ada, ids)).body, { traceId: ids[2] })
  await database.pool.run(sql => sql`update review_leases set until = now() - interval '2 hours'`)
  await claim(ada, [ids[2]!])
  const [{ count }] = await database.pool.run(sql => sql<[{ count: number }]>`select count(*)::int from review_leases`)
  t.equal(count, 1, 'old leases are removed')
})

t.test('people who ask concurrently get different traces', async t => {
  const ids = await Promise.all(Array.from({ length: 8 }, () => record('at once')))
  const people = [ada, bob, owner]
  const given = await Promise.all(
    Array.from({ length: 4 }, () => people.map(async person => (await claim(person, ids, 'race')).body.traceId)).flat()
  )
  const holders = await database.pool.run(
    sql => sql`select trace_id, user_id from review_leases where score_name = 'race'`
  )
  t.equal(new Set(holders.map(row => row.trace_id)).size, holders.length)
  t.equal(new Set(holders.map(row => row.user_id)).size, 3)
  t.ok(given.every(id => ids.includes(id)))
})

t.test('an invalid claim is rejected with the field and the rule', async t => {
  const wrong: [object, RegExp][] = [
    [{ traceIds: [] }, /^traceIds: must/],
    [{ traceIds: ['x'] }, /^traceIds/],
    [{ traceIds: Array(101).fill(freshId(32)) }, /^traceIds: must/],
    [{ judge: '' }, /^judge: must/]
  ]
  for (const [change, message] of wrong) {
    const body = { judge: 'quality', traceIds: [freshId(32)], ...change }
    t.match(await ada.ask('POST', `${P}/review/claims`, { body }), invalid(message))
  }
})
