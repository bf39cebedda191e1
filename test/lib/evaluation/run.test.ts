/** Tests a run of evaluators, with a list instead of the store. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import type { EvaluatedTrace, Evaluator } from '../../../lib/evaluation/evaluator.ts'
import {
  type Candidate,
  type EvaluatedTraces,
  type RunOptions,
  runEvaluators,
  Tally
} from '../../../lib/evaluation/run.ts'

const OPTIONS = { concurrency: 3, limit: 1000, timeoutMs: 60_000, follow: false, signal: new AbortController().signal }

/** The fate of a trace: a verdict, no verdict, an error, or deletion before it is judged. */
type Fate = 'good' | 'nothing' | 'throws' | 'gone'

/** Returns traces by number, and the scores stored for them. */
function benchOf(fates: readonly Fate[]) {
  const stored = new Map<string, string[]>()
  const isJudged = (evaluator: Evaluator, id: string) => stored.get(evaluator.id)?.includes(id) ?? false
  const bench: EvaluatedTraces<Candidate> = {
    async next(evaluator, behind) {
      const from = behind === undefined ? 0 : Number(behind.id) + 1
      const ids = fates.map((_, i) => String(i)).slice(from)
      return ids
        .filter(id => !isJudged(evaluator, id))
        .map(id => ({ id }))
        .slice(0, 2)
    },
    async read({ id }) {
      if (fates[Number(id)] === 'gone') return undefined
      return { trace: { id }, spans: [], scores: [] }
    },
    async store(evaluator, { id }) {
      if (isJudged(evaluator, id)) return 'judged'
      stored.set(evaluator.id, [...(stored.get(evaluator.id) ?? []), id])
      return 'added'
    }
  }
  return { bench, stored }
}

const evaluatorOf = (fates: readonly Fate[], id = 'e'): Evaluator => ({
  ...{ id, name: 'quality', dataType: 'boolean' },
  async evaluate({ trace }: EvaluatedTrace) {
    const fate = fates[Number(trace.id)]
    if (fate === 'throws') throw new Error(`trace ${trace.id}`)
    return fate === 'nothing' ? undefined : Number(trace.id) % 2 === 0
  }
})

async function run(evaluators: Evaluator[], bench: EvaluatedTraces<Candidate>, options: Partial<RunOptions> = {}) {
  const tallies = evaluators.map(() => new Tally())
  await runEvaluators(evaluators, tallies, bench, { ...OPTIONS, ...options })
  return tallies.map(({ summary }) => summary)
}

t.test('each evaluator evaluates each trace once, regardless of the others', async t => {
  const fate = fc.constantFrom<Fate>('good', 'nothing', 'throws', 'gone')
  await fc.assert(
    fc.asyncProperty(fc.array(fate, { maxLength: 12 }), fc.integer({ min: 1, max: 5 }), async (fates, concurrency) => {
      const { bench, stored } = benchOf(fates)
      const evaluators = [evaluatorOf(fates), evaluatorOf(fates, 'f')]
      const errors: string[] = []
      const onError = (_: Evaluator, id: string) => void errors.push(id)
      const count = (wanted: Fate) => fates.filter(each => each === wanted).length
      const [first, second] = await run(evaluators, bench, { concurrency, onError })
      const good = fates.flatMap((each, i) => (each === 'good' ? [i] : []))
      for (const summary of [first!, second!]) {
        assert.equal(summary.judged, good.length)
        assert.equal(summary.failed, count('throws'))
        assert.equal(summary.passed, count('nothing') + count('gone'))
        const mean = good.filter(i => i % 2 === 0).length / good.length
        assert.equal(summary.mean, good.length === 0 ? null : mean)
      }
      assert.equal(errors.length, 2 * count('throws'))
      for (const ids of stored.values()) assert.deepEqual([...ids].sort(), good.map(String).sort())
      const [again] = await run(evaluators, bench, { concurrency })
      assert.equal(again!.judged, 0, 'a second run has only what got no verdict')
      assert.equal(again!.failed, count('throws'))
    })
  )
  t.pass()
})

