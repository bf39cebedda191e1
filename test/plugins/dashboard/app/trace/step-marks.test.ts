import fc from 'fast-check'
import t from 'tap'
import { growTree } from '../../../../../plugins/dashboard/app/content/span-tree.ts'
import type { OutlineSpan } from '../../../../../plugins/dashboard/app/contract.ts'
import { markSteps } from '../../../../../plugins/dashboard/app/trace/step-marks.ts'
import { lasting, outlineSpan as span } from './spans.ts'

/** Creates a call that starts `id` seconds after the trace, below the span `root`. */
const call = (id: string, over: Partial<OutlineSpan> = {}) =>
  span(id, 'root', {
    ...{ kind: 'tool', name: 'search', ...lasting(1000 * Number(id), 1000 * Number(id) + 900) },
    ...{ inputBytes: 20, inputDigest: 'tea' },
    ...over
  })
const failed = { status: 'error' } as const
const marks = (...spans: OutlineSpan[]) => Object.fromEntries(markSteps(growTree([span('root'), ...spans])))

t.test('a call that is made again after it failed is an attempt, and a retry of a retry is the next', async t => {
  t.same(marks(call('1', failed), call('2', failed), call('3')), { '2': { attempt: 2 }, '3': { attempt: 3 } })
  t.same(marks(call('1', failed), call('2'), call('3')), { '2': { attempt: 2 } }, 'a success ends the chain')
  const others = [call('2', { kind: 'llm', name: 'chat' }), call('3', { inputDigest: 'cup' })]
  t.same(marks(call('1', failed), ...others, call('4')), { '4': { attempt: 2 } }, 'other steps may lie between')
})

t.test('calls with different arguments are not attempts', async t => {
  t.same(marks(call('1'), call('2', { inputDigest: 'cup' })), {})
  t.same(marks(call('1', failed), call('2', { inputDigest: 'cup' })), {}, 'not even after a failure')
  t.same(marks(call('1', failed), call('2', { name: 'look up' }), call('3', { kind: 'retriever' })), {})
  const long = { inputDigest: null, inputBytes: 9000 }
  t.same(marks(call('1', { ...failed, ...long }), call('2', long)), { '2': { attempt: 2 } }, 'long: equal sizes')
  t.same(marks(call('1', { ...failed, ...long }), call('2', { ...long, inputBytes: 9001 })), {}, 'long: other sizes')
})

t.test('attempts are found across chains, but not across agents', async t => {
  const chains = [span('c1', 'root', { kind: 'chain' }), span('c2', 'root', { kind: 'chain' })]
  const below = (id: string, parentSpanId: string, over = {}) => ({ ...call(id, over), parentSpanId })
  t.same(marks(...chains, below('1', 'c1', failed), below('2', 'c2')), { '2': { attempt: 2 } })
  const unknown = { inputBytes: 0, inputDigest: null }
  t.same(marks(...chains, below('1', 'c1', { ...failed, ...unknown }), below('2', 'c2', unknown)), {}, 'without inputs')
  t.same(marks(call('1', { ...failed, ...unknown }), call('2', unknown)), { '2': { attempt: 2 } }, 'below one parent')
  const agents = [call('5', { kind: 'agent', name: 'a' }), call('7', { kind: 'agent', name: 'b' })]
  t.same(marks(...agents, below('1', '5', failed), below('2', '7')), {})
})

t.test('parallel calls are not attempts of each other', async t => {
  const one = { ...failed, ...lasting(0, 100) }
  t.same(marks(call('1', one), call('2', lasting(10, 110))), { '1': { together: 2 }, '2': { together: 2 } })
  t.same(marks(call('1', one), call('2', lasting(99, 300))), {}, 'nor if they overlap by a moment')
  t.same(marks(call('1', one), call('2', lasting(100, 300))), { '2': { attempt: 2 } })
})

t.test('a call repeats the last of the equal calls that ended before it', async t => {
  const [long, short] = [call('1', lasting(0, 500)), call('2', { ...failed, ...lasting(100, 200) })]
  t.match(marks(long, short, call('3', lasting(300, 900))), { '3': { attempt: 2 } })
  t.equal(marks(long, short, call('3', lasting(600, 900)))['3'], undefined, 'the long call has succeeded meanwhile')
})

t.test('attempts follow the rule in every history', async () => {
  const time = fc.integer({ min: 0, max: 12 })
  const calls = fc.array(fc.tuple(time, time, fc.boolean(), fc.constantFrom('tea', 'cup'), fc.constantFrom('a', 'b')), {
    maxLength: 12
  })
  fc.assert(
    fc.property(calls, given => {
      const spans = given
        .map(([from, duration, isFailed, inputDigest, name], i) =>
          call(String(i), {
            ...lasting(from, from + (duration % 4)),
            ...{ status: isFailed ? 'error' : 'ok', inputDigest, name }
          })
        )
        .sort((a, b) => a.startedAt.localeCompare(b.startedAt) || a.durationMs - b.durationMs)
      const attemptOf = (at: number): number => {
        const own = spans[at]!
        const repeated = spans
          .slice(0, at)
          .filter(each => each.name === own.name && each.inputDigest === own.inputDigest)
          .filter(each => each.endedAt <= own.startedAt)
          .sort((a, b) => a.endedAt.localeCompare(b.endedAt))
          .at(-1)
        return repeated?.status === 'error' ? attemptOf(spans.indexOf(repeated)) + 1 : 1
      }
      const found = marks(...spans)
      return spans.every(({ id }, at) => (found[id]?.attempt ?? 1) === attemptOf(at))
    })
  )
})

t.test('steps of a kind that ran at the same time are parallel', async t => {
  const named = (id: string, over: Partial<OutlineSpan>) => call(id, { name: `step ${id}`, ...over })
  t.same(
    marks(
      named('1', lasting(0, 100)),
      named('2', lasting(10, 90)),
      named('3', lasting(95, 300)),
      named('4', { kind: 'llm', ...lasting(0, 100) })
    ),
    { '1': { together: 2 }, '2': { together: 2 } },
    'a short overlap and other kinds do not count'
  )
  t.same(marks(named('1', lasting(0, 0)), named('2', lasting(0, 0))), {})
})

t.test('ten thousand failed repeats are numbered', async t => {
  const spans = Array.from({ length: 10_000 }, (_, i) => call(String(i), failed))
  t.same(marks(...spans)['9999'], { attempt: 10_000 })
})
