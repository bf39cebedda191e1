import t from 'tap'
import { Refusal } from '../../../lib/errors.ts'
import { readBody } from '../../../lib/trace/body.ts'
import { prepareTrace } from '../../../lib/trace/prepare.ts'
import { prepareRestore } from '../../../lib/trace/restore.ts'
import { cutTexts } from '../../../lib/trace/states/cut-texts.ts'
import { AT, ingestBody, LATER, span, spanId, startBody } from '../../fixtures/bodies/bodies.ts'

const restore = (line: unknown) => prepareRestore(Buffer.from(typeof line === 'string' ? line : JSON.stringify(line)))
const { trace } = ingestBody({ id: 'a'.repeat(32) })
const score = { id: spanId(), name: 'quality', dataType: 'numeric', value: 1, createdAt: AT }

const MESSAGES = {
  ...{ spanId: 'a'.repeat(16), micros: 1_780_000_000_000_001, place: 3, digest: 'd'.repeat(32) },
  ...{ input: null, output: ['hi', 1.5] }
}

const manySpans = (count: number) => Array.from({ length: count }, () => span())

t.test('a complete trace may have more spans than can be recorded, as may a gathered trace', t => {
  t.equal(restore({ trace, spans: manySpans(201) }).spans.length, 201)
  const running = { trace: startBody().trace, spans: manySpans(201), recorded: { ranks: {} } }
  t.equal(restore(running).spans.length, 201)
  t.end()
})

t.test('a span keeps the hash from its line only if its texts were cut', t => {
  const sent = { input: 'x'.repeat(1000), output: null, attributes: null, events: null }
  const cut = span({ attributes: JSON.parse(cutTexts(sent).attributes as string) })
  const [kept, other] = [cut, span()].map(({ id }) => id)
  const spanHashes = { [kept as string]: 'a'.repeat(32), [other as string]: 'b'.repeat(32) }
  const { spans } = restore({ trace, spans: [cut, span({ id: other as string })], recorded: { spanHashes } })
  t.equal(spans[0]?.hash, 'a'.repeat(32))
  t.equal(spans[1]?.hash.length, 64)
  t.end()
})

t.test('a line without more data than a recording is restored as that recording', async t => {
  const body = ingestBody({ spans: [span()], usage: { inputTokens: 1 }, tags: ['a'], metadata: { b: [1] } })
  const { spans, ...recorded } = body.trace
  const { past, ranks: _, ...prepared } = restore({ trace: recorded, spans })
  t.same(prepared, prepareTrace(readBody(Buffer.from(JSON.stringify(body)), 'invalid_trace')))
  t.same(past, {
    environment: null,
    keyId: null,
    ingestedAt: null,
    metadataUpdatedAt: null,
    endHash: null,
    estimatedBytes: undefined,
    hasComputedCosts: false,
    contentHash: prepared.hash,
    scores: [],
    messages: []
  })
  t.match(restore({ trace: startBody().trace }), { status: 'running', endedAt: null })
})

t.test('fields that only responses add are ignored, and null counts as missing', async t => {
  const { usage, ...known } = span({ usage: { inputTokens: 3 } }) as unknown as Record<string, unknown>
  const events = [{ name: 'e', timestamp: AT, attributes: null }]
  const line = {
    trace: {
      ...{ ...trace, status: 'ok', provider: null, sessionId: null, input: null, metadata: {}, costUsd: null },
      ...{ durationMs: 1, spanCount: 9, errorCount: 9, scores: { quality: {} }, usage: { inputTokens: 0 } }
    },
    spans: [{ ...known, traceId: 'x', durationMs: -1, model: null, costUsd: null, usage: null, events }]
  }
  const plain = {
    trace: { ...trace, status: 'ok', usage: { inputTokens: 0 } },
    spans: [{ ...known, events: [{ ...events[0], attributes: undefined }] }]
  }
  t.same(restore(line), restore(plain))
  const { id } = known as { id: string }
  const recorded = { usage: {}, spanUsage: { [id]: usage } }
  const sent = { trace: { ...trace, status: 'ok' }, spans: [{ ...plain.spans[0], usage }] }
  t.equal(restore({ ...line, recorded }).hash, restore(sent).hash, 'the sent value precedes the shown one')
})

