import { createHash } from 'node:crypto'
import t from 'tap'
import { convertLangfuse } from '../../../../lib/moving/langfuse/convert.ts'
import { prepareRestore } from '../../../../lib/trace/restore.ts'
import { WHOLE } from './api-trace.ts'

const hashed = (id: string, digits: number) => createHash('sha256').update(id).digest('hex').slice(0, digits)

const observation = (over: object = {}) => ({
  id: 'a'.repeat(16),
  type: 'SPAN',
  name: 'step',
  startTime: '2026-01-01T12:00:00.000Z',
  endTime: '2026-01-01T12:00:01.500Z',
  level: 'DEFAULT',
  ...over
})
const trace = (over: object = {}) => ({
  id: 'b'.repeat(32),
  timestamp: '2026-01-01T12:00:00.000Z',
  name: 'chat',
  observations: [],
  scores: [],
  ...over
})
const score = (over: object = {}) => ({
  id: 'c'.repeat(16),
  name: 'quality',
  dataType: 'NUMERIC',
  value: 0.5,
  source: 'API',
  timestamp: '2026-01-01T12:01:00.000Z',
  ...over
})

/** Converts a value to lines, or to reasons for rejecting it. An import must accept the lines. */
function convert(value: unknown) {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return [...convertLangfuse(Buffer.from(text))].map(converted => {
    if ('refusal' in converted) return { refusal: converted.refusal, mapped: {} }
    const text = Buffer.from(converted.line).toString()
    prepareRestore(converted.line)
    return { ...JSON.parse(text), text, mapped: Object.fromEntries(converted.mapped ?? []) }
  })
}
const one = (over: object = {}) => convert(trace(over))[0]!
const span = (over: object = {}) => {
  const { spans, mapped } = one({ observations: [observation(over)] })
  return { ...spans[0], mapped }
}
const scored = (over: object = {}) => {
  const { scores, trace } = one({ scores: [score(over)] })
  return { ...scores[0], rest: trace.metadata['langfuse.scores'] }
}

