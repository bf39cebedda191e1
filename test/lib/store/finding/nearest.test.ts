import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { nearestNames } from '../../../../lib/store/finding/nearest.ts'

t.test('the nearest names come first', async t => {
  const tools = ['search_web', 'lookup_order', 'lookup_customer', 'answer', 'refund']
  t.equal(nearestNames('lookupOrder', tools).names[0], 'lookup_order')
  t.equal(nearestNames('order', tools).names[0], 'lookup_order')
  t.equal(nearestNames('reefund', tools).names[0], 'refund')
  const models = ['gpt-4o-mini', 'claude-sonnet-4-5', 'gpt-4o', 'gpt-4.1']
  t.equal(nearestNames('gpt4o', models).names[0], 'gpt-4o')
  t.equal(nearestNames('claude-sonnet', models).names[0], 'claude-sonnet-4-5')
  t.same(nearestNames('zzz', ['b', 'a']), { names: ['b', 'a'], areLike: false }, 'or the most frequent ones')
  t.same(nearestNames('x', []), { names: [], areLike: false })
  t.same(nearestNames('东京', ['北京', '东京都']).names[0], '东京都')
})

t.test('an existing name is its own nearest, and nothing but names is suggested', async () =>
  fc.assert(
    fc.property(fc.uniqueArray(fc.string(), { minLength: 1, maxLength: 12 }), fc.string(), (names, wanted) => {
      const found = nearestNames(wanted, names).names
      assert.ok(found.length <= 5 && new Set(found).size === found.length)
      assert.ok(found.every(name => names.includes(name)))
      const own = names.at(-1)!
      const [first] = nearestNames(own, names).names
      const plain = (name: string) => name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '') || name.toLowerCase()
      assert.equal(plain(first!), plain(own))
    })
  )
)
