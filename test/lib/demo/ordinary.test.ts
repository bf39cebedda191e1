import t from 'tap'
import { ordinaryTraces } from '../../../lib/demo/ordinary.ts'

const END = Date.parse('2026-11-21T12:00:00Z')

/** Returns a generator of numbers that look random but are the same in each run. */
function seeded(): () => number {
  let state = 7
  return () => {
    state = (state * 16_807) % 2_147_483_647
    return state / 2_147_483_647
  }
}
const made = (count: number) => ordinaryTraces(END, count, seeded())

t.test('as many as are wanted, of the day before, the oldest first', async t => {
  t.same(made(0), [])
  t.same(ordinaryTraces(END, -3), [])
  const starts = made(300).map(({ body }) => body.trace.startedAt)
  t.equal(starts.length, 300)
  t.same(starts, starts.toSorted())
  t.ok(Date.parse(starts[0]!) >= END - 24 * 3_600_000)
})

t.test('they vary, some fail, and sums are those of their steps', async t => {
  const traces = made(300).map(({ body }) => body.trace)
  for (const field of ['name', 'model', 'userId', 'sessionId'] as const) {
    t.ok(new Set(traces.map(trace => trace[field])).size > 3, field)
  }
  const failed = traces.filter(({ status }) => status === 'error')
  t.ok(failed.length > 5 && failed.length < 60)
  for (const { spans = [], status, usage, costUsd } of traces) {
    const calls = spans.filter(({ kind }) => kind === 'llm')
    t.equal(calls.filter(each => each.status === 'error').length, status === 'error' ? 1 : 0)
    const sum = (of: (call: (typeof calls)[number]) => number | undefined) =>
      calls.reduce((total, call) => total + (of(call) ?? 0), 0)
    t.equal(
      usage?.totalTokens,
      sum(call => call.usage?.totalTokens)
    )
    t.ok(Math.abs((costUsd ?? 0) - sum(call => call.costUsd)) < 1e-9)
  }
})
