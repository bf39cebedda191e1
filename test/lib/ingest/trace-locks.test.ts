import fc from 'fast-check'
import t from 'tap'
import { TraceLocks } from '../../../lib/ingest/trace-locks.ts'

t.test('holds and gives up places as a Map does keys, where many share a bucket', t => {
  // Half as many places as there are buckets: in every history some share one.
  const numbers = fc.array(fc.nat(2000), { minLength: 1000, maxLength: 8000 })
  fc.assert(
    fc.property(numbers, numbers => {
      const places = new TraceLocks<number>()
      const model = new Map<string, object>()
      for (const number of numbers) {
        const place = `1/${number}`
        const held = places.get(place)
        if (held !== model.get(place)) throw new Error(`${place} is not as it should be`)
        if (held === undefined) {
          places.hold(place)
          model.set(place, places.get(place)!)
        } else {
          places.leave(held)
          model.delete(place)
        }
      }
      if (places.size !== model.size) throw new Error(`${places.size} places in place of ${model.size}`)
      for (const [place, held] of model) if (places.get(place) !== held) throw new Error(`${place} is lost`)
    }),
    { numRuns: 20 }
  )
  t.end()
})
