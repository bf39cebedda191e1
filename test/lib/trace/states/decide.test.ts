import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { type PreparedSpan, shortHash } from '../../../../lib/trace/prepared.ts'
import { type DecidedOperation, type Decision, decide, type TraceState } from '../../../../lib/trace/states/decide.ts'
import { runs } from '../../../torture/orders.ts'

const AT = '2026-11-21T12:00:00.000Z'
const LATER = '2026-11-21T12:00:01.000Z'
const none = { inputTokens: null, outputTokens: null, totalTokens: null }

const span = (id: string, hash = 'h', over: Partial<PreparedSpan> = {}): PreparedSpan => ({
  ...none,
  id,
  parentId: null,
  name: 'n',
  kind: 'custom',
  status: 'unset',
  startedAt: AT,
  endedAt: LATER,
  provider: null,
  model: null,
  input: null,
  output: null,
  attributes: null,
  events: null,
  costUsd: null,
  hash,
  bytes: 100,
  ...over
})

const running: TraceState = {
  ...none,
  seq: 1,
  version: 1,
  running: true,
  bodyHash: 'body',
  endHash: null,
  environment: 'unassigned',
  name: 'n',
  userId: null,
  startedAt: AT,
  provider: null,
  model: null,
  costUsd: null,
  tags: [],
  spanCount: 0,
  errorCount: 0,
  documentBytes: 200,
  estimatedBytes: 200,
  metadata: null,
  outputBytes: 4,
  spanHashes: new Map(),
  isGathered: false,
  gathered: undefined,
  copy: undefined
}
const complete: TraceState = { ...running, running: false, endHash: 'end' }
const gathered: TraceState = { ...running, isGathered: true }
const whole: TraceState = { ...gathered, running: false }
const holding = (state: TraceState, ...held: [string, string][]): TraceState => ({
  ...state,
  spanCount: held.length,
  spanHashes: new Map(held)
})

const record = (hash = 'body', oversize?: string): Sent => ({ operation: 'record', traceId: 't', hash, oversize })
const append = (list: PreparedSpan[], environment: string | null = null): Sent => ({
  operation: 'append',
  spans: list,
  environment
})
const end = (over: Partial<Extract<DecidedOperation, { operation: 'end' }>> = {}): Sent => ({
  operation: 'end',
  endedAt: LATER,
  status: 'ok',
  provider: undefined,
  model: undefined,
  output: undefined,
  usage: undefined,
  costUsd: undefined,
  metadata: undefined,
  tags: [],
  spans: [],
  hash: 'end',
  environment: null,
  ...over
})

/** Returns a decision as one word: its kind, or the code of a rejection. */
const word = (decision: Decision) => (decision.type === 'refused' ? decision.code : decision.type)