t.test('respects the limits on the number of traces and on concurrency', async t => {
  const fates = Array<Fate>(20).fill('good')
  const { bench, stored } = benchOf(fates)
  let atOnce = 0
  let most = 0
  const evaluator: Evaluator = {
    ...evaluatorOf(fates),
    async evaluate() {
      most = Math.max(most, ++atOnce)
      await new Promise(resolve => setImmediate(resolve))
      atOnce--
      return true
    }
  }
  const [summary] = await run([evaluator], bench, { limit: 7, concurrency: 3 })
  t.equal(summary!.judged, 7)
  t.same(
    stored
      .get('e')!
      .map(Number)
      .sort((a, b) => a - b),
    [0, 1, 2, 3, 4, 5, 6],
    'the first ones'
  )
  t.ok(most > 1 && most <= 3, `${most} at a time`)
})

t.test('an evaluation that takes too long is an error, and is told to stop', async t => {
  const { bench } = benchOf(['good'])
  let isTold = false
  const evaluator: Evaluator = {
    ...evaluatorOf(['good']),
    evaluate: (_, { signal }) =>
      new Promise(() => {
        signal.addEventListener('abort', () => {
          isTold = true
        })
      })
  }
  const errors: string[] = []
  const [summary] = await run([evaluator], bench, {
    ...{ timeoutMs: 5, onError: (_, __, message) => errors.push(message) }
  })
  t.match(summary, { judged: 0, failed: 1 })
  t.same(errors, ['timed out after 0.005 s'])
  t.ok(isTold)
})

t.test('with follow, evaluates new traces once each, and ends on request', async t => {
  const fates: Fate[] = ['good', 'nothing']
  const { bench, stored } = benchOf(fates)
  const controller = new AbortController()
  let asked = 0
  const evaluator: Evaluator = {
    ...evaluatorOf(fates),
    evaluate({ trace }: EvaluatedTrace) {
      if (trace.id === '1') asked++
      if (trace.id === '2') controller.abort('SIGINT')
      return trace.id === '1' ? undefined : true
    }
  }
  const running = run([evaluator], bench, { follow: true, signal: controller.signal })
  await new Promise(resolve => setTimeout(resolve, 20))
  fates.push('good')
  await running
  t.equal(asked, 1)
  t.same(stored.get('e'), ['0', '2'])
})

t.test('a synchronous error is like any other, even if the run is then told to end', async t => {
  const controller = new AbortController()
  const unhandled: unknown[] = []
  const note = (reason: unknown) => void unhandled.push(reason)
  process.on('unhandledRejection', note)
  t.teardown(() => process.off('unhandledRejection', note))
  const { bench } = benchOf(['good', 'good'])
  const evaluator: Evaluator = {
    ...evaluatorOf(['good']),
    evaluate() {
      throw new Error('at once')
    }
  }
  const [summary] = await run([evaluator], bench, { signal: controller.signal })
  controller.abort('SIGINT')
  await new Promise(resolve => setImmediate(resolve))
  t.match(summary, { judged: 0, failed: 2 })
  t.same(unhandled, [])
})

t.test('a store error ends the run', async t => {
  const { bench } = benchOf(['good', 'good', 'good'])
  const broken = { ...bench, read: () => Promise.reject(new Error('the database is away')) }
  await t.rejects(run([evaluatorOf(['good'])], broken), /the database is away/)
})

t.test('categories are counted, and the rest combined if there are too many', t => {
  const tally = new Tally()
  for (let n = 0; n < 60; n++) tally.count(`c${n}`)
  tally.count('c0')
  t.match(tally.summary, { judged: 61, mean: null, categories: { c0: 2, c49: 1, '(others)': 10 } })
  t.end()
})
