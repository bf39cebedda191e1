import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { planUsage } from '../../../lib/rollups/usage-plan.ts'

const [HOUR, DAY] = [3_600_000, 86_400_000]
const hours = fc.uniqueArray(
  fc.record({
    start: fc.nat(96).map(hour => hour * HOUR),
    traces: fc.integer({ min: 1, max: 30 }),
    isMade: fc.boolean()
  }),
  { selector: ({ start }) => start, maxLength: 60 }
)

t.test('each covered hour is read once, from current sums or from few traces', async () => {
  fc.assert(
    fc.property(
      hours,
      fc.uniqueArray(fc.nat(4).map(day => day * DAY)),
      fc.constantFrom('hour' as const, 'day' as const, 'none' as const),
      fc.nat(100),
      (given, days, interval, most) => {
        const asked = { from: 0, to: 97 * HOUR, interval }
        const plan = planUsage(given, days, asked, most)
        const covered = given.filter(({ start }) => start >= plan.from && start < plan.to)
        const ways = covered.map(({ start, isMade }) => {
          const day = Math.floor(start / DAY) * DAY
          const inDay = plan.days.includes(day)
          const [inHours, isLive] = [plan.hours.includes(start), plan.live.includes(start)]
          if (inDay) assert.ok(days.includes(day) && isMade && interval !== 'hour' && day + DAY <= asked.to)
          if (inHours) assert.ok(isMade)
          return Number(inDay) + Number(inHours) + Number(isLive)
        })
        assert.ok(ways.every(way => way === 1))
        assert.equal(plan.hours.length + plan.live.length + plan.days.length > 0, covered.length > 0)
        assert.ok([...plan.hours, ...plan.live].every(start => start >= plan.from && start < plan.to))
        const live = covered.filter(({ start }) => plan.live.includes(start))
        assert.ok(live.reduce((sum, { traces }) => sum + traces, 0) <= most)
        const isAll = given.every(({ isMade }) => isMade) || most >= 60 * 30
        if (isAll) assert.deepEqual([plan.from, plan.to], [asked.from, asked.to])
      }
    )
  )
})
