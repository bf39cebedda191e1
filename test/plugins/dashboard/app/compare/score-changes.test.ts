/** Tests how the scores of two traces are paired. */
import t from 'tap'
import { pairScores } from '../../../../../plugins/dashboard/app/compare/score-changes.ts'

const score = (value: number | string | boolean) => ({
  scoreId: '0123456789abcdef',
  dataType:
    typeof value === 'number'
      ? ('numeric' as const)
      : typeof value === 'string'
        ? ('categorical' as const)
        : ('boolean' as const),
  value,
  evaluatorId: null
})

t.test('scores are paired by name, and numbers have a difference', async t => {
  const a = { verdict: score('partly'), quality: score(0.7), tone: score(4), resolved: score(true), kept: score(3) }
  const b = { quality: score(0.9), tone: score(2), verdict: score('correct'), resolved: score(false), kept: score(3) }
  t.same(pairScores(a, b), [
    { name: 'kept', a: '3', b: '3', by: '' },
    { name: 'quality', a: '0.7', b: '0.9', by: '+0.2' },
    { name: 'resolved', a: 'yes', b: 'no', by: '' },
    { name: 'tone', a: '4', b: '2', by: '−2' },
    { name: 'verdict', a: 'partly', b: 'correct', by: '' }
  ])
})

t.test('a score of only one trace has no difference', async t => {
  t.same(pairScores({ quality: score(0.7) }, { tone: score(2) }), [
    { name: 'quality', a: '0.7', b: undefined, by: '' },
    { name: 'tone', a: undefined, b: '2', by: '' }
  ])
  t.same(pairScores({ verdict: score('2') }, { verdict: score(2) }), [{ name: 'verdict', a: '2', b: '2', by: '' }])
  t.same(pairScores({}, {}), [])
})
