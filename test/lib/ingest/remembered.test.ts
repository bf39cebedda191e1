import t from 'tap'
import { Remembered } from '../../../lib/ingest/remembered.ts'
import type { TraceState } from '../../../lib/trace/decide.ts'
import { prepare } from '../../../lib/trace/prepare.ts'
import { startedState } from '../../../lib/trace/state-after.ts'
import { span, startBody } from '../../fixtures/bodies.ts'

function stateOf(spans: number): TraceState {
  const body = startBody({ tags: ['é', '"'], metadata: { k: 1 }, spans: Array.from({ length: spans }, () => span()) })
  const started = startedState(prepare('record', Buffer.from(JSON.stringify(body))))
  return { ...started, seq: 7, version: 2 ** 53 - 1, environment: 'prod' }
}

t.test('a state is remembered until it is forgotten', async t => {
  const remembered = new Remembered()
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
  const remembered = new Remembered()
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
