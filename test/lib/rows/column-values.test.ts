import t from 'tap'
import {
  appendValues,
  endValues,
  estimatedBytes,
  growthValues,
  scoreValues,
  spanHeadValues,
  tagValues,
  traceTextValues,
  traceValues
} from '../../../lib/rows/column-values.ts'
import {
  END_COLUMNS,
  GROWTH_COLUMNS,
  SCORE_BODY_COLUMNS,
  SPAN_HEAD_COLUMNS,
  TAG_BODY_COLUMNS,
  TRACE_BODY_COLUMNS,
  TRACE_TEXT_COLUMNS,
  type Value
} from '../../../lib/rows/columns.ts'
import { listsOf, tagListsOf } from '../../../lib/rows/list-numbers.ts'
import { textsOfTrace } from '../../../lib/rows/trace-texts.ts'
import { prepare } from '../../../lib/trace/prepare.ts'
import type { Past, PastScore } from '../../../lib/trace/prepared.ts'
import type { Ending } from '../../../lib/trace/states/decide.ts'
import type { Growth } from '../../../lib/trace/states/gathered.ts'
import { AT, ingestBody, LATER, span, startBody } from '../../fixtures/bodies/bodies.ts'

/** Returns the value of each column for an item. */
const rowOf = <T>(columns: readonly { readonly name: string }[], values: object, item: T) =>
  Object.fromEntries(columns.map(({ name }) => [name, (values as Record<string, (item: T) => Value>)[name]!(item)]))

const record = (body: object) => prepare('record', Buffer.from(JSON.stringify(body)))
const traceRow = (body: object) => ({
  ...rowOf(TRACE_BODY_COLUMNS, traceValues, record(body)),
  ...rowOf(TRACE_TEXT_COLUMNS, traceTextValues, textsOfTrace(record(body)))
})

t.test("a trace has its body's values in each column", async t => {
  const spans = [span({ status: 'error' }), span({ status: 'ok' }), span({ status: 'error' })]
  const body = ingestBody({
    ...{ name: 'n', provider: 'p', model: 'm', sessionId: 's', userId: 'u', tags: ['b', 'a'], status: 'ok', spans },
    ...{ input: [1], output: { o: 1 }, metadata: { k: 1 }, usage: { inputTokens: 3, totalTokens: 9 }, costUsd: 0.5 }
  })
  const trace = record(body)
  t.strictSame(traceRow(body), {
    ...{ id: body.trace.id, span_count: 3, error_count: 2, score_count: 0, started_at: AT, ended_at: LATER },
    ...{ metadata_updated_at: null, duration_ms: 1500, input_tokens: 3, output_tokens: null, total_tokens: 9 },
    ...{
      cost_usd: 0.5,
      is_run: true,
      document_bytes: trace.bytes,
      estimated_bytes: estimatedBytes(trace),
      status: 'ok'
    },
    ...{ body_hash: trace.hash, end_hash: null, ranks: null, input: '[1]', output: '{"o":1}', metadata: '{"k":1}' },
    ...{ name: 'n', provider: 'p', model: 'm', session_id: 's', user_id: 'u', tags: ['b', 'a'] },
    ...{ input_span_id: null, output_span_id: null, input_bytes: null, output_bytes: null }
  })
  t.equal(estimatedBytes(trace), trace.bytes + trace.spans.reduce((sum, { bytes }) => sum + bytes, 0))
  const running = { ended_at: null, duration_ms: null, status: 'running', tags: null, input: null, user_id: null }
  t.match(traceRow(startBody()), running, 'a missing value is null, and so are missing tags')
})

t.test('a text that a span also has is only in the span', t => {
  const [input, other] = ['é'.repeat(200), 'x'.repeat(200)]
  const body = ingestBody({
    input,
    output: other,
    spans: [span({ output: input }), span({ id: 'ab'.repeat(8), input })]
  })
  t.match(traceRow(body), {
    ...{ input: null, input_span_id: 'ab'.repeat(8), input_bytes: 402 },
    ...{ output: JSON.stringify(other), output_span_id: null, output_bytes: null }
  })
  t.end()
})

const SCORE: PastScore = {
  ...{ id: 'c'.repeat(16), spanId: null, name: 'q', dataType: 'categorical', value: 'good "x"', comment: null },
  ...{ source: 'eval', evaluatorId: 'e', runId: 'r', createdAt: AT }
}

