import fc from 'fast-check'
import t from 'tap'
import Type from 'typebox'
import { checker } from '../../../lib/schema/check.ts'
import { EndBody, IngestBody, MetadataPatch, ScoreInput, SpansBody } from '../../../lib/schema/input.ts'

const TIME = '2026-01-02T03:04:05Z'
const TRACE = { id: 'a'.repeat(32), name: 'run', startedAt: TIME }
const SPAN = { id: 'b'.repeat(16), name: 'step', startedAt: TIME, endedAt: TIME }

const ingest = checker(IngestBody)
const spans = checker(SpansBody)
const end = checker(EndBody)
const score = checker(ScoreInput)
const patch = checker(MetadataPatch)

const withTrace = (fields: object) => ({ schemaVersion: 1, trace: { ...TRACE, ...fields } })
const withSpan = (fields: object) => withTrace({ spans: [SPAN, SPAN, SPAN, { ...SPAN, ...fields }] })
const without = (object: object, name: string) =>
  Object.fromEntries(Object.entries(object).filter(([key]) => key !== name))

t.test('accepts everything that the specification allows', async t => {
  const full = withTrace({
    endedAt: TIME,
    status: 'ok',
    tags: Array(20).fill('x'.repeat(64)),
    name: '\u{1f600}'.repeat(500),
    input: null,
    output: [{}],
    metadata: { a: 1 },
    usage: { inputTokens: 0, outputTokens: Number.MAX_SAFE_INTEGER },
    costUsd: 0,
    spans: [{ ...SPAN, parentSpanId: null, kind: 'llm', events: Array(50).fill({ name: 'e', timestamp: TIME }) }]
  })
  t.ok(ingest.check(withTrace({})))
  t.ok(ingest.check(full))
  t.ok(ingest.check(withTrace({ startedAt: '2026-01-02 03:04:05.123456' })), 'times are read by lib/trace')
  t.ok(ingest.check(withSpan({ parentSpanId: 'C'.repeat(16) })))
  t.ok(spans.check({ schemaVersion: 1, spans: [SPAN] }))
  t.ok(end.check({ schemaVersion: 1, endedAt: TIME }))
  t.ok(score.check({ name: 'a-b_c', dataType: 'boolean', value: false, comment: '' }))
  t.ok(score.check({ name: 'a', dataType: 'numeric', value: -1.5, spanId: 'C'.repeat(16) }))
  t.ok(score.check({ name: 'a', dataType: 'categorical', value: '' }))
  t.ok(patch.check({ metadata: {} }))
})

