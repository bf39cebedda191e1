import fc from 'fast-check'
import t from 'tap'
import { Clock, momentOf, timestamp } from '../../../../clients/typescript/record/clock.ts'
import { addUsage, costOf, kindOf, shortText, statusOf, usageOf } from '../../../../clients/typescript/record/fields.ts'
import { newSpanId, newTraceId, parentFromHeaders } from '../../../../clients/typescript/record/parents.ts'

/** Longer than a busy machine holds a process up, and much shorter than the jumps of the wall clock. */
const MINUTE = 60_000

t.test('a clock is unaffected when the wall clock is set, and the next one starts at the new time', t => {
  const { now } = Date
  t.teardown(() => Object.assign(Date, { now }))
  const clock = new Clock()
  const start = clock.now()
  for (const jump of [-3_600_000, 3_600_000]) {
    Date.now = () => now() + jump
    t.ok(clock.now() >= start && clock.now() < start + MINUTE)
    t.ok(Math.abs(new Clock().now() - Date.now()) < MINUTE)
  }
  t.end()
})

t.test('times have microseconds, and times that the server rejects are invalid', t => {
  t.equal(timestamp(1.25), '1970-01-01T00:00:00.001250Z')
  const times = fc.double({ min: -1e15, max: 1e15, noNaN: true })
  fc.assert(
    fc.property(times, ms => {
      const taken = momentOf(ms)
      if (taken !== undefined) t.match(timestamp(taken), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
    }),
    { numRuns: 50 }
  )
  for (const none of [undefined, Number.NaN, 'yesterday', new Date(Number.NaN), 1e300])
    t.equal(momentOf(none), undefined)
  t.equal(momentOf('2026-01-01T00:00:00Z'), Date.UTC(2026, 0))
  t.end()
})

t.test('fields are adjusted to fit', t => {
  t.equal(shortText('a\0\ud800b', 10), 'a\ufffd\ufffdb')
  t.equal(shortText('😀'.repeat(9), 4), '😀'.repeat(4))
  t.equal(shortText('', 4), undefined)
  const said: string[] = []
  const report = (problem: string) => void said.push(problem)
  t.equal(kindOf('odd', report), 'custom')
  t.equal(statusOf('odd', report), 'unset')
  t.same(usageOf({ inputTokens: 1.5, outputTokens: -1, totalTokens: 3 }, report), { totalTokens: 3 })
  t.equal(usageOf({ inputTokens: Number.NaN }, report), undefined)
  for (const none of [-1, Number.NaN, Number.POSITIVE_INFINITY, '1']) t.equal(costOf(none, report), undefined)
  t.equal(said.length, 9, 'each is reported')
  for (const none of [undefined, null]) {
    t.same([kindOf(none, report), statusOf(none, report), costOf(none, report)], ['custom', 'unset', undefined])
    t.equal(usageOf({ inputTokens: none as unknown as number }, report), undefined)
  }
  t.equal(said.length, 9, 'a value that is left out is not')
  t.same(addUsage({ inputTokens: 1, outputTokens: 2 }, { totalTokens: 5 }), {
    inputTokens: 1,
    outputTokens: 2,
    totalTokens: 8
  })
  t.end()
})

t.test('ids are hexadecimal and unique', t => {
  const ids = Array.from({ length: 2000 }, () => [newTraceId(), newSpanId()])
  t.ok(ids.every(([trace, span]) => /^[0-9a-f]{32}$/.test(trace!) && /^[0-9a-f]{16}$/.test(span!)))
  t.equal(new Set(ids.flat()).size, 4000)
  t.end()
})

t.test('the caller is the sender of the span', t => {
  const [traceId, spanId] = ['4BF92F3577B34DA6A3CE929D0E0E4736', '00f067aa0ba902b7']
  const parent = { traceId: traceId.toLowerCase(), spanId }
  t.same(parentFromHeaders({ traceparent: `00-${traceId}-${spanId}-01` }), parent)
  t.same(parentFromHeaders(new Headers({ traceparent: `00-${traceId}-${spanId}-03-more` })), parent)
  const none = [
    `00-${traceId}-${spanId}-00`,
    `00-${'0'.repeat(32)}-${spanId}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    'x'
  ]
  for (const traceparent of [undefined, ...none]) t.equal(parentFromHeaders({ traceparent }), undefined)
  t.equal(parentFromHeaders(undefined), undefined)
  t.end()
})

t.test('a text without a zone is in UTC, and seconds and milliseconds are distinguished', t => {
  const noon = Date.UTC(2026, 10, 26, 12)
  for (const text of ['2026-11-26T12:00:00', '2026-11-26 12:00', '2026-11-26T12:00:00.000', '2026-11-26T12:00:00Z'])
    t.equal(momentOf(text), noon, text)
  t.equal(momentOf('2026-11-26T13:00:00+01:00'), noon)
  t.equal(momentOf('2026-11-26'), Date.UTC(2026, 10, 26))
  t.equal(momentOf(noon), noon)
  t.equal(momentOf(noon / 1000), noon)
  t.equal(momentOf(new Date(noon)), noon)
  for (const odd of [noon * 1000, Number.NaN, 'nonsense', new Date('x'), {}, true, null] as never[])
    t.equal(momentOf(odd), undefined, String(odd))
  t.end()
})
