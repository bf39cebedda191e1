import t from 'tap'
import { plant, readTree, type Tree } from '../../../lib/otlp/attribute-tree.ts'

function treeOf(paths: readonly string[]): { planted: readonly string[]; value: unknown } {
  const tree: Tree = new Map()
  const planted = paths.filter(path => plant(tree, path, path.length))
  return { planted, value: readTree(tree) }
}

t.test('the deepest name of a convention has a place, and a deeper one stays an attribute', async t => {
  const deepest = '0.message.contents.0.message_content.image.image.url'
  t.same(treeOf([deepest, `${deepest}.x`, '0.a.b.c.d.e.f.g.h.i.j.k']).planted, [deepest])
  t.same(treeOf([deepest]).value, [
    { message: { contents: [{ message_content: { image: { image: { url: deepest.length } } } }] } }
  ])
})

t.test('indices that count from 0 without gaps make an array, in any order', async t => {
  t.same(treeOf(['1', '0', '2.x']).value, [1, 1, { x: 3 }])
  t.same(treeOf(['0', '2']).value, { 0: 1, 2: 1 })
  t.same(treeOf(['0', 'x.0', 'x.y']).value, { 0: 1, x: { 0: 3, y: 3 } })
})

t.test('the prefix of another name has no place', async t => {
  t.same(treeOf(['a', 'a.b', 'c.d', 'c', 'a']).planted, ['a', 'c.d'])
})
