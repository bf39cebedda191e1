import t from 'tap'
import { describeLeftOut } from '../../../../../plugins/dashboard/app/trace/left-out.ts'

t.test('the page of a trace says how many spans are not stored, and of which kinds', async t => {
  const said = (spansLeftOut: unknown) => describeLeftOut({ spoor: { spansLeftOut } })
  t.equal(said({ count: 1126, kinds: { custom: 1123, llm: 3 } }), '1,126 not stored (1,123 custom, 3 llm)')
  t.equal(said({ count: 2, kinds: {} }), '2 not stored')
  t.equal(said({ count: 2 }), '2 not stored')
  for (const other of [undefined, null, 7, 'x', [], {}, { count: '2' }, { count: 0 }]) t.equal(said(other), undefined)
  for (const spoor of [undefined, null, 7, 'x', []]) t.equal(describeLeftOut({ spoor }), undefined)
})