t.test('preserves messages that arrived separately, in their order', t => {
  const text = JSON.stringify({ trace, recorded: { messages: [MESSAGES] } }).replace(',1.5]', ',1.50e400]')
  const { past } = prepareRestore(Buffer.from(text))
  const stored = { ...MESSAGES, traceId: trace.id, output: '["hi",1.50e400]' }
  t.same(past.messages, [{ ...stored, event: null, facts: null, call: null }])
  const attributes = { n: 1.5 }
  const more = { event: { name: 'e', timestamp: trace.startedAt, attributes }, facts: { costUsd: 0.5 }, call: 'tool:t' }
  const line = JSON.stringify({ trace, recorded: { messages: [{ ...MESSAGES, ...more }] } })
  t.match(prepareRestore(Buffer.from(line)).past.messages, [
    { event: JSON.stringify(more.event), facts: '{"costUsd":0.5}', call: 'tool:t' }
  ])
  t.end()
})

t.test("preserves the service's own data about the trace", async t => {
  const past = {
    environment: 'Production',
    keyId: '4fT0qLm2XbC8vNwZ',
    ingestedAt: '2026-11-21T13:00:00+01:00',
    metadataUpdatedAt: '2026-11-21T12:00:00.000001',
    bodyHash: 'ab'.repeat(32),
    estimatedBytes: 12345
  }
  const scores = [
    { ...score, value: 0.5, comment: 'why', spanId: 'A'.repeat(16), source: 'eval', evaluatorId: 'e', runId: 'r' },
    { ...score, id: 'B'.repeat(16), dataType: 'categorical', value: '', traceId: 'any', comment: null, spanId: null }
  ]
  const restored = restore({ trace: { ...trace, ...past }, scores, recorded: { endHash: 'cd'.repeat(32) } })
  t.equal(restored.hash, past.bodyHash)
  t.same(restored.past, {
    ...{
      environment: 'production',
      keyId: past.keyId,
      ingestedAt: AT,
      endHash: 'cd'.repeat(32),
      estimatedBytes: 12345
    },
    metadataUpdatedAt: '2026-11-21T12:00:00.000001Z',
    hasComputedCosts: false,
    contentHash: prepareTrace(readBody(Buffer.from(JSON.stringify({ schemaVersion: 1, trace })), 'invalid_trace')).hash,
    messages: [],
    scores: [
      {
        ...{ id: 'b'.repeat(16), spanId: null, name: 'quality', dataType: 'categorical', value: '', comment: null },
        ...{ source: 'api', evaluatorId: null, runId: null, createdAt: AT }
      },
      { ...scores[0], spanId: 'a'.repeat(16) }
    ]
  })
  for (const [environment, stored] of [
    [null, 'unassigned'],
    ['Unassigned', 'unassigned'],
    [undefined, null]
  ] as const) {
    t.equal(restore({ trace: { ...trace, environment } }).past.environment, stored)
  }
})

t.test('free JSON may be as deep as an end or a patch allows', async t => {
  const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
  const line = (levels: number) => JSON.stringify({ trace: { ...trace, output: '@' } }).replace('"@"', deep(levels))
  t.equal(restore(line(99)).output, deep(99))
  t.throws(() => restore(line(100)), { code: 'invalid_trace', message: /nested deeper than 101 levels/ })
})

