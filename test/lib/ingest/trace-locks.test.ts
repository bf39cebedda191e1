import fc from 'fast-check'
import t from 'tap'
import { TraceLocks } from '../../../lib/ingest/trace-locks.ts'

t.test('holds and releases locks as a Map does keys, even if many share a bucket', t => {
  // There are half as many locks as buckets, so some locks share a bucket in every history.
  const numbers = fc.array(fc.nat(2000), { minLength: 1000, maxLength: 8000 })
  fc.assert(
    fc.property(numbers, numbers => {
      const locks = new TraceLocks<number>()
      const model = new Map<string, object>()
      for (const number of numbers) {
        const place = `1/${number}`
        const held = locks.get(place)
        if (held !== model.get(place)) throw new Error(`${place} is not as it should be`)
        if (held === undefined) {
          locks.acquire(place)
          model.set(place, locks.get(place)!)
        } else {
          locks.release(held)
          model.delete(place)
        }
      }
      if (locks.size !== model.size) throw new Error(`${locks.size} locks in place of ${model.size}`)
      for (const [place, held] of model) if (locks.get(place) !== held) throw new Error(`${place} is lost`)
    }),
    { numRuns: 20 }
  )
  t.end()
})
