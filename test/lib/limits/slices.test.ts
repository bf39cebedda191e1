import t from 'tap'
import { Slices } from '../../../lib/limits/slices.ts'

t.test('long work yields to others, and short work does not', async t => {
  let turns = 0
  const count = setInterval(() => turns++, 0)
  const slices = new Slices()
  // On a busy machine, a turn can take much longer than a slice.
  for (const end = performance.now() + 10_000; turns <= 2 && performance.now() < end; ) await slices.next()
  clearInterval(count)
  t.ok(turns > 2, `${turns}`)
  let isNextTurn = false
  setImmediate(() => {
    isNextTurn = true
  })
  await new Slices().next()
  t.notOk(isNextTurn)
})
