/** Tests axes, paths and labels of charts without a browser. */

import fc from 'fast-check'
import t from 'tap'
import * as server from '../../../../../lib/rollups/period.ts'
import { placesAxis, shownTicks, timeAxis } from '../../../../../plugins/dashboard/app/charts/axis.ts'
import { changeOf, rateOf, stepsBetween } from '../../../../../plugins/dashboard/app/charts/series.ts'
import {
  durationAxis,
  linePaths,
  placeOf,
  shortValue,
  stackedSums,
  stackPaths,
  type Unit,
  valueAxis
} from '../../../../../plugins/dashboard/app/charts/value-axis.ts'
import type { View } from '../../../../../plugins/dashboard/app/contract.ts'
import { sharesOf, summaryOf } from '../../../../../plugins/dashboard/app/overview/score-summary.ts'
import { isCounted, readQuery } from '../../../../../plugins/dashboard/app/state/list-query.ts'
import {
  readOverview,
  readShown,
  toCounted,
  writeOverview
} from '../../../../../plugins/dashboard/app/state/overview-query.ts'
import { CHART_RANGES, DAY_RANGE_CHOICES, rangeMs } from '../../../../../plugins/dashboard/app/state/time-range.ts'
import { addressOf, describeQuery, inOrder } from '../../../../../plugins/dashboard/app/state/views.ts'

const NARROW_SPACE = '\u202f'
const UNITS: readonly Unit[] = ['count', 'share', 'ms', 'usd', 'number']

t.test('a value axis covers all values in a few round steps', async t => {
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
  t.same(valueAxis([3], 'count').ticks, [0, 1, 2, 3], 'no fractions of traces')
  t.same(valueAxis([0.6], 'share').ticks, [0, 0.2, 0.4, 0.6])
  t.same(valueAxis([2700], 'ms').ticks, [0, 1000, 2000, 3000])
  t.same(valueAxis([130_000], 'ms').ticks, [0, 60_000, 120_000, 180_000])
})

t.test('a duration axis is logarithmic and covers all durations', async t => {
  const duration = fc.tuple(fc.integer({ min: 0, max: 9999 }), fc.integer({ min: 0, max: 6 }))
  const values = fc.array(fc.option(duration.map(([digits, power]) => digits * 10 ** power)), { maxLength: 8 })
  fc.assert(
    fc.property(values, values => {
      const axis = durationAxis(values)
      const { bottom, top, ticks } = axis
      const held = values.every(value => value === null || value < 1 || (value >= bottom && value <= top))
      const places = ticks.map(tick => placeOf(tick, axis))
      const isInOrder = places.every((place, i) => i === 0 || place > places[i - 1]!)
      return held && isInOrder && ticks.length >= 2 && ticks.length <= 6 && places[0] === 0 && places.at(-1) === 1
    }),
    { numRuns: 200 }
  )
  t.same(durationAxis([]).ticks, [1000, 2000])
  t.same(durationAxis([1500, 300_000]).ticks, [1000, 5000, 30_000, 300_000])
  t.same(durationAxis([null, 3000]).ticks, [2000, 5000])
  t.equal(placeOf(0, durationAxis([0, 100])), 0)
  t.ok(durationAxis([1, 1e10]).top >= 1e10)
})