t.test('names the field and the rule', async t => {
  const refused: [{ check(value: unknown): boolean; explain(value: unknown): string }, unknown, string][] = [
    [ingest, [], 'body: must be an object'],
    [ingest, null, 'body: must be an object'],
    [ingest, 'text', 'body: must be an object'],
    [ingest, {}, 'schemaVersion: is required'],
    [ingest, { schemaVersion: 1 }, 'trace: is required'],
    [ingest, { schemaVersion: 2, trace: TRACE }, 'schemaVersion: must equal 1'],
    [ingest, { schemaVersion: '1', trace: TRACE }, 'schemaVersion: must equal 1'],
    [ingest, { schemaVersion: 1, trace: [] }, 'trace: must be an object'],
    [ingest, { schemaVersion: 1, trace: TRACE, more: 1 }, 'more: unknown field'],
    [ingest, { schemaVersion: 1, trace: without(TRACE, 'id') }, 'trace.id: is required'],
    [ingest, withTrace({ environment: 'prod' }), 'trace.environment: unknown field'],
    [
      ingest,
      JSON.parse(`{"schemaVersion":1,"trace":${JSON.stringify(TRACE)},"__proto__":1}`),
      '__proto__: unknown field'
    ],
    [ingest, withTrace({ 'a.b': 1 }), 'trace["a.b"]: unknown field'],
    [ingest, withTrace({ '': 1 }), 'trace[""]: unknown field'],
    [ingest, withTrace({ '\ud800': 1 }), 'trace["\\ud800"]: unknown field'],
    [ingest, withTrace({ [`${'long'.repeat(50)}`]: 1 }), `trace["${'long'.repeat(25)}…"]: unknown field`],
    [ingest, withTrace({ id: 'a'.repeat(31) }), 'trace.id: must be 32 hexadecimal characters'],
    [ingest, withTrace({ id: `${'a'.repeat(32)}\n` }), 'trace.id: must be 32 hexadecimal characters'],
    [ingest, withTrace({ id: 5 }), 'trace.id: must be a string'],
    [ingest, withTrace({ name: '' }), 'trace.name: must have at least 1 character'],
    [ingest, withTrace({ name: null }), 'trace.name: must be a string'],
    [ingest, withTrace({ name: '\u{1f600}'.repeat(501) }), 'trace.name: must have at most 500 characters'],
    [ingest, withTrace({ status: 'running' }), 'trace.status: must be one of ok, error, unset'],
    [ingest, withTrace({ startedAt: 0 }), 'trace.startedAt: must be a string'],
    [ingest, withTrace({ model: 'x'.repeat(201) }), 'trace.model: must have at most 200 characters'],
    [ingest, withTrace({ tags: Array(21).fill('x') }), 'trace.tags: must have at most 20 items'],
    [ingest, withTrace({ tags: ['x', ''] }), 'trace.tags[1]: must have at least 1 character'],
    [ingest, withTrace({ tags: 'x' }), 'trace.tags: must be an array'],
    [ingest, withTrace({ metadata: [] }), 'trace.metadata: must be an object'],
    [ingest, withTrace({ usage: { inputTokens: 1.5 } }), 'trace.usage.inputTokens: must be an integer'],
    [ingest, withTrace({ usage: { inputTokens: -1 } }), 'trace.usage.inputTokens: must be at least 0'],
    [
      ingest,
      withTrace({ usage: { totalTokens: 2 ** 53 } }),
      'trace.usage.totalTokens: must be at most 9007199254740991'
    ],
    [ingest, withTrace({ usage: { total: 1 } }), 'trace.usage.total: unknown field'],
    [ingest, withTrace({ costUsd: -0.01 }), 'trace.costUsd: must be at least 0'],
    [
      ingest,
      withTrace({ costUsd: Infinity }),
      'trace.costUsd: must be at most 1.7976931348623157e+308, the largest double'
    ],
    [ingest, withTrace({ costUsd: -Infinity }), 'trace.costUsd: must be at least 0'],
    [ingest, withTrace({ costUsd: '1' }), 'trace.costUsd: must be a number'],
    [
      ingest,
      withTrace({ usage: { inputTokens: Infinity } }),
      'trace.usage.inputTokens: must be at most 9007199254740991'
    ],
    [ingest, withTrace({ spans: {} }), 'trace.spans: must be an array'],
    [ingest, withTrace({ spans: Array(201).fill(SPAN) }), 'trace.spans: must have at most 200 items'],
    [ingest, withSpan({ name: 'x'.repeat(501) }), 'trace.spans[3].name: must have at most 500 characters'],
    [ingest, withSpan({ parentSpanId: 5 }), 'trace.spans[3].parentSpanId: must be a string or null'],
    [
      ingest,
      withSpan({ parentSpanId: '5' }),
      'trace.spans[3].parentSpanId: must be 16 hexadecimal characters, or null'
    ],
    [ingest, withSpan({ events: Array(51).fill({}) }), 'trace.spans[3].events: must have at most 50 items'],
    [ingest, withSpan({ events: [{ name: 'e' }] }), 'trace.spans[3].events[0].timestamp: is required'],
    [spans, { schemaVersion: 1, spans: [] }, 'spans: must have at least 1 item'],
    [end, { schemaVersion: 1 }, 'endedAt: is required'],
    [
      score,
      { name: 'a b', dataType: 'numeric', value: 1 },
      'name: must contain only letters, digits, underscores and hyphens'
    ],
    [score, 'numeric', 'body: must be an object'],
    [score, {}, 'name: is required'],
    [score, { name: 'a', value: 1 }, 'dataType: is required'],
    [score, { name: 'a', dataType: 'integer', value: 1 }, 'dataType: must be one of numeric, categorical, boolean'],
    [score, { name: 'a', dataType: ['numeric'], value: 1 }, 'dataType: must be one of numeric, categorical, boolean'],
    [score, { name: 'a', dataType: 'numeric' }, 'value: is required'],
    [score, { name: 'a', dataType: 'numeric', value: null }, 'value: must be a number, because dataType is numeric'],
    [
      score,
      { name: 'a', dataType: 'numeric', value: Infinity },
      'value: must be at most 1.7976931348623157e+308, the largest double'
    ],
    [
      score,
      { name: 'a', dataType: 'numeric', value: -Infinity },
      'value: must be at least -1.7976931348623157e+308, the lowest double'
    ],
    [score, { name: 'a', dataType: 'boolean', value: 'true' }, 'value: must be a boolean, because dataType is boolean'],
    [score, { name: 'a', dataType: 'categorical', value: 'x'.repeat(201) }, 'value: must have at most 200 characters'],
    [score, { name: 'a', dataType: 'boolean', value: true, comment: 5 }, 'comment: must be a string'],
    [score, { name: 'a', dataType: 'boolean', value: true, more: 5 }, 'more: unknown field'],
    [patch, { metadata: null }, 'metadata: must be an object']
  ]
  for (const [checker, value, sentence] of refused) {
    t.notOk(checker.check(value), sentence)
    t.equal(checker.explain(value), sentence)
  }
  t.equal(ingest.explain(7, 'line 3'), 'line 3: must be an object')
})

