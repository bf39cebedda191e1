import fc from 'fast-check'
import t from 'tap'
import { culpritOf, withDepths } from '../../../../../plugins/dashboard/app/shared/order.ts'

const span = (id: string, parentSpanId: string | null = null) => ({ id, parentSpanId })

t.test('spans follow their parents', async t => {
  const spans = [span('root'), span('b', 'root'), span('orphan', 'missing'), span('c', 'b'), span('d', 'root')]
  t.same(
    withDepths(spans).map(({ span, depth }) => [span.id, depth]),
    [
      ['root', 0],
      ['b', 1],
      ['c', 2],
      ['d', 1],
      ['orphan', 0]
    ]
  )
})

t.test('every span appears once, whatever its parent', async () => {
  const id = fc.constantFrom('a', 'b', 'c', 'd', 'e')
  const anySpans = fc.uniqueArray(fc.record({ id, parentSpanId: fc.option(id) }), { selector: each => each.id })
  fc.assert(
    fc.property(anySpans, spans => {
      const placed = withDepths(spans)
      return placed.length === spans.length && new Set(placed.map(each => each.span)).size === spans.length
    })
  )
})

t.test('the selected failure is the first span that failed without a failed child', async t => {
  const ok = (id: string, parent: string | null = null) => ({ ...span(id, parent), status: 'ok' })
  const failed = (id: string, parent: string | null = null) => ({ ...span(id, parent), status: 'error' })
  t.equal(culpritOf([failed('root'), ok('a', 'root'), failed('b', 'root'), failed('c', 'root')]), 'b')
  t.equal(culpritOf([failed('root'), ok('a', 'root')]), 'root')
  t.equal(culpritOf([ok('root')]), undefined)
})