t.test('a complete trace from the API becomes a trace with spans and scores', async t => {
  const { trace, spans, scores, mapped } = convert(WHOLE)[0]!
  const { metadata, ...fields } = trace
  t.strictSame(fields, {
    id: hashed(WHOLE.id, 32),
    name: 'support chat',
    status: 'error',
    environment: 'production',
    startedAt: '2026-01-01T12:00:00.123Z',
    endedAt: '2026-01-01T12:00:02.000Z',
    sessionId: 'session-1',
    userId: 'user-1',
    tags: ['vip', 'beta'],
    input: WHOLE.input,
    output: 'Because.',
    usage: { inputTokens: 10, outputTokens: 5, totalTokens: 18 },
    costUsd: 0.0125,
    ingestedAt: '2026-01-01T12:00:05.000Z'
  })
  t.strictSame(metadata, {
    team: 'blue',
    'langfuse.release': 'their own',
    'langfuse.id': WHOLE.id,
    'langfuse.scores': {
      [hashed('score-1', 16)]: {
        id: 'score-1',
        name: 'user feedback!',
        updatedAt: '2026-01-02T00:00:01.000Z',
        authorUserId: 'author-1',
        configId: 'config-1'
      }
    },
    'langfuse.projectId': 'proj-1',
    'langfuse.bookmarked': true,
    'langfuse.langfuse.release': 'v1.2.3',
    'langfuse.version': '7',
    'langfuse.public': false,
    'langfuse.updatedAt': '2026-01-01T12:00:06.000Z',
    'langfuse.htmlPath': WHOLE.htmlPath,
    'langfuse.latency': 2.5
  })
  const { attributes, ...answer } = spans[0]
  t.strictSame(answer, {
    id: hashed('cm4obs2', 16),
    parentSpanId: hashed('cm4obs1', 16),
    name: 'answer',
    kind: 'llm',
    status: 'error',
    startedAt: '2026-01-01T12:00:00.500Z',
    endedAt: '2026-01-01T12:00:02.000Z',
    model: 'gpt-x',
    input: WHOLE.observations[0]?.input,
    output: WHOLE.observations[0]?.output,
    usage: { inputTokens: 10, outputTokens: 5, totalTokens: 18 },
    costUsd: 0.0125
  })
  t.strictSame(attributes, {
    attempt: 2,
    'langfuse.id': 'cm4obs2',
    'langfuse.completionStartTime': '2026-01-01T12:00:00.900Z',
    'langfuse.statusMessage': 'rate limited',
    'langfuse.modelParameters': { temperature: 0.2 },
    'langfuse.promptName': 'why-prompt',
    'langfuse.promptVersion': 3,
    'langfuse.promptId': 'prompt-9',
    'langfuse.usageDetails': WHOLE.observations[0]?.usageDetails,
    'langfuse.costDetails': WHOLE.observations[0]?.costDetails,
    'langfuse.inputPrice': 0.001,
    'langfuse.latency': 1.5,
    'langfuse.timeToFirstToken': 0.4,
    'langfuse.createdAt': '2026-01-01T12:00:07.000Z',
    'langfuse.updatedAt': '2026-01-01T12:00:08.000Z'
  })
  t.strictSame(spans[1], {
    id: hashed('cm4obs1', 16),
    parentSpanId: null,
    name: 'agent',
    kind: 'agent',
    status: 'unset',
    startedAt: '2026-01-01T12:00:00.200Z',
    endedAt: '2026-01-01T12:00:00.200Z',
    attributes: { 'langfuse.id': 'cm4obs1', 'langfuse.level': 'WARNING' }
  })
  t.strictSame(scores, [
    {
      id: 'd'.repeat(16),
      spanId: null,
      name: 'tone',
      dataType: 'categorical',
      value: 'friendly',
      source: 'eval',
      createdAt: '2026-01-03T00:00:00.000Z'
    },
    {
      id: hashed('score-1', 16),
      spanId: hashed('cm4obs2', 16),
      name: 'user_feedback_',
      dataType: 'boolean',
      value: true,
      comment: 'nice',
      source: 'annotation',
      createdAt: '2026-01-02T00:00:00.000Z'
    }
  ])
  t.match(mapped, {
    'observation.type GENERATION → kind llm': 1,
    'observation.level ERROR → status error': 1,
    'observation.id → id (hashed) and attributes langfuse.id': 2,
    'observation.endTime missing → endedAt as startedAt': 1,
    'trace.release → metadata langfuse.release': 1,
    'score.dataType BOOLEAN → dataType boolean': 1,
    'score.name → name (changed) and metadata langfuse.scores': 1
  })
})

