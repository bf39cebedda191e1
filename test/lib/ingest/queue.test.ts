import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { Queue } from '../../../lib/ingest/queue.ts'

const operation = (key: string, bytes = 1, alone = false) => ({ key, bytes, alone })
const wide = { operations: 100, bytes: 100 }

t.test('returns batches in order of arrival, within both bounds', async t => {
  const queue = new Queue<ReturnType<typeof operation>>()
  for (const key of ['a', 'b', 'c']) queue.add(operation(key, 40))
  for (const key of ['d', 'e', 'f', 'g']) queue.add(operation(key))
  const places = () => queue.take({ operations: 3, bytes: 81 }).map(each => each.key)
  t.same([places(), places(), places(), places()], [['a', 'b'], ['c', 'd', 'e'], ['f', 'g'], []])
})

t.test('an operation above the limit of bytes is a batch of its own', async t => {
  const queue = new Queue<ReturnType<typeof operation>>()
  queue.add(operation('a', 500))
  queue.add(operation('b', 500))
  t.equal(queue.take(wide).length, 1)
  t.equal(queue.take(wide).length, 1)
})

t.test('one operation at a time for each key', async t => {
  const queue = new Queue<ReturnType<typeof operation>>()
  const [first, second, other] = [operation('a'), operation('a'), operation('b')]
  for (const each of [first, second, other]) queue.add(each)
  t.same(queue.take(wide), [first, other])
  t.same(queue.take(wide), [])
  queue.release(first)
  t.same(queue.take(wide), [second])
  queue.release(second)
  queue.release(other)
  t.equal(queue.isEmpty, true)
})

t.test('a retried operation comes first and keeps its key', async t => {
  const queue = new Queue<ReturnType<typeof operation>>()
  const [first, second, other] = [operation('a'), operation('a'), operation('b')]
  queue.add(first)
  queue.take(wide)
  queue.add(second)
  queue.add(other)
  queue.retry(first)
  t.same(queue.take(wide), [first, other])
})

t.test('an operation that must be alone is in a batch of its own', async t => {
  const queue = new Queue<ReturnType<typeof operation>>()
  const [first, alone, last] = [operation('a'), operation('b', 1, true), operation('c')]
  for (const each of [first, alone, last]) queue.add(each)
  t.same([queue.take(wide), queue.take(wide), queue.take(wide)], [[first], [alone], [last]])
})

t.test('thousands pass through in order', async t => {
  const queue = new Queue<ReturnType<typeof operation>>()
  for (let i = 0; i < 5000; i++) queue.add(operation(String(i)))
  const seen: string[] = []
  while (queue.runnable > 0) {
    const batch = queue.take({ operations: 7, bytes: 1000 })
    const again = batch.length === 7 && seen.length % 3 === 0 ? batch.pop() : undefined
    if (again) queue.retry(again)
    for (const each of batch) {
      seen.push(each.key)
      queue.release(each)
    }
  }
  t.same(
    seen,
    Array.from({ length: 5000 }, (_, i) => String(i))
  )
  t.equal(queue.isEmpty, true)
})

t.test('objects that leave the queue die young', t => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as (options?: { type: 'minor' }) => void
  const oldBytes = () => getHeapSpaceStatistics().find(space => space.space_name === 'old_space')!.space_used_size
  const queue = new Queue<ReturnType<typeof operation>>()
  const underWay: ReturnType<typeof operation>[] = []
  const pass = (number: number) => {
    // An id is a substring of a body, so a stored id keeps the whole body in memory.
    const body = Buffer.alloc(10_000, String(number)).toString('latin1')
    queue.add(operation(`1/${body.slice(-32)}${number}`))
    underWay.push(...queue.take(wide))
    if (underWay.length > 5) queue.release(underWay.shift()!)
  }
  for (let i = 0; i < 100; i++) pass(i)
  collect()
  const before = oldBytes()
  for (let i = 100; i < 5000; i++) {
    pass(i)
    if (i % 100 === 0) collect({ type: 'minor' })
  }
  const grown = oldBytes() - before
  t.ok(grown < 5_000_000, `${grown} of 50 million bytes were retained`)
  t.end()
})

t.test(
  "with groups, a batch has the operations of the first one's group, in order, and leaves the others in order",
  async t => {
    const queue = new Queue<ReturnType<typeof operation>>()
    const groupOf = ({ key }: { key: string }) => Number(key[1])
    for (const key of ['a1', 'b2', 'c1', 'd2', 'e1']) queue.add(operation(key))
    queue.add(operation('f1', 1, true))
    const keys = (bounds = wide) => queue.take(bounds, groupOf).map(({ key }) => key)
    t.same(keys({ operations: 2, bytes: 100 }), ['a1', 'c1'])
    t.same(keys(), ['b2', 'd2'])
    t.same(keys(), ['e1'], 'an operation that must be alone is')
    t.same(keys(), ['f1'])
    t.same(keys(), [])
    for (const key of ['a1', 'b1', 'c1']) queue.add(operation(key.toUpperCase(), key === 'b1' ? 99 : 1))
    t.same(keys(), ['A1', 'B1'])
    t.same(keys(), ['C1'])
  }
)