t.test('every row of table 3.1, and the order of its refusals', async t => {
  const twentyOne = Array.from({ length: 21 }, (_, i) => `t${i}`)
  const full = { ...running, spanCount: 200 }
  const early = '2026-11-21T11:59:59.999999Z'
  const table: [string, TraceState | undefined, DecidedOperation, string][] = [
    ['none: record stores', undefined, record(), 'insert'],
    ['none: an oversize document is refused', undefined, record('body', 'too large'), 'payload_too_large'],
    ['none: append finds nothing', undefined, append([span('a')]), 'not_found'],
    ['none: end finds nothing', undefined, end(), 'not_found'],
    ['running: an identical record is a duplicate', running, record(), 'duplicate'],
    ['running: another record conflicts', running, record('other'), 'trace_id_conflict'],
    ['running: a conflict comes before the size', running, record('other', 'too large'), 'trace_id_conflict'],
    ['complete: an identical record is a duplicate', complete, record(), 'duplicate'],
    ['complete: another record conflicts', complete, record('other'), 'trace_id_conflict'],
    ['a record ignores the environment', { ...running, environment: 'prod' }, record(), 'duplicate'],
    ['running: append writes', running, append([span('a')]), 'change'],
    ['running: known spans are duplicates', holding(running, ['a', 'h']), append([span('a')]), 'duplicate'],
    ['running: another span conflicts', holding(running, ['a', 'h']), append([span('a', 'x')]), 'span_conflict'],
    ['a batch can repeat a span', running, append([span('a'), span('a')]), 'change'],
    ['a batch cannot contradict itself', running, append([span('a'), span('a', 'x')]), 'span_conflict'],
    ['the 200th span is written', { ...running, spanCount: 199 }, append([span('a')]), 'change'],
    ['the 201st is rejected', full, append([span('a')]), 'invalid_trace'],
    [
      'a known span of a full trace is a duplicate',
      { ...full, spanHashes: new Map([['a', 'h']]) },
      append([span('a')]),
      'duplicate'
    ],
    [
      'a conflict precedes the limit',
      { ...full, spanHashes: new Map([['a', 'h']]) },
      append([span('a', 'x')]),
      'span_conflict'
    ],
    ['an oversize span is rejected', running, append([span('a', 'h', { bytes: 768_001 })]), 'payload_too_large'],
    ['768000 bytes are not too large', running, append([span('a', 'h', { bytes: 768_000 })]), 'change'],
    ['the limit precedes the size', full, append([span('a', 'h', { bytes: 768_001 })]), 'invalid_trace'],
    ['complete: append is refused', complete, append([span('a')]), 'trace_finished'],
    [
      'complete: append of known spans is refused',
      holding(complete, ['a', 'h']),
      append([span('a')]),
      'trace_finished'
    ],
    ['running: end completes', running, end(), 'change'],
    ['running: an end at the start completes', running, end({ endedAt: AT }), 'change'],
    ['running: an end before the start is refused', running, end({ endedAt: early }), 'invalid_trace'],
    ['complete: an identical end is a duplicate', complete, end(), 'duplicate'],
    ['complete: another end is refused', complete, end({ hash: 'other' }), 'trace_finished'],
    ['recorded complete: any end is rejected', { ...complete, endHash: null }, end(), 'trace_finished'],
    [
      'running: an end with a contradicting span',
      holding(running, ['a', 'h']),
      end({ spans: [span('a', 'x')] }),
      'span_conflict'
    ],
    ['running: an end over the span limit', full, end({ spans: [span('a')] }), 'invalid_trace'],
    [
      'running: an end with 21 tags in all',
      { ...running, tags: twentyOne.slice(1) },
      end({ tags: ['t0'] }),
      'invalid_trace'
    ],
    ['running: an end repeating 20 tags', { ...running, tags: twentyOne.slice(1) }, end({ tags: ['t1'] }), 'change'],
    [
      'running: an end that makes the document too large',
      { ...running, documentBytes: 767_999 },
      end(),
      'payload_too_large'
    ],
    [
      'running: an end with an oversize span',
      running,
      end({ spans: [span('a', 'h', { bytes: 768_001 })] }),
      'payload_too_large'
    ],
    ['another environment appends', running, append([span('a')], 'prod'), 'forbidden'],
    [
      'no environment appends to a labelled trace',
      { ...running, environment: 'prod' },
      append([span('a')]),
      'forbidden'
    ],
    ['the same environment appends', { ...running, environment: 'prod' }, append([span('a')], 'prod'), 'change'],
    ['history counts as unassigned', { ...running, environment: null }, append([span('a')]), 'change'],
    ['a label does not append to history', { ...running, environment: null }, append([span('a')], 'prod'), 'forbidden'],
    ['forbidden precedes finished', complete, append([span('a')], 'prod'), 'forbidden'],
    ['a resent end from another environment', complete, end({ environment: 'prod' }), 'forbidden'],
    ['gathered, running: a record of its id conflicts', gathered, record(), 'trace_id_conflict'],
    ['gathered, running: append conflicts', gathered, append([span('a')]), 'trace_id_conflict'],
    ['gathered, running: end conflicts', gathered, end(), 'trace_id_conflict'],
    ['gathered, complete: a record of its id conflicts', whole, record(), 'trace_id_conflict'],
    ['gathered, complete: append is refused', whole, append([span('a')]), 'trace_finished'],
    ['gathered, complete: end is refused', whole, end(), 'trace_finished'],
    ['gathered: forbidden comes first', whole, end({ environment: 'prod' }), 'forbidden']
  ]
  for (const [what, state, operation, expected] of table) t.equal(word(decide(state, operation)), expected, what)
})

t.test('an end replaces what it sends, unites tags and merges metadata', async t => {
  const started: TraceState = {
    ...running,
    inputTokens: 5,
    provider: 'p0',
    costUsd: 1,
    tags: ['a', 'b'],
    metadata: '{"kept":1e400,"replaced":{"x":1}}'
  }
  const decision = decide(
    started,
    end({
      provider: 'p1',
      usage: { ...none, outputTokens: 7 },
      tags: ['b', 'c'],
      metadata: '{"replaced":2,"new":3}',
      output: '"out"',
      spans: [span('a', 'h', { status: 'error' })]
    })
  )
  t.match(decision, {
    type: 'change',
    added: 1,
    change: {
      ending: {
        status: 'ok',
        endedAt: LATER,
        durationMs: 1000,
        provider: 'p1',
        costUsd: 1,
        inputTokens: null,
        outputTokens: 7,
        tags: ['a', 'b', 'c'],
        metadata: '{"kept":1e400,"replaced":2,"new":3}',
        output: '"out"'
      },
      spanCount: 1,
      errorCount: 1
    }
  })
  const unchanged = decide(started, end())
  t.match(unchanged, { change: { ending: { provider: 'p0', inputTokens: 5, costUsd: 1, tags: ['a', 'b'] } } })
  t.equal(unchanged.type === 'change' ? unchanged.change.ending?.metadata : '', undefined)
  t.equal(unchanged.type === 'change' ? unchanged.change.ending?.output : '', undefined)
})

