import fc from 'fast-check'
import t from 'tap'
import { Backlog } from '../../../lib/background/search-index.ts'
import { describeLags } from '../../../lib/health/lacks.ts'
import { runs } from '../../torture/orders.ts'

const PROJECT = 7

/** Models a project's index: writes arrive with increasing numbers, and the oldest are indexed first. */
class Model {
  readonly #waiting: { seq: number; at: number }[] = []
  #seq = 0

  come(count: number, now: number): void {
    for (let i = 0; i < count; i++) this.#waiting.push({ seq: ++this.#seq, at: now })
  }

  index(count: number): void {
    this.#waiting.splice(0, count)
  }

  oldest(now: number): number {
    return now - (this.#waiting[0]?.at ?? now)
  }

  look({ marks }: Backlog) {
    const last = this.#waiting.at(-1)
    const hasMark = this.#waiting.some(({ seq }) => String(seq) === marks.get(PROJECT)?.seq)
    const waiting = this.#waiting.length
    return [
      { projectId: PROJECT, waiting, partlyIndexed: 0, last: last && { seq: String(last.seq), version: '1' }, hasMark }
    ]
  }
}

t.test('the age never exceeds that of the oldest write, and grows while nothing is indexed', async t => {
  const step = fc.record({ come: fc.nat(5), indexed: fc.nat(6), afterMs: fc.integer({ min: 1, max: 50 }) })
  const property = fc.property(fc.array(step, { maxLength: 60 }), fc.nat(5), (steps, more) => {
    const model = new Model()
    let backlog = new Backlog()
    let now = 0
    const look = () => {
      backlog = backlog.next(model.look(backlog), now)
    }
    for (const { come, indexed, afterMs } of steps) {
      now += afterMs
      model.come(come, now)
      model.index(indexed)
      look()
      if (backlog.ageMs(now) > model.oldest(now)) return false
    }
    model.come(1, now)
    look()
    const stuckAt = now
    for (let i = 0; i < 5; i++) {
      now += 1000
      model.come(more, now)
      look()
    }
    return backlog.ageMs(now) >= now - stuckAt && (backlog.waiting ?? 0) > 0
  })
  fc.assert(property, runs(200))
  t.equal(new Backlog().ageMs(5), 0)
})

t.test('a server reports an index that is minutes behind', async t => {
  t.same(describeLags({ charts: 599_999, search: 0, repacking: 0 }), [])
  t.match(describeLags({ charts: 720_000, search: 3_600_000, repacking: 0 }), [
    /^charts: .* 12 minutes behind/,
    /^search: .* 60 minutes behind/
  ])
})
