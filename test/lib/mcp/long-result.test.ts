/** Tests the string that replaces a result that is too long to be returned twice. */
import t from 'tap'
import { shortResultText } from '../../../lib/mcp/long-result.ts'
import { SHOWN_BYTES } from '../../../lib/mcp/outline.ts'
import { answer } from './trace-answer.ts'

t.test("a trace's text is its outline, and says so", async t => {
  const whole = answer({ spans: 20, span: () => ({ input: 'é'.repeat(20_000), output: { n: 1 } }) })
  const text = shortResultText(whole)
  t.ok(Buffer.byteLength(text) < SHOWN_BYTES)
  const { note, detail, spans } = JSON.parse(text)
  t.equal(detail, 'outline')
  t.match(note, `an outline of a trace of ${Buffer.byteLength(whole)} bytes`)
  t.match(note, /Clients that read structuredContent have the full trace\.$/)
  t.notMatch(note, /`detail` "full"/, 'it was requested')
  t.equal(spans.length, 20)
})

t.test("a list's text has the first items in full, and states the total number", async t => {
  const items = Array.from({ length: 300 }, (_, i) => ({ id: i, n: '12345678901234567890', comment: 'x'.repeat(1000) }))
  // Numbers keep their stored notation.
  const result = JSON.stringify({ scores: items, nextCursor: null, pageSize: 300 }).replaceAll(/"(\d{20})"/g, '$1')
  const text = shortResultText(result)
  t.ok(Buffer.byteLength(text) < SHOWN_BYTES + 2000)
  const { note, scores, nextCursor, pageSize } = JSON.parse(text)
  t.match(note, `the first ${scores.length} of 300 scores`)
  t.match(note, `The full result is ${Buffer.byteLength(result)} bytes`)
  t.ok(scores.length > 25 && scores.length < 35)
  t.same([nextCursor, pageSize], [null, 300])
  t.match(text, '"n":12345678901234567890,')
})

t.test('an item that is too long by itself is truncated', async t => {
  const text = shortResultText(
    JSON.stringify({ traceId: 'a', spans: [{ id: 'b', input: 'x'.repeat(300_000) }], missing: [] })
  )
  const { note, spans, traceId, missing } = JSON.parse(text)
  t.match(note, 'the beginning of the first of 1 spans')
  t.match(spans, [/^\{"id":"b","input":"xxx.*of 300\d+ bytes left out\]$/])
  t.same([traceId, missing], ['a', []])
})
