import t from 'tap'
import { FairGate } from '../../../lib/limits/fair-gate.ts'

/** Lets parties enter a gate, and leave it in the order in which they entered. */
function visit(capacity: number) {
  const gate = new FairGate(capacity)
  const entered: string[] = []
  const inside: number[] = []
  return {
    entered,
    come(party: string, weight: number) {
      void gate.enter(party, weight).then(() => {
        entered.push(`${party}${weight}`)
        inside.push(weight)
      })
    },
    async settle() {
      await new Promise(resolve => setImmediate(resolve))
    },
    async leaveAll() {
      for (;;) {
        await this.settle()
        const weight = inside.shift()
        if (weight === undefined) return
        gate.leave(weight)
      }
    }
  }
}

t.test("admits work that fits, and a single party's work in order", async t => {
  const gate = visit(10)
  for (const weight of [6, 4, 5, 1, 10]) gate.come('a', weight)
  await gate.settle()
  t.same(gate.entered, ['a6', 'a4'])
  await gate.leaveAll()
  t.same(gate.entered, ['a6', 'a4', 'a5', 'a1', 'a10'], 'the small one does not overtake')
})

t.test("a party's work waits behind its own, not behind others'", async t => {
  const gate = visit(10)
  for (let i = 0; i < 6; i++) gate.come('a', 10)
  gate.come('b', 1)
  gate.come('c', 10)
  await gate.settle()
  t.same(gate.entered, ['a10'])
  await gate.leaveAll()
  t.same(gate.entered, ['a10', 'a10', 'b1', 'c10', 'a10', 'a10', 'a10', 'a10'])
})

t.test('waiting parties get equal weight, however they divide their work', async t => {
  const gate = visit(8)
  gate.come('a', 8)
  for (let i = 0; i < 4; i++) gate.come('a', 8)
  for (let i = 0; i < 16; i++) gate.come('b', 2)
  await gate.leaveAll()
  const firsts = gate.entered.slice(1, 11)
  t.same([firsts.filter(each => each === 'a8').length, firsts.filter(each => each === 'b2').length], [2, 8])
})

t.test('work that is larger than the gate enters alone, and small work of others does not starve it', async t => {
  const gate = visit(10)
  gate.come('a', 9)
  gate.come('b', 50)
  for (let i = 0; i < 20; i++) gate.come('a', 9)
  await gate.leaveAll()
  t.ok(gate.entered.indexOf('b50') <= 2, String(gate.entered))
  t.equal(gate.entered.length, 22)
})
