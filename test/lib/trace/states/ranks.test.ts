import fc from 'fast-check'
import t from 'tap'
import { type Ranks, ranksText, readRanks, spellOut } from '../../../../lib/trace/states/ranks.ts'

const ROOT = [0, 1_790_845_200_000_000, '1326893399517826'] as const

t.test('a rank that repeats is written as the name of the first one', async t => {
  const ranks = { name: ROOT, input: ROOT, end: [0, -5, ''], 'metadata.a': ROOT } as const
  t.equal(ranksText(ranks), `{"name":${JSON.stringify(ROOT)},"input":"name","end":[0,-5,""],"metadata.a":"name"}`)
})

t.test('ranks are read as they were written, in this form and in the earlier one', async t => {
  const rank = fc.tuple(fc.nat(2), fc.integer({ min: -3, max: 3 }), fc.constantFrom('', ' ', 'a', '1 a', '"'))
  const name = fc.oneof(fc.string(), fc.constantFrom('name', 'input', '__proto__', 'constructor', 'status.0.ok'))
  fc.assert(
    fc.property(fc.array(fc.tuple(name, rank), { maxLength: 12 }), pairs => {
      const ranks: Record<string, unknown> = Object.create(null)
      for (const [key, value] of pairs) ranks[key] = value
      t.strictSame(Object.entries(readRanks(ranksText(ranks as Ranks))), Object.entries(ranks))
      t.strictSame(Object.entries(readRanks(JSON.stringify(ranks))), Object.entries(ranks))
    })
  )
})

t.test('a name that stands for no rank stays as it is, for the caller to refuse', async t => {
  t.strictSame({ ...spellOut({ name: 'input', model: 'constructor' }) }, { name: 'input', model: 'constructor' })
  t.strictSame({ ...spellOut({ name: 'input', input: 'name' }) }, { name: 'name', input: 'input' })
})