t.test('a restored trace also has its past', async t => {
  const past: Past = {
    ...{ environment: null, keyId: 'k', ingestedAt: AT, metadataUpdatedAt: LATER, endHash: 'ab'.repeat(32) },
    ...{ estimatedBytes: 7, scores: [SCORE, SCORE], messages: [] }
  }
  t.match(rowOf(TRACE_BODY_COLUMNS, traceValues, { ...record(ingestBody()), past }), {
    ...{ score_count: 2, metadata_updated_at: LATER, end_hash: past.endHash, estimated_bytes: 7 }
  })
  t.strictSame(rowOf(SCORE_BODY_COLUMNS, scoreValues, SCORE), {
    ...{
      id: SCORE.id,
      span_id: null,
      data_type: 'categorical',
      value: '"good \\"x\\""',
      source: 'eval',
      created_at: AT
    },
    ...{ name: 'q', comment: null, evaluator_id: 'e', run_id: 'r' }
  })
})

t.test("a span has its body's values in each column", async t => {
  const sent = span({ parentSpanId: 'd'.repeat(16), kind: 'llm', status: 'ok', model: 'm', usage: { outputTokens: 4 } })
  const [prepared] = record(ingestBody({ spans: [sent] })).spans
  t.strictSame(rowOf(SPAN_HEAD_COLUMNS, spanHeadValues, prepared), {
    ...{ id: sent.id, parent_id: 'd'.repeat(16), hash: null, kind: 'llm', status: 'ok' },
    ...{ started_at: AT, ended_at: LATER, input_tokens: null, output_tokens: 4, total_tokens: null, cost_usd: null },
    ...{ name: 'step', provider: null, model: 'm', call_details: null }
  })
})

t.test("a tag's row has the data of its trace that lists need", async t => {
  const trace = record(ingestBody({ tags: ['x'], userId: 'u', costUsd: 2 }))
  const lists = listsOf(trace, 'production')
  const tagLists = tagListsOf('x', lists)
  t.strictSame(rowOf(TAG_BODY_COLUMNS, tagValues, { trace, lists, tag: 'x', tagLists }), {
    ...{ tag_family: tagLists.tagFamily, tag_named_family: tagLists.tagNamedFamily, tag_user: tagLists.tagUser },
    ...{ named_family: lists.namedFamily, family: lists.family, started_at: AT, duration_ms: 1500, cost_usd: 2 },
    ...{ id: trace.traceId, user_id: 'u', tag: 'x' }
  })
})

t.test('a change names its trace and the version that it applies to, and marks columns that are not set', async t => {
  const sums = { spanCount: 2, errorCount: 1, estimatedBytes: 300 }
  const changed = {
    state: { seq: 5, version: 6 },
    version: 7,
    sums: { ...sums, isRun: true, spans: [], ending: undefined, addedBytes: 0 }
  }
  const target = {
    seq: 5,
    old_version: 6,
    version: 7,
    span_count: 2,
    error_count: 1,
    estimated_bytes: 300,
    is_run: true
  }
  t.strictSame(Object.fromEntries(Object.entries(appendValues).map(([name, of]) => [name, of(changed)])), target)
  const lists = listsOf({ status: 'ok', model: null, name: 'n', userId: null }, '')
  const done = {
    ...{
      endedAt: LATER,
      durationMs: 1500,
      inputTokens: 1,
      outputTokens: 2,
      totalTokens: 3,
      costUsd: 0.5,
      status: 'ok'
    },
    ...{ documentBytes: 200, provider: 'p', model: 'm', tags: [] }
  }
  const setsBoth = { ...done, output: null, metadata: '{}', endHash: 'ab' } as unknown as Ending
  const setsNone = { ...done, output: undefined, metadata: undefined, endHash: 'ab' } as unknown as Ending
  const endRow = (ending: Ending) => rowOf(END_COLUMNS, endValues, { ...changed, done: ending, lists, ranked: 3 })
  t.match(endRow(setsBoth), {
    ...target,
    ranked: 3,
    sets_output: true,
    output: null,
    sets_metadata: true,
    metadata: '{}',
    tags: null
  })
  t.match(endRow(setsNone), { sets_output: false, output: null, sets_metadata: false, metadata: null, end_hash: 'ab' })
  const growth = {
    ...done,
    input: undefined,
    output: '1',
    ranks: { name: [1, 2, 'x'] },
    startedAt: AT,
    bodyHash: 'cd',
    name: 'n'
  }
  const grown = { ...growth, sessionId: null, userId: 'u' } as unknown as Growth
  t.match(rowOf(GROWTH_COLUMNS, growthValues, { ...changed, done: grown, lists, ranked: 0 }), {
    ...{ sets_input: false, input: null, sets_output: true, output: '1', ranks: '{"name":[1,2,"x"]}', started_at: AT },
    ...{ body_hash: 'cd', name: 'n', session_id: null, user_id: 'u' }
  })
})
