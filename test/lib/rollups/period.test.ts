import fc from 'fast-check'
import t from 'tap'
import {
  byTheHour,
  countSteps,
  type Period,
  periodBefore,
  periodBetween,
  periodOf,
  RANGES,
  type Range,
  STEPS,
  startsOf,
  ZONES
} from '../../../lib/rollups/period.ts'

const NOW = Date.parse('2026-11-21T10:32:10.500Z')
const shown = ({ from, to, step }: Period) => `${new Date(from).toISOString()} ${new Date(to).toISOString()} ${step}`

t.test('a range ends with the step in progress, and uses suitable steps', t => {
  t.equal(shown(periodOf('1h', NOW)), '2026-11-21T09:35:00.000Z 2026-11-21T10:35:00.000Z minute5')
  t.equal(shown(periodOf('24h', NOW)), '2026-11-20T11:00:00.000Z 2026-11-21T11:00:00.000Z hour')
  t.equal(shown(periodOf('7d', NOW)), '2026-11-14T11:00:00.000Z 2026-11-21T11:00:00.000Z hour')
  t.equal(shown(periodOf('30d', NOW)), '2026-10-23T00:00:00.000Z 2026-11-22T00:00:00.000Z day')
  const hour = Date.parse('2026-11-21T10:00:00Z')
  t.equal(periodOf('24h', hour).to, hour + STEPS.hour, 'an hour that has just begun is included')
  t.equal(shown(byTheHour(periodOf('1h', NOW))), '2026-11-21T09:00:00.000Z 2026-11-21T11:00:00.000Z hour')
  t.equal(shown(periodBefore(periodOf('24h', NOW))), '2026-11-19T11:00:00.000Z 2026-11-20T11:00:00.000Z hour')
  t.end()
})

t.test("days begin at the visitor's midnight, and hours with those of UTC", t => {
  t.equal(shown(periodOf('30d', NOW, 120)), '2026-10-22T22:00:00.000Z 2026-11-21T22:00:00.000Z day')
  t.equal(shown(periodOf('30d', NOW, -720)), '2026-10-22T12:00:00.000Z 2026-11-21T12:00:00.000Z day')
  t.equal(shown(periodOf('30d', NOW, 840)), '2026-10-23T10:00:00.000Z 2026-11-22T10:00:00.000Z day')
  t.equal(shown(periodOf('7d', NOW, 330)), shown(periodOf('7d', NOW)))
  const kolkata = periodOf('30d', NOW, 330)
  t.match(
    [shown(kolkata), kolkata.offset],
    ['2026-10-22T18:00:00.000Z 2026-11-21T18:00:00.000Z day', 360],
    'the nearest'
  )
  t.equal(shown(periodBefore(kolkata)), '2026-09-22T18:00:00.000Z 2026-10-22T18:00:00.000Z day')
  t.equal(shown(periodOf('7d', NOW, 0, 'day')), '2026-11-15T00:00:00.000Z 2026-11-22T00:00:00.000Z day')
  t.end()
})

t.test(
  'a period has all steps that a time touches, a bounded number, and each begins where the previous one ends',
  async () => {
    const year = 365 * STEPS.day
    const times = fc.tuple(
      fc.integer({ min: -year * 1900, max: year * 2000 }),
      fc.oneof(fc.integer({ min: 1, max: STEPS.hour * 20 }), fc.integer({ min: 1, max: year * 10 })),
      fc.integer({ min: ZONES.west, max: ZONES.east })
    )
    fc.assert(
      fc.property(times, ([from, length, offset]) => {
        const period = periodBetween(from, from + length, offset)
        const step = STEPS[period.step]
        const starts = startsOf(period)
        return (
          period.from <= from &&
          from < period.from + step &&
          period.to >= from + length &&
          period.to - step < from + length &&
          starts.length === countSteps(period) &&
          starts.length <= 3652 &&
          starts.every((start, i) => start === period.from + i * step && (start + period.offset * 60_000) % step === 0)
        )
      })
    )
    for (const range of Object.keys(RANGES) as Range[]) {
      const { from, to } = periodOf(range, NOW)
      if (to - from !== RANGES[range]) throw new Error(range)
    }
  }
)
