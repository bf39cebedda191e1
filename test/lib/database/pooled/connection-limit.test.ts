import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { ConnectionLimit, type Holder } from '../../../../lib/database/pooled/connection-limit.ts'

const open = async () => 'connection'
const tooMany = async () => {
  throw Object.assign(new Error('too many connections'), { name: 'PostgresError', code: '53300' })
}

/** Returns a holder with idle connections, oldest first. */
function holderOf(limit: ConnectionLimit, since: number[]): Holder & { readonly left: number[] } {
  return {
    left: since,
    get idleSince() {
      return since[0]
    },
    async closeIdle() {
      since.shift()
      await limit.leaveAfter(Promise.resolve())
    }
  }
}

t.test('the connection that has been idle longest is closed for a pool that has none', async t => {
  const limit = new ConnectionLimit(3)
  const [one, other] = [holderOf(limit, [20, 30]), holderOf(limit, [10])]
  for (const holder of [one, other]) limit.join(holder)
  for (let i = 0; i < 3; i++) await limit.open(open)
  t.equal(await limit.openIfFree(open), undefined, 'nothing is taken from others unnecessarily')
  await limit.open(open)
  t.same([one.left, other.left], [[20, 30], []])
  await limit.open(open)
  t.same(one.left, [30])
})

t.test('while all are busy, exactly one connection is requested as soon as it is free', async t => {
  const limit = new ConnectionLimit(2)
  await limit.open(open)
  await limit.open(open)
  t.notOk(limit.isWanted)
  let isOpen = false
  const waiting = limit.open(open).then(() => {
    isOpen = true
  })
  await turn()
  t.ok(limit.isWanted)
  const left = limit.leaveAfter(turn())
  t.notOk(limit.isWanted, 'a slot will soon be free')
  t.notOk(isOpen)
  await left
  await waiting
  t.ok(isOpen)
})

t.test('a refusal lowers the limit to the number of open connections, until more are accepted', async t => {
  const told: object[] = []
  const limit = new ConnectionLimit(10, shortage => told.push(shortage))
  for (let i = 0; i < 4; i++) await limit.open(open)
  t.equal(limit.shortage, undefined)
  t.equal(await limit.openIfFree(tooMany), undefined)
  t.same(limit.shortage, { allowed: 4, wanted: 10 })
  t.equal(await limit.openIfFree(open), undefined, 'not retried at once')
  t.same(told, [{ allowed: 4, wanted: 10 }])
})

t.test('permanent connections do not free slots for others', async t => {
  const limit = new ConnectionLimit(3)
  await limit.openForGood(open)
  await t.rejects(limit.open(tooMany), { code: '53300' })
  t.equal(await limit.open(open), 'connection', 'one pool must always be able to retry')
  limit.leaveForGood()
})

t.test('waiting pools get connections once PostgreSQL accepts more again, even without other activity', async t => {
  const limit = new ConnectionLimit(2)
  await limit.open(open)
  await limit.openIfFree(tooMany)
  t.same(limit.shortage, { allowed: 1, wanted: 2 })
  // A waiting request does not keep the process alive.
  const alive = setInterval(() => {}, 1000)
  t.teardown(() => clearInterval(alive))
  t.equal(await limit.open(open), 'connection')
  t.equal(limit.shortage, undefined)
})
