import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { type Slot, Slots } from '../../../lib/limits/slots.ts'
import { runs } from '../../torture/orders.ts'

const BOUNDS = { total: 10, each: 5, line: 100, waitMs: 60_000 }
const turn = () => new Promise(resolve => setImmediate(resolve))

/** Starts work whose `outcome` says whether it entered or was rejected. */
function begin(slots: Slots, party: unknown, weight = 1): Slot & { outcome?: string } {
  const slot: Slot & { outcome?: string } = slots.of(party)
  slot.enter(weight).then(
    () => {
      slot.outcome = 'inside'
    },
    error => {
      slot.outcome = error.code
    }
  )
  return slot
}

t.test('a party never has all slots, and each release admits the next in line', async t => {
  const slots = new Slots(BOUNDS)
  const own = Array.from({ length: 7 }, () => begin(slots, 'a'))
  const other = begin(slots, 'b', 5)
  await turn()
  t.same(
    own.map(({ isInside }) => isInside),
    [true, true, true, true, true, false, false]
  )
  t.ok(other.isInside)
  own[0]?.leave()
  own[0]?.leave()
  t.ok(own[5]?.isInside, 'the next in line of the same party')
  t.notOk(own[6]?.isInside, 'and only that one')
})

t.test('work that is cancelled while it waits takes no slots, and work of any weight enters alone', async t => {
  const slots = new Slots(BOUNDS)
  const first = begin(slots, 'a', 5)
  const gone = begin(slots, 'a', 5)
  gone.leave()
  first.leave()
  const large = begin(slots, 'a', 50)
  t.ok(large.isInside)
  t.notOk(begin(slots, 'b').isInside)
  large.leave()
  await turn()
  t.equal(gone.outcome, undefined)
})

t.test('work is told to yield while another party waits for its slots', async t => {
  const slots = new Slots(BOUNDS)
  const [a, b] = [begin(slots, 'a', 5), begin(slots, 'b', 5)]
  t.same([a.isWanted, b.isWanted], [false, false])
  const next = begin(slots, 'b', 5)
  t.same([a.isWanted, b.isWanted], [false, true], 'a party that has its share wants only its own slots')
  const third = begin(slots, 'c', 5)
  t.same([a.isWanted, b.isWanted], [true, true])
  for (const each of [next, third]) each.leave()
  t.same([a.isWanted, b.isWanted], [false, false], 'work that has left wants nothing')
})

t.test('a wait ends with a refusal, as does a queue that is too long', async t => {
  const slots = new Slots({ ...BOUNDS, line: 2, waitMs: 20 })
  begin(slots, 'a', 5)
  const waiting = [begin(slots, 'a'), begin(slots, 'a')]
  const surplus = begin(slots, 'a')
  const other = begin(slots, 'b')
  await turn()
  t.equal(surplus.outcome, 'quota_exhausted')
  t.ok(other.isInside)
  while (waiting.some(({ outcome }) => outcome === undefined)) await delay(5)
  t.same(
    waiting.map(({ outcome }) => outcome),
    ['quota_exhausted', 'quota_exhausted']
  )
})

t.test('any history respects the bounds, admits work that fits, and starves no party', async () => {
  const step = fc.record({
    party: fc.integer({ min: 0, max: 3 }),
    weight: fc.integer({ min: 1, max: 5 }),
    leaves: fc.option(fc.nat(), { nil: undefined })
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async steps => {
      const slots = new Slots(BOUNDS)
      const all: { slot: Slot; party: number; weight: number }[] = []
      const insideOf = (party?: number) =>
        all
          .filter(each => each.slot.isInside && (party === undefined || each.party === party))
          .reduce((sum, { weight }) => sum + weight, 0)
      for (const { party, weight, leaves } of steps) {
        const leaving = leaves === undefined ? undefined : all.splice(leaves % Math.max(all.length, 1), 1)[0]
        if (leaving === undefined) all.push({ slot: begin(slots, party, weight), party, weight })
        else leaving.slot.leave()
        if (insideOf() > BOUNDS.total) throw new Error('more inside than there is room')
        for (const each of [0, 1, 2, 3]) if (insideOf(each) > BOUNDS.each) throw new Error(`party ${each} has too much`)
        const waiting = all.filter(({ slot }) => !slot.isInside)
        const mayEnter = waiting.filter(each => insideOf(each.party) + each.weight <= BOUNDS.each)
        if (mayEnter.length > 0 && mayEnter.every(({ weight }) => insideOf() + weight <= BOUNDS.total)) {
          throw new Error('work waits for which there is room')
        }
      }
      // However much work others have queued, a party's first work enters after at most one turn of every other party.
      const late = begin(slots, 'late', 5)
      let left = 0
      for (; !late.isInside; left++) {
        const next = all.find(({ slot }) => slot.isInside)
        if (next === undefined) throw new Error('nobody is inside, and somebody waits')
        all.splice(all.indexOf(next), 1)
        next.slot.leave()
      }
      if (left > 40) throw new Error(`${left} went before`)
      for (const { slot } of all) slot.leave()
      late.leave()
    }),
    runs(100)
  )
})