t.test('checks the values of an open object', async t => {
  const counts = checker(Type.Object({}, { additionalProperties: Type.Integer() }))
  t.ok(counts.check({ a: 1 }))
  t.equal(counts.explain({ a: 1, b: 'x' }), 'b: must be an integer')
})

t.test('explains exactly what the compiled check rejects', async () => {
  const GENERIC = 'body: does not have the required form'
  const leaf = fc.oneof(
    fc.constantFrom(
      null,
      '',
      'ok',
      TIME,
      'a'.repeat(32),
      'b'.repeat(16),
      'x'.repeat(501),
      true,
      -1,
      0,
      1,
      1.5,
      2 ** 53
    ),
    fc.string({ maxLength: 3 })
  )
  const name = fc.constantFrom(
    'id',
    'name',
    'status',
    'tags',
    'usage',
    'costUsd',
    'spans',
    'parentSpanId',
    'events',
    'x'
  )
  const odd = fc.oneof(leaf, fc.array(leaf, { maxLength: 3 }), fc.dictionary(name, leaf, { maxKeys: 3 }))
  const span = fc.dictionary(name, odd, { maxKeys: 2 }).map(fields => ({ ...SPAN, ...fields }))
  const trace = fc
    .tuple(fc.dictionary(name, odd, { maxKeys: 2 }), fc.array(span, { maxLength: 2 }))
    .map(([fields, list]) => ({ spans: list, ...TRACE, ...fields }))
  fc.assert(
    fc.property(trace, value => {
      const body = { schemaVersion: 1, trace: value }
      return ingest.check(body) === (ingest.explain(body) === GENERIC)
    }),
    { numRuns: 500 }
  )
  const field = fc.constantFrom('name', 'dataType', 'value', 'comment', 'spanId', 'x')
  const given = fc.oneof(leaf, fc.constantFrom('numeric', 'categorical', 'boolean'))
  fc.assert(
    fc.property(fc.dictionary(field, given), fields => {
      const body = { name: 'a', dataType: 'numeric', value: 1, ...fields }
      return score.check(body) === (score.explain(body) === GENERIC)
    }),
    { numRuns: 500 }
  )
})
