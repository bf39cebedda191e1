import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { nearestNames } from '../../../lib/search/nearest.ts'

const NAMES = ['claude-sonnet-4-5', 'claude-opus-4-1', 'gpt-5', 'gpt-5-mini', 'text-embedding-3']

t.test('the nearest names come first', async t => {
  for (const [wanted, nearest] of [
    ['gpt5', 'gpt-5'],
    ['GPT-5-MINI', 'gpt-5-mini'],
    ['sonnet', 'claude-sonnet-4-5'],
    ['cluade-opus', 'claude-opus-4-1'],
    ['embedding', 'text-embedding-3']
  ] as const) {
    t.equal(nearestNames(wanted, NAMES)[0], nearest, wanted)
  }
  t.same(nearestNames('xyzzy', NAMES), NAMES, 'if none is near, those that there are')
  t.same(nearestNames('any', []), [])
  t.equal(nearestNames('chta', ['two', 'one', 'chat/7 of ada'], true)[0], 'chat/7 of ada', 'by their beginnings')
})

t.test('at most five names are given, each once and only those that exist', async () => {
  const name = fc.string({ unit: 'grapheme', maxLength: 80 })
  fc.assert(
    fc.property(name, fc.array(name, { maxLength: 30 }), (wanted, names) => {
      const found = nearestNames(wanted, names)
      assert.ok(found.length <= 5 && found.every(each => names.includes(each)))
      assert.equal(new Set(found).size, found.length)
      assert.equal(found.length === 0, names.length === 0)
      assert.deepEqual(nearestNames(names[0] ?? '', names).slice(0, names.length && 1), names.slice(0, 1))
    })
  )
})
