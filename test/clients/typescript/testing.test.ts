/** Traces kept in memory for tests of applications. */
import t from 'tap'
import { recordInMemory } from '../../../clients/typescript/testing.ts'

t.test('whole traces are kept, with their spans and scores, and nothing is sent', async t => {
  const { spoor, traces, one, problems, clear } = recordInMemory({
    url: 'http://127.0.0.1:1',
    live: true,
    sampleRate: 0
  })
  const step = spoor.observe((n: number) => n + 1, { name: 'step', kind: 'tool' })
  let joined = ''
  spoor.trace('many', { tags: ['a'] }, trace => {
    for (let i = 0; i < 300; i++) step(i)
    joined = trace.traceparent
    trace.score('good', true)
    return 'out'
  })
  spoor.trace('remote', spoor.fromHeaders({ traceparent: joined }), () => 1)
  spoor.trace('large', trace => void trace.startSpan('big', { input: 'x'.repeat(300_000) }).end())
  t.match(one('many'), { status: 'ok', output: 'out', tags: ['a'], scores: { good: true } })
  t.equal(one('many').spans.length, 300)
  t.match(one('many').spans[0], { name: 'step', kind: 'tool', input: 0, output: 1 })
  t.match(one('remote'), { id: one('many').id, output: 1 })
  spoor.score(one('large').id, 'kind', 'fine')
  t.same(one('large').scores, { kind: 'fine' })
  t.match(await spoor.close(), { sent: 0, kept: 0, lostCount: 0 })
  t.same(problems, [])
  t.throws(() => one('none'), { message: 'no trace is named none; recorded: many, remote, large' })
  clear()
  t.equal(traces.length, 0)
})