t.test('types, levels, usage and cost, in every form that Langfuse has used', async t => {
  const kinds = {
    GENERATION: 'llm',
    agent: 'agent',
    TOOL: 'tool',
    CHAIN: 'chain',
    RETRIEVER: 'retriever',
    EMBEDDING: 'embedding'
  }
  for (const [type, kind] of Object.entries(kinds)) t.match(span({ type }), { kind, attributes: {} }, type)
  for (const type of ['SPAN', 'EVENT', 'EVALUATOR', 'GUARDRAIL', 'NEWER']) {
    t.match(span({ type }), { kind: 'custom', attributes: { 'langfuse.type': type } })
  }
  for (const level of ['DEFAULT', undefined]) t.strictSame(span({ level }).attributes, { 'langfuse.type': 'SPAN' })
  t.match(span({ level: 'DEBUG' }), { status: 'unset', attributes: { 'langfuse.level': 'DEBUG' } })

  const usages: [object, object | undefined, string[]][] = [
    [{ usageDetails: { input: 1, output: 2, total: 3 } }, { inputTokens: 1, outputTokens: 2, totalTokens: 3 }, []],
    [{ usageDetails: { input: 0 } }, { inputTokens: 0 }, []],
    [{ usageDetails: { audio: 5 } }, undefined, ['usageDetails']],
    [{ usageDetails: { input: 1.5, output: -1 } }, undefined, ['usageDetails']],
    [{ usage: { input: 1, output: 2, unit: 'TOKENS', totalCost: 0 } }, { inputTokens: 1, outputTokens: 2 }, []],
    [{ usage: { input: 100, unit: 'CHARACTERS' }, promptTokens: 100 }, undefined, ['promptTokens', 'usage']],
    [{ promptTokens: 4, completionTokens: 5, totalTokens: 9 }, { inputTokens: 4, outputTokens: 5, totalTokens: 9 }, []],
    [{ promptTokens: 4, unit: 'SECONDS' }, undefined, ['promptTokens', 'unit']],
    [{ usageDetails: { input: 1 }, promptTokens: 7 }, { inputTokens: 1 }, ['promptTokens']],
    [{ usage: { input: 1, inputCost: 0.5 } }, { inputTokens: 1 }, ['usage']]
  ]
  for (const [over, usage, left] of usages) {
    const { attributes, ...found } = span({ type: 'TOOL', ...over })
    t.strictSame(found.usage, usage, JSON.stringify(over))
    t.strictSame(
      Object.keys(attributes).sort(),
      left.map(name => `langfuse.${name}`),
      JSON.stringify(over)
    )
  }

  const costs: [object, number | undefined, string[]][] = [
    [{ costDetails: { total: 0.5 } }, 0.5, []],
    [{ costDetails: { input: 0.5 } }, undefined, ['costDetails']],
    [{ calculatedTotalCost: 0.25, calculatedInputCost: 0.25 }, 0.25, ['calculatedInputCost']],
    [{ calculatedTotalCost: '0.25' }, 0.25, []],
    [{ usage: { totalCost: 2 } }, 2, []],
    [{ calculatedTotalCost: 0 }, undefined, []],
    [{ costDetails: { total: 1 }, calculatedTotalCost: 2 }, 1, ['calculatedTotalCost']]
  ]
  for (const [over, costUsd, left] of costs) {
    const { attributes, ...found } = span({ type: 'TOOL', ...over })
    t.equal(found.costUsd, costUsd, JSON.stringify(over))
    t.strictSame(
      Object.keys(attributes).sort(),
      left.map(name => `langfuse.${name}`),
      JSON.stringify(over)
    )
  }
})

t.test('values that do not fit are kept next to those that do', async t => {
  const long = 'n'.repeat(501)
  t.match(one({ name: long }).trace, { name: 'n'.repeat(500), metadata: { 'langfuse.name': long } })
  t.match(one({ name: null }).trace, { name: 'unnamed' })
  t.match(one({ userId: long, sessionId: 7 }).trace.metadata, { 'langfuse.userId': long, 'langfuse.sessionId': 7 })
  t.match(one({ metadata: 'a text' }).trace.metadata, { 'langfuse.metadata': 'a text' })
  const tags = Array.from({ length: 21 }, (_, i) => `tag ${i}`)
  t.strictSame(one({ tags }).trace.tags, tags.slice(0, 20))
  t.strictSame(one({ tags }).trace.metadata, { 'langfuse.tags': tags })
  t.match(one({ tags: ['x'.repeat(65), 'y'] }).trace, { tags: ['y'], metadata: { 'langfuse.tags': [/^x+$/, 'y'] } })
  for (const environment of ['all', 'unassigned', '-odd', 'e'.repeat(40)]) {
    const { trace } = one({ environment })
    t.strictSame([trace.environment, trace.metadata], [undefined, { 'langfuse.environment': environment }])
  }
  t.match(one({ latency: 1.5 }).trace, { endedAt: '2026-01-01T12:00:01.500Z', metadata: { 'langfuse.latency': 1.5 } })
  t.match(span({ model: 'm'.repeat(201) }).attributes, { 'langfuse.model': /^m+$/ })
  t.match(span({ parentObservationId: 'gone' }).attributes, { 'langfuse.parentObservationId': 'gone' })
  t.match(span({ name: 'own', colour: { deep: [1] } }).attributes, { 'langfuse.colour': { deep: [1] } })
  const exact =
    '{"id":"x","timestamp":"2026-01-01 12:00:00.000000","input":{"n":12345678901234567890,"e":1e400},"more":9007199254740993}'
  const { text } = convert(exact)[0]!
  t.ok(
    text.includes('"input":{"n":12345678901234567890,"e":1e400}') && text.includes('"langfuse.more":9007199254740993')
  )
})

