/** Compares responses assembled as strings with the same responses assembled as objects. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { checker } from '../../../../lib/schema/check.ts'
import { TraceDetail } from '../../../../lib/schema/output.ts'
import type { ScoreRow } from '../../../../lib/store/answers/score-json.ts'
import {
  DETAIL_PARTS,
  renderUsage,
  type SpanRow,
  type StoredTraceRow
} from '../../../../lib/store/answers/trace-json.ts'

function renderTraceDetail(trace: StoredTraceRow, spans: readonly SpanRow[], scores: readonly ScoreRow[]): string {
  const { head, span, foot } = DETAIL_PARTS
  const spanTexts = spans.map(each => span(each, trace.id))
  return head({ trace, scores }) + spanTexts.join(',') + foot({ trace, scores }, trace.id)
}

const id = (digits: number) => fc.stringMatching(new RegExp(`^[0-9a-f]{${digits}}$`))
const text = fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('"quoted"', 'a\\b', '\n', '\u2028'))
const textOrNull = fc.option(text)
const time = fc.constantFrom('2026-11-21T12:00:00.000Z', '0001-01-01T00:00:00.000001Z')
const count = fc.maxSafeInteger().map(Math.abs)
const json = fc.option(fc.json({ maxDepth: 2 }))
const object = fc.option(
  fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3 }).map(each => JSON.stringify(each))
)
const usage = { inputTokens: fc.option(fc.nat()), outputTokens: fc.option(fc.nat()), totalTokens: fc.option(fc.nat()) }
const cost = fc.option(fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }))
const said = { name: text, provider: textOrNull, model: textOrNull, input: json, output: json, costUsd: cost, ...usage }

const trace: fc.Arbitrary<StoredTraceRow> = fc.record({
  ...{
    id: id(32),
    status: fc.constantFrom('running', 'ok'),
    environment: fc.constantFrom(null, 'unassigned', 'production')
  },
  ...{
    startedAt: time,
    endedAt: fc.option(time),
    durationMs: fc.option(count),
    sessionId: textOrNull,
    userId: textOrNull
  },
  ...{ tags: fc.option(fc.array(text, { minLength: 1, maxLength: 3 })), spanCount: count, errorCount: count },
  ...{ estimatedBytes: count, ingestedAt: fc.option(time), metadata: object, metadataUpdatedAt: fc.option(time) },
  ...{ bodyHash: id(64), ...said }
})
const event = fc.record({ name: text, timestamp: time, attributes: fc.constantFrom(null, { a: 1 }) })
const span: fc.Arbitrary<SpanRow> = fc.record({
  ...{
    id: id(16),
    parentSpanId: fc.option(id(16)),
    kind: fc.constantFrom('llm', 'custom'),
    status: fc.constant('unset')
  },
  ...{ startedAt: time, endedAt: time, durationMs: count, attributes: object },
  events: fc.option(fc.array(event, { minLength: 1, maxLength: 2 }).map(each => JSON.stringify(each))),
  ...said
})
const score: fc.Arbitrary<ScoreRow> = fc.record({
  ...{
    id: id(16),
    spanId: fc.option(id(16)),
    name: fc.constantFrom('a', 'b', '__proto__'),
    dataType: fc.constant('numeric')
  },
  ...{ value: fc.constantFrom('0.5', 'true', '"good"'), comment: textOrNull, source: fc.constant('api') },
  ...{ evaluatorId: textOrNull, runId: textOrNull, createdAt: time }
})

const parse = (json: string | null, absent: unknown) => (json === null ? absent : JSON.parse(json))
const usageOf = ({ inputTokens, outputTokens, totalTokens }: StoredTraceRow | SpanRow) => {
  const [input, output] = [inputTokens ?? 0, outputTokens ?? 0]
  return { inputTokens: input, outputTokens: output, totalTokens: totalTokens ?? input + output }
}

function expected(trace: StoredTraceRow, spans: readonly SpanRow[], scores: readonly ScoreRow[]) {
  const { inputTokens, outputTokens, totalTokens, ...fields } = trace
  const newest = Object.fromEntries(
    scores
      .toReversed()
      .map(({ name, id, dataType, value, evaluatorId }) => [
        name,
        { scoreId: id, dataType, value: JSON.parse(value), evaluatorId }
      ])
  )
  return {
    trace: {
      ...fields,
      environment: trace.environment === 'unassigned' ? null : trace.environment,
      ...{ tags: trace.tags ?? [], usage: usageOf(trace), scores: newest },
      ...{ input: parse(trace.input, null), output: parse(trace.output, null), metadata: parse(trace.metadata, {}) }
    },
    spans: spans.map(span => {
      const { inputTokens, outputTokens, totalTokens, ...fields } = span
      const isBare = inputTokens === null && outputTokens === null && totalTokens === null
      return {
        ...{ ...fields, traceId: trace.id, usage: isBare ? null : usageOf(span) },
        ...{ input: parse(span.input, null), output: parse(span.output, null) },
        ...{ attributes: parse(span.attributes, {}), events: parse(span.events, []) }
      }
    }),
    scores: scores.map(score => ({ ...score, traceId: trace.id, value: JSON.parse(score.value) }))
  }
}

t.test("each field of a trace detail has the rows' values, and matches its schema", async () => {
  const { check, explain } = checker(TraceDetail)
  const spans = fc.array(span, { maxLength: 3 })
  fc.assert(
    fc.property(trace, spans, fc.array(score, { maxLength: 5 }), (trace, spans, scores) => {
      const detail = JSON.parse(renderTraceDetail(trace, spans, scores))
      // JSON.stringify writes -0 as 0, as the response does.
      assert.deepEqual(detail, JSON.parse(JSON.stringify(expected(trace, spans, scores))))
      assert.ok(check(detail), check(detail) ? '' : explain(detail))
    }),
    { numRuns: 300 }
  )
})

t.test('free JSON is returned as stored', async t => {
  const [row] = fc.sample(trace, { numRuns: 1, seed: 1 }) as [StoredTraceRow]
  const exact = '{"n":[1e400,12345678901234567890,1.50],"__proto__":{"":"\\u0000"}}'
  const text = renderTraceDetail({ ...row, input: exact, output: '-0', metadata: exact }, [], [])
  for (const part of [`"input":${exact},`, '"output":-0,', `"metadata":${exact},`]) t.match(text, part)
})

t.test('a total that was not sent is the sum, up to what a double holds', async t => {
  const max = Number.MAX_SAFE_INTEGER
  const total = (inputTokens: number | null, outputTokens: number | null, totalTokens: number | null) =>
    JSON.parse(renderUsage({ inputTokens, outputTokens, totalTokens })).totalTokens
  t.strictSame([total(2, 3, null), total(null, 3, null), total(2, 3, 4), total(max, max, null)], [5, 3, 4, max])
})