t.test('rejects invalid lines, with the reason', async t => {
  const longText = 'x'.repeat(501)
  const refused: [unknown, RegExp, string?][] = [
    ['', /the body is empty/, 'invalid_json'],
    ['{"trace":', /not valid JSON/, 'invalid_json'],
    ['[]', /line: must be an object/],
    ['{}', /trace: is required/],
    [{ trace: {} }, /trace.id: is required/],
    [{ trace: { ...trace, id: 'x' } }, /trace.id: must be 32 hexadecimal/],
    [{ trace: { ...trace, name: longText } }, /trace.name: must have at most 500/],
    [{ trace: { ...trace, status: 'running' } }, /trace.status: must be one of ok, error, unset/],
    [{ trace: { ...startBody().trace, status: 'ok' } }, /trace.status: must be absent/],
    [{ trace: { ...trace, startedAt: LATER, endedAt: AT } }, /trace.endedAt: must not be before/],
    [{ trace: { ...trace, colour: 'red' } }, /trace.colour: unknown field/],
    [{ trace, more: 1 }, /more: unknown field/],
    [{ trace, spans: [span({ kind: 'x' })] }, /trace.spans\[0\].kind: must be one of/],
    [{ trace, spans: [{}] }, /trace.spans\[0\].id: is required/],
    [{ trace, spans: [span({ events: 1 })] }, /trace.spans\[0\].events: must be an array/],
    [{ trace, spans: [span({ events: [1] })] }, /trace.spans\[0\].events\[0\]: must be an object/],
    [{ trace, spans: [1] }, /spans\[0\]: must be an object/],
    [{ trace, spans: new Array(100_001).fill({}) }, /spans: must have at most 100000 items/],
    [
      { trace: startBody().trace, spans: manySpans(201) },
      /spans: must have at most 200 items, because the trace is run/
    ],
    [{ trace, recorded: { spanHashes: { a: 'b' } } }, /recorded.spanHashes.a: must be 32 hex/],
    [{ trace: { ...trace, environment: 'all' } }, /trace.environment: .*reserved/],
    [{ trace: { ...trace, environment: 'a b' } }, /trace.environment: .*must be/],
    [{ trace: { ...trace, environment: 7 } }, /trace.environment: must be a string/],
    [{ trace: { ...trace, ingestedAt: 'yesterday' } }, /trace.ingestedAt: must be an ISO 8601/],
    [{ trace: { ...trace, keyId: 'a\u0001' } }, /trace.keyId: must match/],
    [{ trace: { ...trace, bodyHash: 'AB' } }, /trace.bodyHash: must match/],
    [{ trace: { ...trace, estimatedBytes: -1 } }, /trace.estimatedBytes: must be at least 0/],
    [{ trace, recorded: { usage: { inputTokens: -1 } } }, /recorded.usage.inputTokens: must be at least 0/],
    [{ trace, recorded: { ranks: { name: [1, 2] } } }, /recorded.ranks.name: must be a grade, a time/],
    [{ trace, recorded: { ranks: { name: [1, 2, 'root'] } } }, /recorded.ranks.name: must be/],
    [{ trace, recorded: { ranks: { [`response.${score.id}`]: [0, 0, 7] } } }, /recorded.ranks.response/],
    ...['', '[', 'null', '[null,1,null,1,1,1,1,1]', '[null,"llm",null,-0.5,1,1,1,1]'].map((text): [unknown, RegExp] => [
      { trace, recorded: { ranks: { [`leftOut.${score.id}`]: [0, 1, text] } } },
      /recorded.ranks.leftOut/
    ]),
    [{ trace, recorded: { messages: [{ ...MESSAGES, spanId: 'b' }] } }, /recorded.messages\[0\].spanId/],
    [{ trace, recorded: { messages: [{ ...MESSAGES, digest: 'x' }] } }, /recorded.messages\[0\].digest/],
    [
      { trace, recorded: { messages: [{ ...MESSAGES, event: { name: 'e' } }] } },
      /recorded.messages: must contain events/
    ],
    [{ trace, recorded: { messages: [{ ...MESSAGES, facts: { costUsd: -1 } }] } }, /recorded.messages\[0\].facts/],
    [{ trace, recorded: { messages: [{ ...MESSAGES, call: '' }] } }, /recorded.messages\[0\].call/],
    [{ trace, recorded: { messages: [{ ...MESSAGES, micros: 0.5 }] } }, /recorded.messages\[0\].micros/],
    [{ trace, recorded: { what: 1 } }, /recorded.what: unknown field/],
    [{ trace, scores: [{ ...score, id: 'x' }] }, /scores\[0\].id: must be 16/],
    [{ trace, scores: [score, score] }, /scores\[1\].id: must not repeat/],
    [
      { trace, scores: [{ ...score, value: 'good' }] },
      /scores\[0\].value: must be a number, because dataType is numeric/
    ],
    [{ trace, scores: [{ ...score, source: 'me' }] }, /scores\[0\].source: must be one of/],
    [{ trace, scores: [{ ...score, createdAt: 'now' }] }, /scores\[0\].createdAt: must be an ISO/],
    [{ trace, scores: [{ ...score, comment: '\u0000' }] }, /scores\[0\].comment: must not contain U\+0000/],
    [{ trace, scores: new Array(101).fill(score) }, /scores: must have at most 100 items/]
  ]
  for (const [line, message, code = 'invalid_trace'] of refused) {
    const name = JSON.stringify(line).slice(0, 80)
    t.throws(() => restore(line), { code, message }, name)
    try {
      restore(line)
    } catch (error) {
      t.type(error, Refusal)
    }
  }
})