t.test('scores of every type', async t => {
  t.match(scored({ dataType: 'BOOLEAN', value: 0, stringValue: 'False' }), { dataType: 'boolean', value: false })
  t.match(scored({ dataType: 'BOOLEAN', value: true }), { dataType: 'boolean', value: true })
  t.match(scored({ dataType: undefined, value: 3 }), { dataType: 'numeric', value: 3 })
  t.match(scored({ dataType: undefined, value: 'good' }), { dataType: 'categorical', value: 'good' })
  t.match(scored({ dataType: 'CATEGORICAL', value: 2, stringValue: 'mid' }), {
    value: 'mid',
    rest: { [score().id]: { value: 2 } }
  })
  t.match(scored({ dataType: 'TEXT', value: undefined, stringValue: 'fine' }), {
    dataType: 'categorical',
    value: 'fine'
  })
  t.match(scored({ source: 'OTHER' }), { source: 'api', rest: { [score().id]: { source: 'OTHER' } } })
  const comment = 'c'.repeat(2001)
  t.match(scored({ comment }), { rest: { [score().id]: { comment } } })
  t.match(scored({ name: 'ä'.repeat(70) }), { name: '_'.repeat(64), rest: { [score().id]: { name: /^ä+$/ } } })
  t.match(scored({ observationId: 'elsewhere' }), { rest: { [score().id]: { observationId: 'elsewhere' } } })
  const correction = score({ dataType: 'CORRECTION', value: undefined, stringValue: 'x'.repeat(300) })
  const { scores, trace: kept } = one({ scores: [correction] })
  t.strictSame(
    [scores, kept.metadata],
    [[], { 'langfuse.scores': { [correction.id]: JSON.parse(JSON.stringify(correction)) } }]
  )
})

t.test("the other formats of Langfuse's traces", async t => {
  const { observations, scores, ...bare } = WHOLE
  const [whole] = convert(WHOLE)
  t.equal(convert({ trace: bare, observations, scores })[0]?.text.length, whole?.text.length)
  t.equal(convert({ data: [WHOLE, trace()], meta: { page: 1 } }).length, 2)
  const told = { traceId: 'b'.repeat(32), traceName: 'chat', sessionId: 's', userId: 'u', tags: ['t'], public: true }
  const [download] = convert({
    observations: [observation(told), observation({ id: 'f'.repeat(16), ...told })],
    scores: [score()]
  })
  t.match(download, {
    trace: {
      id: told.traceId,
      name: 'chat',
      sessionId: 's',
      userId: 'u',
      tags: ['t'],
      startedAt: observation().startTime
    },
    spans: [{ attributes: { 'langfuse.type': 'SPAN' } }, {}],
    scores: [{ value: 0.5 }]
  })
  t.strictSame(Object.keys(download.spans[0].attributes), ['langfuse.type'], "the trace's own data is not repeated")
  t.match(one({ observations: undefined }), { spans: [], mapped: { 'trace.observations missing → no spans': 1 } })
})

t.test('rejects invalid traces one by one, with the reason', async t => {
  const many = (count: number, make: (over: object) => object) =>
    Array.from({ length: count }, (_, n) => make({ id: n.toString(16).padStart(16, '0') }))
  const refused: [unknown, RegExp][] = [
    [7, /is not an object/],
    [{}, /trace: id is missing/],
    [{ data: [{ id: 'x' }] }, /trace: timestamp is missing/],
    [trace({ timestamp: 'soon' }), /trace: timestamp is not an ISO 8601/],
    [trace({ observations: ['id1', 'id2'] }), /trace: observations must be objects: export each complete trace/],
    [trace({ observations: [observation({ startTime: null })] }), /observation 1: startTime is missing/],
    [trace({ observations: new Array(100_001).fill({ id: '1' }) }), /has 100001 observations, but at most 100000/],
    [trace({ scores: many(101, score) }), /has 101 scores, but at most 100/]
  ]
  const long = one({ observations: many(201, observation) })
  t.equal(long.spans.length, 201, 'a trace can have more steps than one that is recorded natively')
  for (const [value, message] of refused) t.match(convert(value), [{ refusal: message }], String(message))
  t.throws(() => convert('{"id":'), { code: 'invalid_json' })
  t.match(
    convert({ data: [trace(), { id: 'x' }, trace()] }).map(found => 'refusal' in found),
    [false, true, false]
  )
})
