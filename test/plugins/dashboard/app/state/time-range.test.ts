/** Tests the time that a relative range covers: that of the charts of the range. */
import fc from 'fast-check'
import t from 'tap'
import { periodBetween, periodOf } from '../../../../../lib/rollups/period.ts'
import { readQuery, toServer } from '../../../../../plugins/dashboard/app/state/list-query.ts'
import { toCounted } from '../../../../../plugins/dashboard/app/state/overview-query.ts'
import {
  CHART_RANGES,
  COUNTED_RANGES,
  isRange,
  LIST_RANGES,
  rangeName,
  timeOfRange
} from '../../../../../plugins/dashboard/app/state/time-range.ts'

const presents = fc.record({
  now: fc.integer({ min: Date.parse('2020-01-01T00:00:00Z'), max: Date.parse('2030-01-01T00:00:00Z') }),
  offset: fc.integer({ min: -12 * 4, max: 14 * 4 }).map(quarters => quarters * 15)
})

t.test('a list starts at the same time as the chart of its range', async t => {
  fc.assert(
    fc.property(presents, fc.constantFrom(...CHART_RANGES), (present, range) => {
      const listed = new URLSearchParams(toServer(readQuery(`?range=${range}`), present))
      const counted = new URLSearchParams(toCounted(readQuery(`?range=${range}`), present))
      t.equal(counted.get('range'), range)
      t.equal(Date.parse(listed.get('from')!), periodOf(range, present.now, Number(counted.get('offset'))).from)
      t.equal(listed.get('to'), null)
    })
  )
})

t.test('a list and a chart of a month, or of a range without a name, start at the same time', async t => {
  const others = [...COUNTED_RANGES.filter(range => !CHART_RANGES.some(each => each === range)), '15m', '3d', '45d']
  fc.assert(
    fc.property(presents, fc.constantFrom(...others), (present, range) => {
      const listed = new URLSearchParams(toServer(readQuery(`?range=${range}`), present))
      const counted = new URLSearchParams(toCounted(readQuery(`?range=${range}`), present))
      t.equal(counted.get('range'), null)
      t.equal(listed.get('from'), counted.get('from'))
      // A chart may begin earlier only if its steps are shorter than the range's and its time ends within a step.
      const [from, to] = ['from', 'to'].map(name => Date.parse(counted.get(name)!)) as [number, number]
      t.ok(from <= to)
      t.equal(periodBetween(from, to, present.offset).from, from)
    })
  )
})

t.test("months start at midnight of their first day, in the charts' zone", async t => {
  const present = { now: Date.parse('2026-03-31T23:30:00Z'), offset: 0 }
  t.same(timeOfRange('month', present), { from: '2026-03-01T00:00:00.000Z' })
  t.same(timeOfRange('last-month', present), { from: '2026-02-01T00:00:00.000Z', to: '2026-02-28T23:59:59.999Z' })
  // One hour further east, April has begun.
  t.same(timeOfRange('month', { ...present, offset: 60 }), { from: '2026-03-31T23:00:00.000Z' })
  t.same(timeOfRange('last-month', { ...present, offset: 60 }), {
    from: '2026-02-28T23:00:00.000Z',
    to: '2026-03-31T22:59:59.999Z'
  })
  t.same(timeOfRange('last-month', { now: Date.parse('2026-01-15T00:00:00Z'), offset: -300 }), {
    from: '2025-12-01T05:00:00.000Z',
    to: '2026-01-01T04:59:59.999Z'
  })
})

t.test('ranges have names, and other texts are not ranges', async t => {
  t.same(['month', 'last-month', '15m'].map(rangeName), ['This month', 'Last month', 'Last 15 minutes'])
  for (const range of [...LIST_RANGES, ...COUNTED_RANGES]) t.ok(isRange(range), range)
  for (const text of ['all', '', 'constructor', '0h', 'months'])
    t.same([isRange(text), timeOfRange(text, { now: 0, offset: 0 })], [false, undefined], text)
  t.equal(readQuery('?range=last-month').range, 'last-month')
})
