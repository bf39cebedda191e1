import assert from 'node:assert'
import fc from 'fast-check'
import t from 'tap'
import { inTreeOrder } from '../../../lib/trace/tree-order.ts'

/** Parses a notation for spans: `a` is a root, `b<a` is a child of `a`. */
function spansOf(text: string) {
  return text
    .split(' ')
    .filter(part => part !== '')
    .map(part => ({ id: part.split('<')[0]!, parentSpanId: part.split('<')[1] ?? null }))
}
const shown = (text: string) =>
  inTreeOrder(spansOf(text))
    .map(({ span, depth }) => `${depth}${span.id}`)
    .join(' ')

t.test('spans are followed by their children, in the given order', async t => {
  const trees: [string, string, string][] = [
    ['nothing', '', ''],
    ['a list', 'b a', '0b 0a'],
    ['a tree', 'a b<a c d<a e<b', '0a 1b 2e 1d 0c'],
    ['children before their parents', 'c<b b<a a', '0a 1b 2c'],
    ['a missing parent', 'a<x b<a', '0a 1b'],
    ['its own parent', 'a<a b', '0b 0a'],
    ['a cycle with a tail', 'c<a a<b b<a d', '0d 0c 0a 1b'],
    ['a tail below a cycle', 'a<b b<a c<b', '0a 1b 2c']
  ]
  for (const [what, spans, order] of trees) t.equal(shown(spans), order, what)
})

t.test('every span occurs once, below its parent or at the top', async () => {
  const ids = 'abcdefgh'.split('')
  const node = fc.record({ id: fc.constantFrom(...ids), parentSpanId: fc.option(fc.constantFrom(...ids, 'x')) })
  fc.assert(
    fc.property(fc.uniqueArray(node, { selector: ({ id }) => id }), spans => {
      const order = inTreeOrder(spans)
      assert.deepStrictEqual(new Set(order.map(({ span }) => span)), new Set(spans))
      assert.strictEqual(order.length, spans.length)
      for (const [index, { span, depth }] of order.entries()) {
        const above = order.slice(0, index).findLast(other => other.depth < depth)
        if (depth > 0) assert.strictEqual(above?.span.id, span.parentSpanId)
      }
    })
  )
})

t.test('a chain of the maximum length of a trace is handled', async t => {
  const chain = Array.from({ length: 200 }, (_, i) => ({ id: `${i}`, parentSpanId: i === 0 ? null : `${i - 1}` }))
  t.equal(inTreeOrder(chain).at(-1)?.depth, 199)
})
