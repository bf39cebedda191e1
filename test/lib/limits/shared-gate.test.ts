import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { SharedGate } from '../../../lib/limits/shared-gate.ts'
import { runs } from '../../torture/orders.ts'

const settle = () => new Promise(resolve => setImmediate(resolve))

/** Creates work that continues until it is told to end. */
function visits(gate: SharedGate) {
  const inside: { party: string; weight: number; end: () => void }[] = []
  return {
    inside,
    weightOf: (party?: string) =>
      inside.filter(each => party === undefined || each.party === party).reduce((sum, { weight }) => sum + weight, 0),
    come(party: string, weight: number, client?: { signal: AbortSignal }) {
      const work = () =>
        new Promise<void>(resolve => {
          const visit = {
            party,
            weight,
            end: () => {
              inside.splice(inside.indexOf(visit), 1)
              resolve()
            }
          }
          inside.push(visit)
        })
      return gate.run(party, work, { weight, client })
    }
  }
}

t.test('a party that has its share waits, and another party enters at once', async t => {
  const gate = new SharedGate({ share: 8, capacity: 16 })
  const { come, inside } = visits(gate)
  const done = Array.from({ length: 5 }, () => come('a', 8))
  await settle()
  t.same([inside.length, gate.waiting], [1, 4])
  done.push(come('b', 3))
  await settle()
  t.same(
    inside.map(({ party }) => party),
    ['a', 'b']
  )
  while (inside.length > 0) {
    inside[0]!.end()
    await settle()
  }
  await Promise.all(done)
  t.equal(gate.waiting, 0)
})

t.test('failing work leaves, and its error is thrown', async t => {
  const gate = new SharedGate({ share: 1 })
  await t.rejects(
    gate.run('a', () => Promise.reject(new Error('away'))),
    { message: 'away' }
  )
  t.equal(await gate.run('a', async () => 'next'), 'next')
})

t.test('work whose client has disconnected by its turn is not run', async t => {
  const gate = new SharedGate({ share: 1 })
  const { come, inside } = visits(gate)
  const first = come('a', 1)
  const abort = new AbortController()
  const second = come('a', 1, abort)
  abort.abort()
  await new Promise(resolve => setTimeout(resolve, 150))
  inside[0]!.end()
  await first
  await t.rejects(second, { code: 'unavailable' })
  t.same(inside, [])
})

const SHARE = 8
const CAPACITY = 12
const step = fc.oneof(
  fc.record({ party: fc.constantFrom('a', 'b', 'c'), weight: fc.integer({ min: 1, max: 10 }) }),
  fc.record({ leaves: fc.nat() })
)

t.test('in any history, no party exceeds its share, all work is done, and nothing waits without reason', async t => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async steps => {
      const gate = new SharedGate({ share: SHARE, capacity: CAPACITY })
      const { come, inside, weightOf } = visits(gate)
      const done: Promise<void>[] = []
      const leave = (n: number) => inside[n % inside.length]?.end()
      for (const step of steps) {
        if ('party' in step) done.push(come(step.party, step.weight))
        else leave(step.leaves)
        await settle()
        for (const party of ['a', 'b', 'c']) {
          const own = inside.filter(each => each.party === party)
          assert.ok(weightOf(party) <= SHARE || own.length === 1, `${party} has ${weightOf(party)}`)
        }
        assert.ok(weightOf() <= CAPACITY || inside.length === 1)
        assert.ok(inside.length > 0 || gate.waiting === 0)
      }
      while (inside.length > 0) {
        leave(0)
        await settle()
      }
      await Promise.all(done)
    }),
    runs(100)
  )
  t.pass('holds')
})
