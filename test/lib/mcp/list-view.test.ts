import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { OUTLINES } from '../../../lib/mcp/list-outlines.ts'
import { type Item, outlineList } from '../../../lib/mcp/list-view.ts'
import { SHOWN_BYTES, USUAL_BYTES } from '../../../lib/mcp/outline.ts'
import { LIST_VIEWS, VIEWS } from '../../../lib/mcp/views.ts'
import { EXAMPLES } from '../../../lib/openapi/examples.ts'

/** The example of each list's response. */
const PAGES: Readonly<Record<keyof typeof OUTLINES, Item>> = {
  traces: EXAMPLES.listTraces!.replies[200] as Item,
  search: EXAMPLES.searchTraces!.replies[200] as Item,
  spans: EXAMPLES.listSpans!.replies[200] as Item,
  errors: EXAMPLES.listErrors!.replies[200] as Item,
  sessions: EXAMPLES.listSessions!.replies[200] as Item,
  users: EXAMPLES.listUsers!.replies[200] as Item,
  changes: EXAMPLES.listChanges!.replies[200] as Item,
  scores: EXAMPLES.listScores!.replies[200] as Item
}
const NAMES = Object.keys(PAGES) as (keyof typeof PAGES)[]
const outlined = (name: keyof typeof PAGES, page: Item, most = USUAL_BYTES): string =>
  outlineList(OUTLINES[name], page, { inexact: false, most })

t.test('an outline of a search distinguishes the traces, and says how to get the rest', async t => {
  const page = PAGES.search
  const [trace] = page.traces
  const outline = JSON.parse(outlined('search', page))
  t.match(outline, {
    detail: 'outline',
    note: /call get_trace with its id\. Only `detail` "full" includes/,
    traces: [
      {
        id: trace.id,
        firstError: { step: 'lookup_order', type: 'TimeoutError' },
        input: 'Where is my order 48213?',
        totalTokens: 660
      }
    ],
    nextCursor: null
  })
  t.notOk('excerpt' in outline.traces[0] || 'inputPreview' in outline.traces[0] || 'reached' in outline)
  const stopped = JSON.parse(
    outlined('search', { ...page, traces: [], reached: '2026-11-20T00:00:00.000Z', nextCursor: 'x' })
  )
  t.match(stopped, {
    note: /^Only traces that started at 2026-11-20T00:00:00\.000Z or later were examined/,
    nextCursor: 'x'
  })
  const empty = JSON.parse(outlined('search', { ...page, traces: [], hint: 'No trace has the model "x".' }))
  t.match(empty, { hint: 'No trace has the model "x".' })
  t.notOk('note' in empty)
})

t.test('an empty list without a hint says whether more may follow', async t => {
  const none = { ...PAGES.traces, traces: [], nextCursor: null }
  t.match(JSON.parse(outlined('traces', none)).note, /^No traces match\.$/)
  const more = { ...PAGES.sessions, sessions: [], nextCursor: 'x' }
  t.match(JSON.parse(outlined('sessions', more)).note, /^More may follow: call again with `after` set to nextCursor\.$/)
  const changes = (caughtUp: boolean) =>
    JSON.parse(outlined('changes', { ...PAGES.changes, traces: [], caughtUp, nextCursor: 'x' })).note
  t.match(changes(true), /^Nothing has been written since\. Call again later with `after` set to nextCursor\.$/)
  t.match(changes(false), /^More may follow: call again with `after` set to nextCursor\.$/)
})

t.test('each outline respects its maximum length, and has at least one item', async () => {
  const texts = fc.record({ unit: fc.constantFrom('x', '名', '😀', '\u0001'), length: fc.nat(3000) })
  fc.assert(
    fc.property(fc.constantFrom(...NAMES), fc.integer({ min: 1, max: 200 }), texts, (name, count, { unit, length }) => {
      const { member } = OUTLINES[name]
      const long = unit.repeat(length)
      const grown = Array.from({ length: count }, () => lengthened(PAGES[name][member][0], long))
      const page = { ...PAGES[name], [member]: grown, nextCursor: 'c'.repeat(200) }
      for (const most of [USUAL_BYTES, SHOWN_BYTES]) {
        const text = outlined(name, page, most)
        const { note, [member]: shown } = JSON.parse(text)
        assert.ok(shown.length >= 1)
        if (shown.length > 1) assert.ok(Buffer.byteLength(text) <= most, `${Buffer.byteLength(text)} bytes`)
        if (shown.length < count)
          assert.ok(note.startsWith(`Only ${shown.length} of the page's ${count} ${member} fit`))
      }
    }),
    { numRuns: 60 }
  )
})

t.test('a full page of ordinary items fits without a limit', async t => {
  for (const name of NAMES) {
    const { member, usualLimit } = OUTLINES[name]
    const pageSize = usualLimit({})
    const items = Array.from({ length: pageSize }, () => PAGES[name][member][0])
    const text = LIST_VIEWS[name].show(JSON.stringify({ ...PAGES[name], [member]: items, pageSize }), {})
    t.ok(Buffer.byteLength(text) <= USUAL_BYTES, `${name}: ${Buffer.byteLength(text)} bytes`)
    t.equal(JSON.parse(text)[member].length, pageSize, name)
    t.equal(VIEWS.get(LIST_VIEWS[name].name), LIST_VIEWS[name])
  }
})

t.test('numbers that a double cannot hold are preserved', async t => {
  const [span] = PAGES.spans.spans
  const page = JSON.stringify({ ...PAGES.spans, spans: [{ ...span, input: 'NUMBER' }] })
  const exact = page.replace('"NUMBER"', '{"n":12345678901234567890}')
  t.match(LIST_VIEWS.spans.show(exact, {}), '"input":{"n":12345678901234567890}')
})

/** Returns an item whose names and texts are long. Ids keep their length. */
function lengthened(item: Item, text: string): Item {
  const fields = ['name', 'traceName', 'model', 'message', 'inputPreview', 'comment']
  return Object.fromEntries(
    Object.entries(item).map(([field, value]) => {
      if (fields.includes(field)) return [field, text]
      if (field === 'firstError' || field === 'error') return [field, value && lengthened(value, text)]
      return [field, value]
    })
  )
}
