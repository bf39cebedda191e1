import t from 'tap'
import { Slices } from '../../../lib/limits/slices.ts'

t.test('long work yields to others, and short work does not', async t => {
  let turns = 0
  const count = setInterval(() => turns++, 0)
  const work = async (ms: number) => {
    const slices = new Slices()
    for (const end = performance.now() + ms; performance.now() < end; ) await slices.next()
  }
  await work(100)
  clearInterval(count)
  t.ok(turns > 2, `${turns}`)
  let isNextTurn = false
  setImmediate(() => {
    isNextTurn = true
  })
  await new Slices().next()
  t.notOk(isNextTurn)
})
