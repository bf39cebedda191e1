import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { SHOWN_BYTES } from '../../../lib/mcp/outline.ts'
import { outlineFailures, outlineSpans } from '../../../lib/mcp/step-views.ts'
import { EXAMPLES } from '../../../lib/openapi/examples.ts'
import { runs } from '../../torture/orders.ts'

// biome-ignore lint/suspicious/noExplicitAny: the examples are JSON.
const replyOf = (operation: string): any => EXAMPLES[operation]!.replies[200]
const spanPage = replyOf('listSpans')
const failurePage = replyOf('listErrors')
const long = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.nat(3000).map(length => 'é"'.repeat(length))
)

t.test('an outline of spans has the first ones that fit, in order, and says how to read the others', async () => {
  const some = fc.record({ name: long, message: long, input: fc.option(long, { nil: undefined }) })
  fc.assert(
    fc.property(fc.array(some, { maxLength: 200, size: 'max' }), given => {
      const spans = given.map(({ name, message, input }, i) => ({
        ...{ ...spanPage.spans[0], id: i.toString(16).padStart(16, '0'), name, error: { type: null, message } },
        ...(input !== undefined && { input })
      }))
      const text = outlineSpans({ ...spanPage, spans })
      assert.ok(Buffer.byteLength(text) <= SHOWN_BYTES + 300)
      const { note, spans: shown, nextCursor } = JSON.parse(text)
      assert.equal(nextCursor, spanPage.nextCursor)
      assert.deepEqual(
        shown.map(({ id }: { id: string }) => id),
        spans.slice(0, shown.length).map(({ id }) => id)
      )
      assert.equal(note.includes('since more do not fit'), shown.length < spans.length)
      assert.ok(spans.length === 0 || shown.length > 0)
      assert.doesNotMatch(text, /:null[,}](?!"hint|"reached|"pageSize)/)
    }),
    runs(30)
  )
})

t.test('an outline of failures says which groups are left out, and how far it looked', async t => {
  const group = failurePage.errors[0]
  const outline = (over: object) => JSON.parse(outlineFailures({ ...failurePage, ...over }))
  t.match(outline({}), { detail: 'outline', errors: [{ ...group, passedOn: undefined }], failureCount: 17 })
  t.match(
    outline({ groupCount: 9 }).note,
    /^This has 1 of 9 groups\. To read others, use a higher limit, or kind or name\./
  )
  const reached = '2026-11-20T00:00:00.000Z'
  t.match(outline({ complete: false, reached }).note, `Only failures back to ${reached} are counted: call again`)
  t.equal(outline({ errors: [], groupCount: 0, hint: 'The project has no traces.' }).note, 'The project has no traces.')
  const many = Array.from({ length: 200 }, () => ({ ...group, message: 'm'.repeat(300) }))
  const { note, errors } = outline({ errors: many, groupCount: 200 })
  t.match(note, `This has ${errors.length} of 200 groups. To read others, use kind or name.`)
  t.ok(errors.length > 20 && Buffer.byteLength(JSON.stringify(errors)) < SHOWN_BYTES)
})
