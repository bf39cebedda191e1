import fc from 'fast-check'
import t from 'tap'
import { pairsOf, type Verdicts } from '../../../../../lib/store/analytics/scored/disagreement.ts'
import { histogramOf, summariseScores } from '../../../../../lib/store/analytics/scored/summary.ts'

t.test('a period of many steps shows fewer values separately, and combines the others', async t => {
  const values = ['a', 'a', 'a', 'b', 'b', 'c']
  const shown = (steps: number) => {
    const [summary] = summariseScores([{ name: 'n', dataType: 'categorical', source: 'api', step: 1, values }], steps)
    return [Object.keys(summary!.shares), summary!.other[1]]
  }
  t.same(shown(400), [['a', 'b', 'c'], 0])
  t.same(shown(3660), [['a', 'b'], 1])
})

t.test('every number is in the bar with the right bounds', async t => {
  const someNumber = fc.oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.double({ min: 0, max: 1, noNaN: true }),
    fc.integer({ min: 1, max: 5 })
  )
  fc.assert(
    fc.property(fc.array(someNumber, { maxLength: 40 }), numbers => {
      const bars = histogramOf(numbers)
      const isIn = (value: number, { from, to }: { from: number; to: number }) =>
        from === to ? value === from : value >= from && value < to
      return (
        bars.length <= 60 &&
        bars.every(
          (bar, i) =>
            bar.count === numbers.filter(each => isIn(each, bar)).length && (bars[i + 1]?.from ?? bar.to) >= bar.to
        ) &&
        bars.reduce((sum, { count }) => sum + count, 0) === numbers.length
      )
    }),
    { numRuns: 300 }
  )
  t.same(
    histogramOf(Array.from({ length: 41 }, (_, i) => i / 40)).map(({ from }) => from),
    Array.from({ length: 21 }, (_, i) => i / 20),
    'bounds are round numbers'
  )
})

t.test('names are counted by step, source and value', async t => {
  const of = (values: (number | string | boolean)[], more: object = {}) => ({
    name: 'quality',
    dataType: 'numeric',
    source: 'api',
    step: 0,
    values,
    ...more
  })
  const verdict = { name: 'verdict', dataType: 'categorical' }
  const names = summariseScores(
    [
      of([1, 2]),
      of([4], { step: 2, source: 'eval' }),
      of(['good', 'bad', 'good'], verdict),
      of(['__proto__'], { ...verdict, step: 1, source: 'annotation' }),
      of([true, false, false, false], { dataType: 'boolean' })
    ],
    3
  )
  t.same(
    names.map(({ name, dataType, count }) => [name, dataType, count]),
    [
      ['quality', 'boolean', 4],
      ['verdict', 'categorical', 4],
      ['quality', 'numeric', 3]
    ]
  )
  const [boolean, categorical, numeric] = names
  t.same(
    names.map(({ average }) => average),
    [0.25, null, 7 / 3]
  )
  t.same(boolean!.mean, [0.25, null, null])
  t.same(boolean!.shares, { true: [1, 0, 0], false: [3, 0, 0] })
  t.same(categorical!.mean, [null, null, null])
  t.same(Object.entries(categorical!.shares), [
    ['good', [2, 0, 0]],
    ['__proto__', [0, 1, 0]],
    ['bad', [1, 0, 0]]
  ])
  t.same(categorical!.sources, { api: 3, annotation: 1, eval: 0 })
  t.same(numeric!.mean, [1.5, null, 4])
  t.same(
    numeric!.histogram,
    [1, 2, 4].map(value => ({ from: value, to: value, count: 1 }))
  )
  const [many] = summariseScores(
    [
      of(
        Array.from({ length: 30 }, (_, i) => `v${i}`),
        verdict
      )
    ],
    1
  )
  t.equal(Object.keys(many!.shares).length, 20)
  t.same(many!.other, [10], 'values beyond the most frequent are combined')
})

t.test('two sources are compared by type', async t => {
  const of = (valueOfA: number | string, valueOfB: number | string, dataType = 'numeric'): Verdicts => ({
    traceSeq: 1,
    spanId: null,
    dataType,
    a: 'annotation',
    b: 'eval',
    valueOfA,
    valueOfB
  })
  t.same(pairsOf([of(1, 1), of(1, 0.5), of(0, 1), of('x', 'x', 'categorical')]), [
    {
      a: 'annotation',
      b: 'eval',
      dataType: 'numeric',
      both: 3,
      differing: 2,
      meanDifference: 0.5 / 3,
      meanDistance: 0.5
    },
    {
      a: 'annotation',
      b: 'eval',
      dataType: 'categorical',
      both: 1,
      differing: 0,
      meanDifference: null,
      meanDistance: null
    }
  ])
  t.equal(pairsOf([of(-1.7e308, 1.7e308)])[0]!.meanDifference, null, 'values that no double holds are omitted')
})
