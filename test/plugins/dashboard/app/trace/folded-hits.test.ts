import fc from 'fast-check'
import t from 'tap'
import { foldable, growTree, visibleRows } from '../../../../../plugins/dashboard/app/content/span-tree.ts'
import { hitsByRow } from '../../../../../plugins/dashboard/app/trace/folded-hits.ts'
import { outlineSpan as span } from './spans.ts'

const roots = growTree([span('a'), span('b', 'a'), span('c', 'b'), span('d', 'a')])
const countsOf = (folded: readonly string[], hits: Record<string, number>) =>
  Object.fromEntries(hitsByRow(visibleRows(roots, new Set(folded)), new Map(Object.entries(hits))))

t.test('an expanded row counts its own hits, and a collapsed row also those below it', async t => {
  t.same(countsOf([], { c: 2, d: 1 }), { c: 2, d: 1 })
  t.same(countsOf(['b'], { b: 1, c: 2, d: 1 }), { b: 3, d: 1 })
  t.same(countsOf(['a'], { c: 2, d: 1 }), { a: 3 })
  t.same(countsOf(['b'], {}), {})
})

t.test('whichever rows are collapsed, every hit is counted once', async () => {
  const shape = fc.array(fc.tuple(fc.nat(), fc.nat({ max: 3 }), fc.boolean()), { maxLength: 40 })
  fc.assert(
    fc.property(shape, spans => {
      const tree = growTree(spans.map(([parent], at) => span(`s${at}`, at === 0 ? null : `s${parent % at}`)))
      const hits = new Map(spans.map(([, count], at) => [`s${at}`, count]))
      const folded = new Set(foldable(tree).filter(key => spans[Number(key.slice(1))]![2]))
      const counts = [...hitsByRow(visibleRows(tree, folded), hits).values()]
      const sum = (numbers: Iterable<number>) => [...numbers].reduce((total, each) => total + each, 0)
      return sum(counts) === sum(hits.values()) && !counts.includes(0)
    })
  )
})
