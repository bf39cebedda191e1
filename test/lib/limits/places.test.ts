import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { type Place, Places } from '../../../lib/limits/places.ts'
import { runs } from '../../torture/orders.ts'

const BOUNDS = { room: 10, each: 5, line: 100, waitMs: 60_000 }
const turn = () => new Promise(resolve => setImmediate(resolve))

/** Starts work that records whether it entered or was rejected. */
function begin(places: Places, party: unknown, weight = 1): Place & { outcome?: string } {
  const place: Place & { outcome?: string } = places.of(party)
  place.enter(weight).then(
    () => {
      place.outcome = 'inside'
    },
    error => {
      place.outcome = error.code
    }
  )
  return place
}

t.test('a party never has all the room, and whoever leaves makes room for the next', async t => {
  const places = new Places(BOUNDS)
  const own = Array.from({ length: 7 }, () => begin(places, 'a'))
  const other = begin(places, 'b', 5)
  await turn()
  t.same(
    own.map(({ isInside }) => isInside),
    [true, true, true, true, true, false, false]
  )
  t.ok(other.isInside)
  own[0]?.leave()
  own[0]?.leave()
  t.ok(own[5]?.isInside, 'the next of the same party')
  t.notOk(own[6]?.isInside, 'and only that one')
})

t.test('work that leaves while it waits takes no room, and work of any weight enters alone', async t => {
  const places = new Places(BOUNDS)
  const first = begin(places, 'a', 5)
  const gone = begin(places, 'a', 5)
  gone.leave()
  first.leave()
  const large = begin(places, 'a', 50)
  t.ok(large.isInside)
  t.notOk(begin(places, 'b').isInside)
  large.leave()
  await turn()
  t.equal(gone.outcome, undefined)
})

t.test('work is wanted while somebody waits who could have its room', async t => {
  const places = new Places(BOUNDS)
  const [a, b] = [begin(places, 'a', 5), begin(places, 'b', 5)]
  t.same([a.isWanted, b.isWanted], [false, false])
  const next = begin(places, 'b', 5)
  t.same([a.isWanted, b.isWanted], [false, true], 'a project that has its share wants only its own room')
  const third = begin(places, 'c', 5)
  t.same([a.isWanted, b.isWanted], [true, true])
  for (const each of [next, third]) each.leave()
  t.same([a.isWanted, b.isWanted], [false, false], 'whoever has left wants nothing')
})

t.test('a wait ends with a refusal, and so does too long a line', async t => {
  const places = new Places({ ...BOUNDS, line: 2, waitMs: 20 })
  begin(places, 'a', 5)
  const waiting = [begin(places, 'a'), begin(places, 'a')]
  const surplus = begin(places, 'a')
  const other = begin(places, 'b')
  await turn()
  t.equal(surplus.outcome, 'quota_exhausted')
  t.ok(other.isInside)
  while (waiting.some(({ outcome }) => outcome === undefined)) await delay(5)
  t.same(
    waiting.map(({ outcome }) => outcome),
    ['quota_exhausted', 'quota_exhausted']
  )
})

t.test('any history keeps the bounds, lets in what fits, and starves no party', async () => {
  const step = fc.record({
    party: fc.integer({ min: 0, max: 3 }),
    weight: fc.integer({ min: 1, max: 5 }),
    leaves: fc.option(fc.nat(), { nil: undefined })
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async steps => {
      const places = new Places(BOUNDS)
      const all: { place: Place; party: number; weight: number }[] = []
      const insideOf = (party?: number) =>
        all
          .filter(each => each.place.isInside && (party === undefined || each.party === party))
          .reduce((sum, { weight }) => sum + weight, 0)
      for (const { party, weight, leaves } of steps) {
        const leaving = leaves === undefined ? undefined : all.splice(leaves % Math.max(all.length, 1), 1)[0]
        if (leaving === undefined) all.push({ place: begin(places, party, weight), party, weight })
        else leaving.place.leave()
        if (insideOf() > BOUNDS.room) throw new Error('more inside than there is room')
        for (const each of [0, 1, 2, 3]) if (insideOf(each) > BOUNDS.each) throw new Error(`party ${each} has too much`)
        const waiting = all.filter(({ place }) => !place.isInside)
        const mayEnter = waiting.filter(each => insideOf(each.party) + each.weight <= BOUNDS.each)
        if (mayEnter.length > 0 && mayEnter.every(({ weight }) => insideOf() + weight <= BOUNDS.room)) {
          throw new Error('work waits for which there is room')
        }
      }
      // However much work others have queued, a party's first work enters after at most one turn of each other party.
      const late = begin(places, 'late', 5)
      let left = 0
      for (; !late.isInside; left++) {
        const next = all.find(({ place }) => place.isInside)
        if (next === undefined) throw new Error('nobody is inside, and somebody waits')
        all.splice(all.indexOf(next), 1)
        next.place.leave()
      }
      if (left > 40) throw new Error(`${left} went before`)
      for (const { place } of all) place.leave()
      late.leave()
    }),
    runs(100)
  )
})
