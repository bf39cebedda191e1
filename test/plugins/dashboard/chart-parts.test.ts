/** What charts are drawn from: axes and paths, without a browser. */
import fc from 'fast-check'
import t from 'tap'
import { placesAxis, timeAxis } from '../../../plugins/dashboard/app/lib/charts/axis.ts'
import { linePath, stackPaths, sumsOf } from '../../../plugins/dashboard/app/lib/charts/paths.ts'
import { placeOf, shortValue, type Unit, valueAxis } from '../../../plugins/dashboard/app/lib/charts/value-axis.ts'

const NARROW_SPACE = '\u202f'
const UNITS: readonly Unit[] = ['count', 'share', 'ms', 'usd', 'number']

t.test('an axis of values holds them all, in a few round steps', async t => {
  const value = fc
    .tuple(fc.integer({ min: -9999, max: 9999 }), fc.integer({ min: -7, max: 8 }))
    .map(([digits, power]) => digits * 10 ** power)
  const values = fc.array(fc.option(value), { maxLength: 8 })
  fc.assert(
    fc.property(values, fc.constantFrom(...UNITS), (values, unit) => {
      const axis = valueAxis(values, unit)
      const { bottom, top, ticks } = axis
      const slack = 1e-6 * (top - bottom)
      const held = values.every(value => value === null || (value >= bottom - slack && value <= top + slack))
      const places = values.every(value => value === null || (placeOf(value, axis) >= 0 && placeOf(value, axis) <= 1))
      const isInOrder = ticks.every((tick, i) => i === 0 || tick > ticks[i - 1]!)
      const isRight = bottom < top && ticks.length >= 2 && ticks.length <= 7 && ticks.includes(0)
      const shown = new Set(ticks.map(tick => shortValue(tick, unit)))
      return held && places && isInOrder && isRight && shown.size === ticks.length
    }),
    { numRuns: 60 }
  )
  t.same(valueAxis([0, null], 'count').ticks, [0, 1])
  t.same(valueAxis([3], 'count').ticks, [0, 1, 2, 3], 'no halves of traces')
  t.same(valueAxis([0.6], 'share').ticks, [0, 0.2, 0.4, 0.6])
  t.same(valueAxis([2700], 'ms').ticks, [0, 1000, 2000, 3000])
  t.same(valueAxis([130_000], 'ms').ticks, [0, 60_000, 120_000, 180_000])
})

t.test('round numbers are short, with their units', async t => {
  const shown: [number, Unit, string][] = [
    [0, 'count', '0'],
    [1500, 'count', '1.5K'],
    [2e6, 'count', '2M'],
    [0.25, 'share', `25${NARROW_SPACE}%`],
    [0.005, 'share', `0.5${NARROW_SPACE}%`],
    [500, 'ms', '500 ms'],
    [2000, 'ms', '2 s'],
    [90_000, 'ms', '1.5 min'],
    [7_200_000, 'ms', '2 h'],
    [0, 'usd', '$0'],
    [0.0005, 'usd', '$0.0005'],
    [1.5, 'usd', '$1.50'],
    [20, 'usd', '$20'],
    [2500, 'usd', '$2.5K'],
    [0.85, 'number', '0.85']
  ]
  for (const [value, unit, text] of shown) t.equal(shortValue(value, unit), text)
})

/** Steps of so many minutes from an instant. */
function steps(from: string, minutes: number, count: number): string[] {
  return Array.from({ length: count }, (_, i) => new Date(Date.parse(from) + i * minutes * 60_000).toISOString())
}

t.test('an axis of time names every step, and labels a few', async t => {
  const texts = (starts: readonly string[], step: 'minute5' | 'hour' | 'day') =>
    timeAxis(starts, '2026-11-26T00:00:00Z', step, 'utc').ticks.map(({ text }) => text)
  const hour = steps('2026-11-25T09:00:00Z', 5, 12)
  t.same(texts(hour, 'minute5'), ['09:00', '09:10', '09:20', '09:30', '09:40', '09:50'])
  t.equal(timeAxis(hour, '2026-11-25T10:00:00Z', 'minute5', 'utc').names[11], 'Wed 25 Nov, 09:55 – 10:00')
  const day = steps('2026-11-25T10:00:00Z', 60, 24)
  t.same(texts(day, 'hour'), ['12:00', '16:00', '20:00', '26 Nov', '04:00', '08:00'])
  const week = steps('2026-11-19T10:00:00Z', 60, 168)
  t.same(texts(week, 'hour'), ['20 Nov', '21 Nov', '22 Nov', '23 Nov', '24 Nov', '25 Nov', '26 Nov'])
  const month = steps('2026-10-27T00:00:00Z', 1440, 30)
  t.same(texts(month, 'day'), ['2 Nov', '9 Nov', '16 Nov', '23 Nov'])
  const year = steps('2025-11-27T00:00:00Z', 1440, 365)
  t.same(texts(year, 'day'), ['2026', 'Apr', 'Jul', 'Oct'])
  const axis = timeAxis(year, '2026-11-27T00:00:00Z', 'day', 'utc')
  t.same([axis.names[0], axis.zone], ['Thu 27 Nov 2025', 'UTC'])
  t.same(timeAxis([], '2026-11-27T00:00:00Z', 'day', 'utc').ticks, [])
  t.same(placesAxis(['a', 'b', 'c', 'd'], 2).ticks, [
    { at: 0, text: 'a' },
    { at: 2, text: 'c' }
  ])
})

t.test('lines are broken where there is no value, and bars stand on each other', async t => {
  const axis = valueAxis([4], 'count')
  t.equal(linePath([4, 2, null, 0, null, 1], axis), 'M0.5 0L1.5 50M3.2 100h0.6M5.2 75h0.6')
  t.same(
    stackPaths(
      [
        [2, 0],
        [2, 1]
      ],
      axis
    ),
    ['M0.09 100V50h0.82V100z', 'M0.09 50V0h0.82V50zM1.09 100V75h0.82V100z']
  )
  t.same(
    sumsOf([
      [2, null],
      [2, 1]
    ]),
    [4, 1]
  )
  const [tiny] = stackPaths([[0.0001]], axis)
  t.match(tiny, /V99\.2h/, 'what is not zero is seen')
})
