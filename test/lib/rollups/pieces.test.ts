import fc from 'fast-check'
import t from 'tap'
import { FORTNIGHT, ORIGIN_MS, piecesOf, STEPS } from '../../../lib/rollups/period.ts'

const LENGTHS = { hour: STEPS.hour, day: STEPS.day, fortnight: FORTNIGHT }

t.test('pieces cover the whole time without gaps, consist of whole steps, and few are short', async () => {
  const hours = fc.tuple(fc.integer({ min: -1e6, max: 1e6 }), fc.integer({ min: 1, max: 50_000 }))
  fc.assert(
    fc.property(hours, ([first, count]) => {
      const [from, to] = [first * STEPS.hour, (first + count) * STEPS.hour]
      let end = from
      const lengths = { hour: 0, day: 0, fortnight: 0 }
      for (const piece of piecesOf({ from, to })) {
        const length = LENGTHS[piece.length]
        if (piece.from !== end || piece.to <= piece.from) return false
        if ((piece.from - ORIGIN_MS) % length !== 0 || (piece.to - ORIGIN_MS) % length !== 0) return false
        lengths[piece.length] += (piece.to - piece.from) / length
        end = piece.to
      }
      return end === to && lengths.hour < 47 && lengths.day < 27
    })
  )
})

t.test('a year of days is 25 fortnights and the days around them', t => {
  const pieces = piecesOf({ from: Date.UTC(2025, 10, 27), to: Date.UTC(2026, 10, 27) })
  t.same(
    pieces.map(({ length, from, to }) => `${length} ${(to - from) / LENGTHS[length]}`),
    ['day 2', 'fortnight 25', 'day 13']
  )
  t.same(piecesOf({ from: 0, to: STEPS.hour }), [{ length: 'hour', from: 0, to: STEPS.hour }])
  t.end()
})