t.test("the last tick's label is placed before the tick, or the tick is omitted", async t => {
  const axis = (...at: number[]) => ({
    names: Array.from({ length: 30 }, String),
    ticks: at.map(at => ({ at, text: String(at) }))
  })
  const shown = (...at: number[]) => shownTicks(axis(...at)).map(({ at, isBefore }) => (isBefore ? `<${at}` : `${at}`))
  t.same(shown(0, 7, 14, 21), ['0', '7', '14', '21'])
  t.same(shown(1, 8, 15, 22, 29), ['1', '8', '15', '22', '<29'])
  t.same(shown(1, 25, 29), ['1', '25'])
  t.same(shownTicks({ names: ['a'], ticks: [{ at: 0, text: 'a' }] }), [{ at: 0, text: 'a', isBefore: false }])
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

/** Returns the start times of consecutive steps that last `minutes` minutes each. */
function steps(from: string, minutes: number, count: number): string[] {
  return Array.from({ length: count }, (_, i) => new Date(Date.parse(from) + i * minutes * 60_000).toISOString())
}

t.test('a time axis names every step, and labels a few', async t => {
  const texts = (starts: readonly string[], step: 'minute5' | 'hour' | 'day') =>
    timeAxis({ starts, to: '2026-11-26T00:00:00Z', step, offset: 0 }, 'utc').ticks.map(({ text }) => text)
  const hour = steps('2026-11-25T09:00:00Z', 5, 12)
  t.same(texts(hour, 'minute5'), ['09:00', '09:10', '09:20', '09:30', '09:40', '09:50'])
  t.equal(
    timeAxis({ starts: hour, to: '2026-11-25T10:00:00Z', step: 'minute5', offset: 0 }, 'utc').names[11],
    'Wed 25 Nov, 09:55 – 10:00'
  )
  const day = steps('2026-11-25T10:00:00Z', 60, 24)
  t.same(texts(day, 'hour'), ['12:00', '16:00', '20:00', '26 Nov', '04:00', '08:00'])
  const week = steps('2026-11-19T10:00:00Z', 60, 168)
  t.same(texts(week, 'hour'), ['20 Nov', '21 Nov', '22 Nov', '23 Nov', '24 Nov', '25 Nov', '26 Nov'])
  const month = steps('2026-10-27T00:00:00Z', 1440, 30)
  t.same(texts(month, 'day'), ['2 Nov', '9 Nov', '16 Nov', '23 Nov'])
  const year = steps('2025-11-27T00:00:00Z', 1440, 365)
  t.same(texts(year, 'day'), ['2026', 'Apr', 'Jul', 'Oct'])
  const axis = timeAxis({ starts: year, to: '2026-11-27T00:00:00Z', step: 'day', offset: 0 }, 'utc')
  t.same([axis.names[0], axis.zone], ['Thu 27 Nov 2025', 'UTC'])
  t.same(timeAxis({ starts: [], to: '2026-11-27T00:00:00Z', step: 'day', offset: 0 }, 'utc').ticks, [])
  t.same(placesAxis(['a', 'b', 'c', 'd'], 2).ticks, [
    { at: 0, text: 'a' },
    { at: 2, text: 'c' }
  ])
})

t.test('the page offers the ranges that the server accepts', async t => {
  t.same(CHART_RANGES, Object.keys(server.RANGES))
  t.same(DAY_RANGE_CHOICES, server.DAY_RANGES)
  for (const range of CHART_RANGES) t.equal(rangeMs(range), server.RANGES[range])
})

t.test('hours are labelled correctly in zones with half-hour offsets', async t => {
  const { TZ } = process.env
  t.teardown(() => {
    if (TZ === undefined) delete process.env.TZ
    else process.env.TZ = TZ
  })
  process.env.TZ = 'Asia/Kolkata'
  const { names, ticks, zone } = timeAxis(
    { starts: steps('2026-11-25T10:00:00Z', 60, 24), to: '2026-11-26T10:00:00Z', step: 'hour', offset: 360 },
    'local'
  )
  t.same(
    ticks.map(({ text }) => text),
    ['16:30', '20:30', '26 Nov', '04:30', '08:30', '12:30']
  )
  t.same([names[0], zone], ['Wed 25 Nov, 15:30 – 16:30', 'UTC+05:30'])
  const days = timeAxis(
    { starts: steps('2026-11-24T18:00:00Z', 1440, 3), to: '2026-11-27T18:00:00Z', step: 'day', offset: 360 },
    'local'
  )
  t.same([days.names, days.zone], [['Wed 25 Nov 2026', 'Thu 26 Nov 2026', 'Fri 27 Nov 2026'], 'UTC+06:00'])
})

t.test('lines break at missing values, and bars are stacked', async t => {
  const axis = valueAxis([4], 'count')
  t.same(linePaths([4, 2, null, 0, null, 1], axis), { line: 'M0.5 0L1.5 50', points: 'M3.5 100h0M5.5 75h0' })
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
    stackedSums([
      [2, null],
      [2, 1]
    ]),
    [4, 1]
  )
  const [tiny] = stackPaths([[0.0001]], axis)
  t.match(tiny, /V99\.2h/, 'a value above zero is visible')
})

t.test('an overview follows its address, and always has a time range', async t => {
  t.same(readOverview(''), { filters: {}, range: '7d', sort: 'newest' })
  t.same(readOverview('?range=24h&env=prod&tag=x&user=u'), {
    filters: { env: 'prod' },
    range: '24h',
    sort: 'newest'
  })
  const search = '?status=error&model=m&from=2026-11-25T00%3A00%3A00Z&table=cost,models'
  t.equal(writeOverview(readOverview(search), readShown(search)), search)
  t.same(readShown('?table=a,<b>,c-d'), ['a', 'c-d'])

  const now = { now: Date.parse('2026-11-26T10:00:00Z'), offset: 60 }
  const asked = (search: string) =>
    Object.fromEntries(new URLSearchParams(toCounted(readQuery(search), now, { by: 'name' })))
  t.same(asked('?range=30d&env=prod'), { range: '30d', env: 'prod', offset: '60', by: 'name' })
  t.same(asked('?range=15m&tag=x'), {
    from: '2026-11-26T09:50:00.000Z',
    to: '2026-11-26T10:00:00.000Z',
    offset: '60',
    by: 'name'
  })
  t.match(asked('?from=2026-11-25T00:00:00Z'), { from: '2026-11-25T00:00:00Z', to: '2026-11-26T10:00:00.000Z' })
  t.match(asked('?to=2026-11-25T00:00:00Z'), { from: '2026-11-18T00:00:00.000Z', to: '2026-11-25T00:00:00Z' })
  const counted = [
    '?status=ok&name=a&model=m&env=e&from=2026-11-25T00:00Z',
    '?tag=x',
    '?user=u',
    '?session=s',
    '?sort=costliest',
    '?sort=slowest'
  ]
  t.same(
    counted.map(search => isCounted(readQuery(search))),
    [true, false, false, false, false, true]
  )
})

t.test('steps link to the list from their start to their last moment', async t => {
  const answer = {
    from: '2026-11-25T09:00:00.000Z',
    to: '2026-11-25T11:00:00.000Z',
    starts: ['2026-11-25T09:00:00.000Z', '2026-11-25T10:00:00.000Z']
  }
  t.same(stepsBetween(answer, 0, 0), { from: answer.starts[0], to: '2026-11-25T09:59:59.999999Z' })
  t.same(stepsBetween(answer, 1, 1), { from: answer.starts[1], to: '2026-11-25T10:59:59.999999Z' })
  t.same(stepsBetween(answer), { from: answer.from, to: '2026-11-25T10:59:59.999999Z' })
  t.same(stepsBetween({ ...answer, starts: [] }), { from: answer.from, to: '2026-11-25T10:59:59.999999Z' })
  t.same([rateOf(1, 4), rateOf(0, 0)], [0.25, null])
  t.same(
    [changeOf(12, 10)?.toFixed(2), changeOf(1, 0), changeOf(null, 1), changeOf(1, undefined)],
    ['0.20', null, null, null]
  )
})

t.test('scores are described in a few words, and views by what they show', async t => {
  const score = {
    name: 'verdict',
    count: 8,
    average: null,
    mean: [null, null],
    histogram: [],
    sources: { api: 8, annotation: 0, eval: 0 }
  }
  const shares = { wrong: [1, 1], correct: [4, 0], unsure: [0, 1] }
  const categorical = { ...score, dataType: 'categorical', shares, other: [1, 0] } as const
  t.equal(summaryOf(categorical), `correct 50${NARROW_SPACE}%`)
  t.same(sharesOf(categorical, 1), [
    { name: 'correct', values: [4, 0] },
    { name: 'others', values: [2, 2] }
  ])
  t.equal(
    summaryOf({ ...categorical, dataType: 'boolean', shares: { true: [6, 0], false: [2, 0] } }),
    `75${NARROW_SPACE}% yes`
  )
  t.equal(summaryOf({ ...categorical, dataType: 'numeric', average: 0.8412345 }), 'mean 0.84')

  const view = (name: string, page: View['page'], shared: boolean): View => ({
    id: 1,
    name,
    page,
    query: '?range=7d',
    shared
  })
  const views = [view('c', 'traces', true), view('a', 'overview', false), view('b', 'traces', false)]
  t.same(
    inOrder(views, 'traces').map(({ name }) => name),
    ['b', 'c', 'a']
  )
  t.equal(addressOf('a b', views[1]!), 'p/a%20b/overview?range=7d')
  t.equal(describeQuery('?status=error&range=24h&cols=name,cost'), 'status: error · last 24 hours · 2 columns')
  t.equal(describeQuery('?minDuration=2000&maxCost=0.5&min=1'), 'duration ≥ 2 s · cost ≤ $0.5 · min: 1')
  t.equal(
    describeQuery(
      '?stepStatus=error&score=tone%3C0.5&failed=true&runs=only&from=2026-11-21T11:06:00.000Z&sort=slowest'
    ),
    'step status: error · score: tone<0.5 · any failure: yes · runs only · from: 2026-11-21 11:06 UTC · slowest first'
  )
  t.equal(describeQuery('?range=all&range=nonsense&cols=name'), 'all time · nonsense · 1 column')
  t.equal(describeQuery(''), 'no filters')
})
