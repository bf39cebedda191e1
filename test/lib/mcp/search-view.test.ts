import t from 'tap'
import { outlineSearch } from '../../../lib/mcp/search-view.ts'
import { EXAMPLES } from '../../../lib/openapi/examples.ts'
import { checker } from '../../../lib/schema/check.ts'
import { TraceSearchPage } from '../../../lib/schema/search.ts'

type Page = Parameters<typeof outlineSearch>[0]
const page = EXAMPLES.searchTraces!.replies[200] as Page

t.test('an outline tells the traces apart, and how to get the rest', async t => {
  t.ok(checker(TraceSearchPage).check(page))
  const outline = JSON.parse(outlineSearch(page))
  const [trace] = page.traces
  t.match(outline, {
    detail: 'outline',
    note: /call get_trace with its id\. Left out/,
    traces: [
      {
        id: trace!.id,
        firstError: { step: 'lookup_order', type: 'TimeoutError' },
        input: 'Where is my order 48213?',
        totalTokens: 660
      }
    ],
    nextCursor: null,
    reached: null
  })
  t.notOk('excerpt' in outline.traces[0] || 'inputPreview' in outline.traces[0])
  const stopped = JSON.parse(
    outlineSearch({ ...page, traces: [], reached: '2026-11-20T00:00:00.000Z', nextCursor: 'x' })
  )
  t.match(stopped, {
    note: /^The search stopped at 2026-11-20T00:00:00\.000Z before the page was full/,
    nextCursor: 'x'
  })
  const empty = JSON.parse(outlineSearch({ ...page, traces: [], note: 'No trace has the model "x".' }))
  t.equal(empty.note, 'No trace has the model "x".')
})

t.test('a page that is too long for a client is cut after a trace', async t => {
  const [trace] = page.traces
  const long = { ...trace!, name: 'n'.repeat(500), tags: Array.from({ length: 20 }, (_, i) => `${i}`.repeat(64)) }
  const text = outlineSearch({ ...page, traces: Array.from({ length: 200 }, () => long) })
  t.ok(Buffer.byteLength(text) <= 35_000, `${Buffer.byteLength(text)} bytes`)
  const { traces, note } = JSON.parse(text)
  t.ok(traces.length > 5)
  t.match(note, `This has ${traces.length} of the page's 200 traces, since more do not fit.`)
})
