import fc from 'fast-check'
import t from 'tap'
import { type Change, Outage } from '../../../lib/health/readiness.ts'
import { runs } from '../../torture/orders.ts'

const AWAY = { reason: 'away', cause: 'ECONNREFUSED' }
const RECOVERING = { reason: 'recovering', cause: 'the database system is starting up' }
const QUEUE = { reason: 'the queue is full' }
const ELSEWHERE = { reason: 'not configured', isLogged: true }

/** Reports the results of checks to an Outage, one per second. Returns the change that each check causes. */
function tell(looks: readonly (readonly object[])[]): (Change | undefined)[] {
  const outage = new Outage()
  return looks.map((obstacles, second) => outage.see(obstacles as never, second * 1000))
}
const told = (looks: readonly (readonly object[])[]) => tell(looks).filter(change => change !== undefined)

t.test('an outage is reported when it begins, when its reason changes, and when it ends', async t => {
  t.same(told([[], [], []]), [])
  const looks = [[], [AWAY], [AWAY], [RECOVERING], [RECOVERING], [], [], [], [], []]
  t.same(told(looks), [
    { is: 'not ready', reasons: 'away', cause: 'ECONNREFUSED' },
    { is: 'not ready', reasons: 'recovering', cause: RECOVERING.cause },
    { is: 'ready', ms: 4000 }
  ])
  t.same(told([[QUEUE, AWAY]]), [{ is: 'not ready', reasons: 'the queue is full; away', cause: 'ECONNREFUSED' }])
})

t.test('messages from other parts start no outage, but prolong one', async t => {
  t.same(told([[ELSEWHERE], [ELSEWHERE], [], [], [], [], []]), [])
  t.same(told([[AWAY], [ELSEWHERE], [], [], [], []]).at(-1), { is: 'ready', ms: 2000 })
})

t.test('whatever happens, the two kinds alternate, and no reason floods the log', async () => {
  const look = fc.constantFrom([], [], [AWAY], [RECOVERING], [QUEUE], [QUEUE, AWAY], [ELSEWHERE])
  const property = fc.property(fc.array(look, { maxLength: 300 }), looks => {
    const changes = tell(looks).flatMap((change, second) => (change === undefined ? [] : [{ ...change, second }]))
    let toldAt = new Map<string, number>()
    for (const [i, change] of changes.entries()) {
      if (change.is === 'ready') {
        if (changes[i - 1]?.is !== 'not ready') return false
        const steady = looks.slice(change.second - 3, change.second + 1)
        if (steady.some(each => each.length > 0)) return false
        toldAt = new Map()
      } else {
        const before = toldAt.get(change.reasons)
        if (before !== undefined && change.second - before < 60) return false
        toldAt.set(change.reasons, change.second)
      }
    }
    // The first obstacle was reported at once.
    const first = looks.findIndex(each => each.some(obstacle => obstacle !== ELSEWHERE))
    return first === -1 ? changes.length === 0 : changes[0]?.second === first
  })
  fc.assert(property, runs(300))
})
