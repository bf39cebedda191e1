import t from 'tap'
import { LargeMemory } from '../../../../lib/http/body/large-memory.ts'

const MIB = 1024 * 1024

t.test('stores the added bytes, and returns their position', async t => {
  const lease = new LargeMemory().lease()
  const large = lease.take(9 * MIB)
  for (const text of ['one ', 'two ', 'three']) large.add(Buffer.from(text))
  t.equal(large.bytes.toString(), 'one two three')
  t.type(large.bytes.buffer, SharedArrayBuffer, 'a thread can read it as it is')
  t.equal(large.bytes.byteOffset, 0)
  const full = lease.take(16 * MIB)
  full.add(Buffer.alloc(16 * MIB))
  t.throws(() => full.add(Buffer.from('x')), RangeError)
  t.equal(large.bytes.toString(), 'one two three', 'memory of its own')
})

t.test('memory is reused once its request has been answered, and not before', async t => {
  const memory = new LargeMemory()
  const [first, second] = [memory.lease(), memory.lease()]
  const taken = first.take(60 * MIB).bytes.buffer
  t.not(second.take(60 * MIB).bytes.buffer, taken)
  first.end()
  first.end()
  const third = memory.lease()
  t.not(third.take(9 * MIB).bytes.buffer, taken, 'of another size')
  t.equal(third.take(33 * MIB).bytes.buffer, taken)
  t.not(third.take(33 * MIB).bytes.buffer, taken, 'not twice')
})
