import t from 'tap'
import { USUAL_BYTES } from '../../../lib/mcp/outline.ts'
import { outlineUsage } from '../../../lib/mcp/usage-view.ts'
import { EXAMPLES } from '../../../lib/openapi/examples.ts'

type Usage = Parameters<typeof outlineUsage>[0]
const usage = EXAMPLES.getUsage!.replies[200] as Usage
const rowsOf = (count: number, over: (index: number) => object): Usage['rows'] =>
  Array.from({ length: count }, (_, i) => ({ ...usage.rows[0]!, ...over(i) }))
const hour = (index: number) => new Date(Date.UTC(2026, 10, 1, index)).toISOString()

t.test('an outline has all rows if they fit, without null and zero fields', async t => {
  const outline = JSON.parse(
    outlineUsage({ ...usage, rows: rowsOf(3, i => ({ key: `k${i}`, errors: 0, p50Ms: null })) })
  )
  t.match(outline, { detail: 'outline', note: 'Fields that are null or 0 are left out.', total: usage.total })
  t.same(outline.rows.length, 3)
  t.notOk('errors' in outline.rows[0] || 'p50Ms' in outline.rows[0])
  t.equal(
    JSON.parse(outlineUsage({ ...usage, rows: [], hint: 'The project has no traces.' })).hint,
    'The project has no traces.'
  )
})

t.test('if there are too many rows, the newest hours or the largest groups are shown', async t => {
  const hours = outlineUsage({ ...usage, interval: 'hour', rows: rowsOf(700, i => ({ start: hour(i), key: null })) })
  t.ok(Buffer.byteLength(hours) <= USUAL_BYTES, `${Buffer.byteLength(hours)} bytes`)
  const shown = JSON.parse(hours)
  t.ok(shown.rows.length > 40)
  t.equal(shown.rows.at(-1).start, hour(699))
  t.match(shown.note, `This shows the newest ${shown.rows.length} of 700 rows`)
  const groups = outlineUsage({
    ...usage,
    interval: 'none',
    rows: rowsOf(200, i => ({ key: `${i} ${'名'.repeat(300)}` }))
  })
  t.ok(Buffer.byteLength(groups) <= USUAL_BYTES, `${Buffer.byteLength(groups)} bytes`)
  t.match(JSON.parse(groups).rows[0].key, /^0 名/)
  t.match(JSON.parse(groups).note, /^This shows the first \d+ of 200 rows; for the others, use a lower limit\./)
})
