import t from 'tap'
import { Gate } from '../../../lib/limits/gate.ts'

t.test('lets in what fits, in order, and the rest when there is room', async t => {
  const gate = new Gate(10)
  const inside: string[] = []
  const come = (name: string, bytes: number) => gate.enter(bytes).then(() => inside.push(name))
  const all = [come('a', 6), come('b', 4), come('c', 5), come('d', 1)]
  await Promise.all(all.slice(0, 2))
  t.same(inside, ['a', 'b'])
  gate.leave(4)
  await Promise.resolve()
  t.same(inside, ['a', 'b'], 'the small one does not overtake')
  gate.leave(6)
  await Promise.all(all)
  t.same(inside, ['a', 'b', 'c', 'd'])
})

t.test('something larger than the gate enters alone', async t => {
  const gate = new Gate(10)
  await gate.enter(50)
  const next = gate.enter(1)
  gate.leave(50)
  await next
  t.pass('and leaves room for the next')
})