/** A trace as the specification describes it. */
interface Model {
  body: string
  end: string | undefined
  spans: Map<string, string>
  tags: Set<string>
  errors: number
  bytes: number
}

/** The operations of the routes in the specification. */
type Sent = Exclude<DecidedOperation, { operation: 'idle' | 'export' }>

/** Returns the response that the specification requires, and applies the operation to the model. */
function expected(models: Map<string, Model>, id: string, operation: Sent): string {
  const model = models.get(id)
  if (operation.operation === 'record') {
    if (model !== undefined) return model.body === operation.hash ? 'duplicate' : 'trace_id_conflict'
    models.set(id, { body: operation.hash, end: undefined, spans: new Map(), tags: new Set(), errors: 0, bytes: 200 })
    return 'insert'
  }
  if (model === undefined) return 'not_found'
  const ends = operation.operation === 'end'
  if (model.end !== undefined) return ends && model.end === operation.hash ? 'duplicate' : 'trace_finished'
  const after = new Map(model.spans)
  for (const { id, hash } of operation.spans) {
    if ((after.get(id) ?? hash) !== hash) return 'span_conflict'
    after.set(id, hash)
  }
  if (after.size > 200) return 'invalid_trace'
  const added = after.size - model.spans.size
  const fresh = new Map(operation.spans.filter(({ id }) => !model.spans.has(id)).map(each => [each.id, each]))
  model.errors += [...fresh.values()].filter(each => each.status === 'error').length
  model.spans = after
  if (!ends) return added === 0 ? 'duplicate' : 'change'
  model.end = operation.hash
  for (const tag of operation.tags) model.tags.add(tag)
  return 'change'
}

/** Stores a decision as the statement would. */
function store(states: Map<string, TraceState>, id: string, operation: DecidedOperation, decision: Decision): void {
  if (decision.type === 'insert' && operation.operation === 'record') {
    states.set(id, { ...running, bodyHash: operation.hash })
  } else if (decision.type === 'change') {
    const state = states.get(id) as TraceState
    const { ending, spans, spanCount, errorCount, estimatedBytes } = decision.change
    const spanHashes = new Map([...state.spanHashes, ...spans.map(each => [each.id, shortHash(each)] as const)])
    const sums = { spanCount, errorCount, estimatedBytes, spanHashes }
    states.set(id, { ...state, ...ending, ...sums, running: ending === undefined, metadata: null })
  }
}

const anySpan = fc
  .record({
    id: fc.nat(120).map(String),
    hash: fc.constantFrom('h', 'h', 'h', 'h', 'x'),
    status: fc.constantFrom('ok', 'error')
  })
  .map(({ id, hash, status }) => span(id, hash + status, { status }))
const anySpans = fc.array(anySpan, { minLength: 1, maxLength: 60 })
const anyOperation: fc.Arbitrary<Sent> = fc.oneof(
  { weight: 1, arbitrary: fc.constantFrom('body', 'other').map(hash => record(hash)) },
  { weight: 5, arbitrary: anySpans.map(list => append(list)) },
  {
    weight: 1,
    arbitrary: fc
      .record({ hash: fc.constantFrom('end', 'other'), tags: fc.subarray(['a', 'b', 'c']), spans: anySpans })
      .map(over => end(over))
  }
)

t.test('random histories agree with a model of the specification', async () => {
  const history = fc.array(fc.tuple(fc.constantFrom('1', '2'), anyOperation), { minLength: 5, maxLength: 40 })
  fc.assert(
    fc.property(history, operations => {
      const states = new Map<string, TraceState>()
      const models = new Map<string, Model>()
      for (const [id, operation] of operations) {
        const decision = decide(states.get(id), operation)
        assert.equal(word(decision), expected(models, id, operation))
        store(states, id, operation, decision)
        const [state, model] = [states.get(id), models.get(id)]
        assert.equal(state?.spanCount, model?.spans.size)
        assert.equal(state?.errorCount, model?.errors)
        if (decision.type === 'duplicate') assert.equal(decision.spanCount, model?.spans.size)
        if (state && !state.running) assert.deepEqual(new Set(state.tags), model?.tags)
      }
    }),
    runs(100)
  )
})
