import t from 'tap'
import { RunningTraces } from '../../../lib/ingest/running-traces.ts'
import { decide } from '../../../lib/trace/decide.ts'
import { prepare } from '../../../lib/trace/prepare.ts'
import { changedState, type KeptState, startedState } from '../../../lib/trace/state-after.ts'
import { endBody, span, spansBody, startBody } from '../../fixtures/bodies.ts'
import { testDatabase } from '../../fixtures/database.ts'
import { bytes, testWritePath, writer } from '../../fixtures/write-path.ts'

const key = writer()

function stateOf(spans: number): KeptState {
  const body = startBody({ tags: ['é', '"'], metadata: { k: 1 }, spans: Array.from({ length: spans }, () => span()) })
  const started = startedState(prepare('record', bytes(body)))
  return { ...started, seq: 7, version: 2 ** 53 - 1, environment: 'prod' }
}

t.test('a state is remembered until it is forgotten', async t => {
  const remembered = new RunningTraces()
  const [first, second] = [stateOf(2), stateOf(0)]
  remembered.start('1/a', first, 100)
  remembered.start('1/b', second, 100)
  t.equal(remembered.get('1/a'), first)
  remembered.change('1/a', second)
  t.equal(remembered.get('1/a'), second, 'a later state takes its place')
  remembered.forget('1/a')
  t.equal(remembered.get('1/a'), undefined)
  remembered.change('1/a', first)
  t.equal(remembered.get('1/a'), undefined, 'what is not remembered does not become so by a change')
  t.equal(remembered.get('1/b'), second)
})

t.test('what is unused the longest makes room, and a trace of too many spans is not remembered', async t => {
  const remembered = new RunningTraces()
  const places = Array.from({ length: 2000 }, (_, i) => `1/${i}`)
  const state = stateOf(200)
  for (const place of places) {
    remembered.start(place, state, 1000)
    remembered.change('1/0', state)
  }
  const known = places.filter(place => remembered.get(place) !== undefined)
  t.ok(known.length > 500 && known.length < 2000, `${known.length} of 2000 are remembered`)
  t.same(known, ['1/0', ...places.slice(2001 - known.length)])

  remembered.change('1/0', { ...state, spanHashes: new Map([0, 1, 2].flatMap(() => [...stateOf(200).spanHashes])) })
  t.equal(remembered.get('1/0'), undefined, 'nor is its old state')
})

t.test('a trace that has grown makes as much room as it took', async t => {
  const remembered = new RunningTraces()
  const places = Array.from({ length: 2000 }, (_, i) => `1/${i}`)
  const fill = () => {
    for (const place of places) remembered.start(place, stateOf(0), 16_000)
    return places.filter(place => remembered.get(place) !== undefined).length
  }
  const before = fill()
  for (let i = 0; i < 500; i++) {
    const state = stateOf(0)
    const spans = Array.from({ length: 100 }, () => span())
    const append = prepare('append', bytes(spansBody(...spans)))
    const decision = decide(state, { ...append, environment: 'prod' })
    if (decision.type !== 'change') throw new Error(decision.type)
    remembered.start('1/grown', state, 100)
    remembered.change('1/grown', changedState(state, decision.change, i))
    t.equal(remembered.get('1/grown')?.spanHashes.size, 100)
    remembered.forget('1/grown')
  }
  t.equal(fill(), before)
})

t.test('what is remembered serves appends and ends without a look; answers without a write take one', async t => {
  const database = await testDatabase(t)
  let looks = 0
  const counted = <T extends object>(sql: T): T =>
    new Proxy(sql, {
      apply: (target, self, parts) => {
        if (String(parts[0]).includes('"spanCount"')) looks++
        return Reflect.apply(target as never, self, parts)
      }
    })
  const connect = (...request: Parameters<typeof database.connect>) => counted(database.connect(...request))
  const path = testWritePath(t, { ...database, connect })
  const start = startBody()
  await path.record(key, bytes(start))
  const [first, second] = [bytes(spansBody(span())), bytes(spansBody(span()))]
  for (const body of [first, second]) t.match(await path.append(key, start.trace.id, body), { added: 1 })
  t.equal(looks, 0)
  t.match(await path.append(key, start.trace.id, first), { added: 0, duplicate: 1, spanCount: 2 })
  t.equal(looks, 1, 'a resend')
  t.match(await path.end(key, start.trace.id, bytes(endBody())), { duplicate: false, spanCount: 2 })
  t.equal(looks, 1)
  t.match(await path.end(key, start.trace.id, bytes(endBody())), { duplicate: true })
  t.equal(looks, 2, 'what has ended')
})

t.test('what another process has added since is not overwritten by what is remembered here', async t => {
  const database = await testDatabase(t)
  const here = testWritePath(t, database)
  const there = testWritePath(t, database)
  const { trace } = startBody()
  await here.record(key, bytes({ schemaVersion: 1, trace }))
  const [first, second] = [span(), span()]
  t.match(await there.append(key, trace.id, bytes(spansBody(first))), { added: 1, spanCount: 1 })
  t.match(await here.append(key, trace.id, bytes(spansBody(second))), { added: 1, duplicate: 0, spanCount: 2 })
  t.match(await there.append(key, trace.id, bytes(spansBody(second))), { added: 0, duplicate: 1, spanCount: 2 })
  t.match(await here.append(key, trace.id, bytes(spansBody(first))), { added: 0, duplicate: 1, spanCount: 2 })
  t.match(await there.end(key, trace.id, bytes(endBody())), { duplicate: false, spanCount: 2 })
  await t.rejects(here.append(key, trace.id, bytes(spansBody(span()))), { message: 'the trace has already ended' })
})
