import t from 'tap'
import { readSpansLeftOut } from '../../../../../plugins/dashboard/app/trace/left-out.ts'

t.test("a trace's page shows how many spans are not stored, and of which kinds", async t => {
  const said = (spansLeftOut: unknown) => readSpansLeftOut({ spoor: { spansLeftOut } })
  t.same(said({ count: 1126, kinds: { custom: 1123, llm: 3 } }), {
    count: 1126,
    description: '1,126 were not stored (1,123 custom, 3 llm)'
  })
  t.same(said({ count: 2, kinds: {} }), { count: 2, description: '2 were not stored' })
  t.same(said({ count: 1 }), { count: 1, description: '1 was not stored' })
  for (const other of [undefined, null, 7, 'x', [], {}, { count: '2' }, { count: 0 }]) t.equal(said(other), undefined)
  for (const spoor of [undefined, null, 7, 'x', []]) t.equal(readSpansLeftOut({ spoor }), undefined)
})
