import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { nearestNames } from '../../lib/nearest.ts'

const MODELS = ['claude-sonnet-4-5', 'claude-opus-4-1', 'gpt-5', 'gpt-5-mini', 'text-embedding-3']
const TOOLS = ['search', 'lookup_order', 'refund', 'charge_card']

t.test('the nearest names come first', async t => {
  for (const [wanted, nearest, names] of [
    ['gpt5', 'gpt-5', MODELS],
    ['GPT-5-MINI', 'gpt-5-mini', MODELS],
    ['sonnet', 'claude-sonnet-4-5', MODELS],
    ['claude-sonnet', 'claude-sonnet-4-5', MODELS],
    ['cluade-opus', 'claude-opus-4-1', MODELS],
    ['embedding', 'text-embedding-3', MODELS],
    ['lookupOrder', 'lookup_order', TOOLS],
    ['order', 'lookup_order', TOOLS],
    ['reefund', 'refund', TOOLS],
    ['card charge', 'charge_card', TOOLS],
    ['东京', '东京都', ['北京', '东京都']]
  ] as const) {
    const found = nearestNames(wanted, names)
    t.equal(found.names[0], nearest, wanted)
    t.ok(found.areLike)
  }
  t.same(nearestNames('xyzzy', MODELS), { names: MODELS, areLike: false }, 'if none is near, existing ones')
  t.same(nearestNames('any', []), { names: [], areLike: false })
  const begins = ['two', 'one', 'chat/7 of ada with a long name']
  t.equal(nearestNames('chta', begins, true).names[0], begins[2], 'by prefix')
})

t.test('at most five names are suggested, each once and only existing ones, an exact match first', async () => {
  const name = fc.string({ unit: 'grapheme', maxLength: 80 })
  fc.assert(
    fc.property(name, fc.uniqueArray(name, { maxLength: 30 }), fc.boolean(), (wanted, names, isPrefix) => {
      const found = nearestNames(wanted, names, isPrefix).names
      assert.ok(found.length <= 5 && found.every(each => names.includes(each)))
      assert.equal(new Set(found).size, found.length)
      assert.equal(found.length === 0, names.length === 0)
      const own = names.find(each => /^[a-z]+$/.test(each))
      if (own !== undefined)
        assert.equal(
          nearestNames(own, names)
            .names[0]?.toLowerCase()
            .replace(/[^a-z]/g, ''),
          own
        )
    })
  )
})
