import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { alarmChange, applyChange, type Breaches, readBreaches, storeBreaches } from '../../../bin/watching/alarms.ts'
import { testFolder } from '../../fixtures/folder.ts'

t.test('reports alternate, start with a breach, and are repeated until they succeed', async t => {
  const step = fc.record({ observed: fc.constantFrom(true, false, undefined), isDelivered: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step), steps => {
      let breaches: Breaches = {}
      const delivered: string[] = []
      let known: boolean | undefined = false
      for (const { observed, isDelivered } of steps) {
        const change = alarmChange(breaches, 'c', observed)
        // Something is reported exactly if the observation differs from the last one that was reported.
        if ((change !== undefined) !== (observed !== undefined && observed !== known)) return false
        if (change === undefined || !isDelivered) continue
        breaches = applyChange(breaches, 'c', change, 'now')
        delivered.push(change)
        known = observed
      }
      return delivered.every((change, i) => change === (i % 2 === 0 ? 'fired' : 'resolved'))
    })
  )
  t.same(applyChange({ a: 't1', b: 't2' }, 'a', 'resolved', 't3'), { b: 't2' }, 'other conditions stay')
})

t.test('breaches are stored in a file, and an unrelated file is rejected', async t => {
  const file = join(await testFolder(t), 'watch.json')
  t.same(await readBreaches(file), {})
  await storeBreaches(file, { c: '2026-11-28T00:00:00.000Z' })
  t.same(await readBreaches(file), { c: '2026-11-28T00:00:00.000Z' })
  for (const text of ['', '[]', '{"breaches":{"c":1}}', 'null']) {
    await writeFile(file, text)
    await t.rejects(readBreaches(file), { name: 'AdminError', message: /is not a state file of `spoor watch`/ }, text)
  }
  await t.rejects(storeBreaches(join(file, 'below'), {}), { name: 'AdminError', message: /cannot write/ })
})
