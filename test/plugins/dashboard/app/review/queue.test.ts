import fc from 'fast-check'
import t from 'tap'
import {
  backward,
  lastJudged,
  newQueue,
  openTraces,
  progressOf,
  type ReviewQueue,
  reviewSummaryOf,
  shownTrace,
  withOthers,
  withoutLast,
  withoutVerdict,
  withShown,
  withSkippedAgain,
  withVerdict
} from '../../../../../plugins/dashboard/app/review/queue.ts'

const IDS = ['a', 'b', 'c', 'd', 'e']
/** Shows the first open trace if none is shown, as the page does after a lease. */
const settled = (queue: ReviewQueue): ReviewQueue => {
  const [next] = openTraces(queue)
  return shownTrace(queue) === undefined && next !== undefined ? withShown(queue, next) : queue
}

t.test('each verdict leads to the next trace, and the summary counts them', async t => {
  let queue = settled(newQueue([...IDS, 'a']))
  t.same(progressOf(queue), { done: 0, total: 5 })
  queue = settled(withVerdict(queue, 'a', { scoreId: '1', value: 4 }))
  t.equal(shownTrace(queue), 'b')
  queue = settled(withoutVerdict(queue))
  queue = settled(withOthers(queue, ['d', 'a']))
  queue = settled(withVerdict(queue, 'c', { scoreId: '2', value: 5 }))
  t.equal(shownTrace(queue), 'e', 'someone else has d')
  queue = settled(withVerdict(queue, 'e', { scoreId: '3', value: 4 }))
  t.equal(shownTrace(queue), undefined)
  t.same(progressOf(queue), { done: 5, total: 5 })
  t.same(reviewSummaryOf(queue), {
    judged: 3,
    skipped: 1,
    others: 1,
    counts: [
      { value: 4, count: 2 },
      { value: 5, count: 1 }
    ],
    mean: 13 / 3
  })
  queue = settled(withSkippedAgain(queue))
  t.equal(shownTrace(queue), 'b', 'skipped traces can be reviewed after all')
})

t.test('undo shows the last judged trace again, and keeps the later ones', async t => {
  let queue = settled(newQueue(IDS))
  queue = settled(withVerdict(queue, 'a', { scoreId: '1', value: true }))
  queue = settled(withVerdict(queue, 'b', { scoreId: '2', value: false }))
  queue = withoutLast(queue, lastJudged(queue)!)
  t.equal(shownTrace(queue), 'b')
  t.same(progressOf(queue), { done: 1, total: 5 })
  queue = settled(withVerdict(queue, 'b', { scoreId: '3', value: true }))
  t.equal(shownTrace(queue), 'c')
  queue = backward(backward(backward(queue)))
  t.equal(shownTrace(queue), 'a')
  queue = withVerdict(queue, 'a', { scoreId: '4', value: false })
  t.equal(queue.verdicts.get('a')?.scoreId, '4', 'a changed verdict replaces the first')
  t.equal(lastJudged(queue), 'a')
})

t.test('in any history, each trace is in one state, and undoing everything removes every verdict', async () => {
  const step = fc.constantFrom('judge', 'skip', 'back', 'undo', 'other', 'again')
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), steps => {
      let queue = settled(newQueue(IDS))
      for (const each of steps) {
        const shown = shownTrace(queue)
        if (each === 'judge' && shown !== undefined) queue = withVerdict(queue, shown, { scoreId: 's', value: 1 })
        if (each === 'skip') queue = withoutVerdict(queue)
        if (each === 'back') queue = backward(queue)
        if (each === 'undo' && lastJudged(queue) !== undefined) queue = withoutLast(queue, lastJudged(queue)!)
        if (each === 'other') queue = withOthers(queue, openTraces(queue).slice(0, 1))
        if (each === 'again') queue = withSkippedAgain(queue)
        queue = settled(queue)
        const { verdicts, skipped, others } = queue
        for (const id of IDS) {
          if (Number(verdicts.has(id)) + Number(skipped.has(id)) + Number(others.has(id)) > 1) return false
        }
        if (new Set(queue.trail).size !== queue.trail.length) return false
        if (queue.verdicts.size !== queue.judged.length) return false
        // The review ends only when no trace is left.
        if (shownTrace(queue) === undefined && progressOf(queue).done < IDS.length) return false
      }
      while (lastJudged(queue) !== undefined) queue = withoutLast(queue, lastJudged(queue)!)
      return queue.verdicts.size === 0
    })
  )
})
