import fc from 'fast-check'
import t from 'tap'
import { Admission, type Room } from '../../../lib/limits/admission.ts'
import { runs } from '../../torture/orders.ts'

const BOUNDS = { requests: 100, bytes: 1000 }
const refused = { code: 'quota_exhausted' }

/** Admits requests until the capacity is exhausted. */
function fill(admission: Admission, party: unknown, bytes: number, requests = 1): Room[] {
  const rooms: Room[] = []
  try {
    for (;;) rooms.push(admission.admit(bytes, requests, party))
  } catch {
    return rooms
  }
}

t.test('a party that takes all it can gets half of the bytes and requests, and others find capacity', async t => {
  const admission = new Admission(BOUNDS)
  t.equal(fill(admission, 'a', 10).length, 50)
  t.equal(fill(admission, 'b', 10).length, 25)
  t.doesNotThrow(() => admission.admit(10, 1, 'c'))
  const requests = new Admission(BOUNDS)
  t.equal(fill(requests, 'a', 0).length, 50)
  t.doesNotThrow(() => requests.admit(0, 1, 'b'))
})

t.test('requests without a known party count as one party', async t => {
  const admission = new Admission(BOUNDS)
  t.equal(fill(admission, undefined, 100).length, 5)
  t.doesNotThrow(() => admission.admit(100, 1, 1))
})

t.test('a reservation that shrinks keeps at most its size, and is released once', async t => {
  const admission = new Admission(BOUNDS)
  const room = admission.admit(100, 1, 'a')
  room.shrink(500)
  t.same([admission.bytes, admission.requests], [100, 0])
  room.shrink(30)
  t.throws(() => room.grow(2000), refused)
  room.grow(10, 1)
  t.same([admission.bytes, admission.requests], [40, 1])
  room.release()
  room.release()
  t.same([admission.bytes, admission.requests], [0, 0])
  t.equal(fill(admission, 'a', 100).length, 5, 'nothing remains reserved')
})

t.test('any history respects the bounds and releases what it took', async () => {
  const step = fc.record({
    party: fc.integer({ min: 0, max: 3 }),
    bytes: fc.integer({ min: 0, max: 300 }),
    act: fc.constantFrom('admit', 'grow', 'shrink', 'release'),
    of: fc.nat()
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 80 }), async steps => {
      const admission = new Admission(BOUNDS)
      const rooms: { room: Room; party: number; bytes: number; requests: number }[] = []
      for (const { party, bytes, act, of } of steps) {
        const known = rooms[of % Math.max(rooms.length, 1)]
        try {
          if (act === 'admit') rooms.push({ room: admission.admit(bytes, 1, party), party, bytes, requests: 1 })
          else if (known === undefined) continue
          else if (act === 'grow') {
            known.room.grow(bytes)
            known.bytes += bytes
          } else {
            if (act === 'shrink') known.room.shrink(bytes)
            else known.room.release()
            known.bytes = act === 'shrink' ? Math.min(bytes, known.bytes) : 0
            known.requests = 0
          }
        } catch (error) {
          const own = rooms.filter(room => room.party === (act === 'admit' ? party : known?.party))
          const held = own.reduce((sum, room) => sum + room.bytes, 0)
          const requests = own.reduce((sum, room) => sum + room.requests, 0)
          const isFull = held + bytes > BOUNDS.bytes - admission.bytes - bytes
          const isCrowded = requests + 1 > BOUNDS.requests - admission.requests - 1
          if (!isFull && !(act === 'admit' && isCrowded)) throw error
        }
        const sum = (of: 'bytes' | 'requests') => rooms.reduce((total, room) => total + room[of], 0)
        if (admission.bytes !== sum('bytes') || admission.requests !== sum('requests')) throw new Error('miscounted')
        if (admission.bytes > BOUNDS.bytes || admission.requests > BOUNDS.requests) throw new Error('too much')
      }
      for (const { room } of rooms) room.release()
      if (admission.bytes !== 0 || admission.requests !== 0) throw new Error('not all came back')
    }),
    runs(200)
  )
})
