import t from 'tap'
import { Packing } from '../../../lib/ingest/packing.ts'
import { Admission } from '../../../lib/limits/admission.ts'

const LONG = 20_000

t.test('with little work in flight, the texts of every body are packed', async t => {
  const admission = new Admission({ requests: 100, bytes: 2 ** 30 })
  const packing = new Packing(admission)
  for (let i = 0; i < 16; i++) admission.admit(1000)
  t.equal(packing.hurries(LONG), false)
  admission.admit(1000)
  for (let i = 0; i < 64; i++) packing.hurries(LONG)
  t.equal(packing.hurries(LONG), true, 'one request more')
})

t.test('many bytes in flight also count as much work', async t => {
  const admission = new Admission({ requests: 100, bytes: 2 ** 30 })
  const packing = new Packing(admission)
  admission.admit(2 ** 22)
  const hurried = Array.from({ length: 128 }, () => packing.hurries(LONG))
  t.ok(hurried.includes(true))
})

t.test('with much work in flight, 56 consecutive long bodies of each 128 are packed, and no short ones', async t => {
  const admission = new Admission({ requests: 100, bytes: 2 ** 30 })
  const packing = new Packing(admission)
  for (let i = 0; i < 17; i++) admission.admit(1000)
  const hurried = Array.from({ length: 256 }, () => {
    t.equal(packing.hurries(5000), true)
    return packing.hurries(LONG)
  })
  for (const turn of [hurried.slice(0, 128), hurried.slice(128)]) t.equal(turn.filter(each => !each).length, 56)
  const changes = hurried.filter((each, i) => i > 0 && each !== hurried[i - 1])
  t.equal(changes.length, 4, 'packed and unpacked bodies alternate only twice per cycle')
})
