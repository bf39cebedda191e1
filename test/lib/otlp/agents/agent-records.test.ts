import t from 'tap'
import { readAgentRecords } from '../../../../lib/otlp/agents/agent-records.ts'
import { stepIdOf, traceIdOf } from '../../../../lib/otlp/agents/ids.ts'
import { encodeSteps } from '../../../../lib/otlp/agents/steps.ts'
import type { LogRecord } from '../../../../lib/otlp/logs/decode.ts'
import { readSteps } from '../../../../lib/otlp/read-export.ts'

const IDS = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) }

function recordOf(name: string, attributes: object, given: Partial<LogRecord> = {}): LogRecord {
  return {
    origin: { resource: new Map([['service.name', 'agent']]), scopeName: '' },
    ...{ traceId: '', spanId: '', micros: 5_000_000, eventName: '', body: null, isUnsampled: false },
    attributes: new Map(
      Object.entries({ 'event.name': name, 'session.id': 's', 'conversation.id': 's', ...attributes })
    ),
    ...given
  }
}

t.test('ids equal those of transcripts', t => {
  t.equal(traceIdOf('s', 'p'), '1857aef039379df8e6678fe984d9e3db')
  t.equal(stepIdOf('s', 'tool', 'c'), '92c5dbeeaf29d7de')
  t.not(stepIdOf('s', 'tool', 'c'), stepIdOf('s', 'request', 'c'))
  t.end()
})

t.test('a record belongs to the trace that it names, or else to that of its session and prompt', t => {
  const prompt = recordOf('claude_code.user_prompt', { 'prompt.id': 'p', prompt: 'hi' })
  const own = readAgentRecords([{ ...prompt, ...IDS }]).get(0)
  t.match(own, { traceId: IDS.traceId, target: IDS.spanId, step: { id: IDS.spanId, parentId: undefined } })
  const other = readAgentRecords([prompt]).get(0)
  const id = stepIdOf('s', 'prompt', 'p')
  t.match(other, { traceId: traceIdOf('s', 'p'), target: id, step: { id, name: 'agent' } })
  t.equal(readAgentRecords([{ ...prompt, traceId: '0'.repeat(32) }]).get(0)?.traceId, traceIdOf('s', 'p'))
  t.end()
})

t.test('a record without a trace takes that of its session in the same export', t => {
  const usage = recordOf('codex.sse_event', { input_token_count: 1 })
  const tool = { ...recordOf('codex.tool_result', { call_id: 'c' }), ...IDS }
  const foreign = recordOf(
    'codex.tool_result',
    { call_id: 'c', 'conversation.id': 'x' },
    { ...IDS, traceId: 'c'.repeat(32) }
  )
  for (const records of [
    [tool, foreign, usage],
    [usage, foreign, tool]
  ]) {
    const found = readAgentRecords(records)
    t.equal(found.get(records.indexOf(usage))?.traceId, IDS.traceId)
  }
  t.equal(readAgentRecords([foreign, usage]).get(1)?.traceId, traceIdOf('s', ''))
  t.end()
})

t.test("unsampled spans are never sent, so their records belong to the prompt's trace", t => {
  const prompt = recordOf('gemini_cli.user_prompt', { prompt_id: 'p', prompt: 'hi' })
  const tool = recordOf('gemini_cli.tool_call', { prompt_id: 'p', function_name: 'f' }, { ...IDS, isUnsampled: true })
  const found = readAgentRecords([prompt, tool])
  const id = stepIdOf('s', 'prompt', 'p')
  t.match(found.get(0), { traceId: traceIdOf('s', 'p'), target: id })
  t.match(found.get(1), { traceId: traceIdOf('s', 'p'), named: undefined, step: { parentId: id } })
  t.end()
})

t.test('a step is an ordinary span, and knows its call', t => {
  const attributes = {
    'prompt.id': 'p',
    request_id: 'r',
    model: 'm',
    input_tokens: 1,
    output_tokens: 2,
    cost_usd: 0.25
  }
  const record = recordOf('claude_code.api_request', {
    ...attributes,
    duration_ms: 1500,
    speed: 'normal',
    n: [1, { a: true }]
  })
  const { step } = readAgentRecords([record]).get(0)!
  const { traces, refusals } = readSteps(encodeSteps([step!]))
  t.same(refusals, [])
  const [mapped] = traces.get(traceIdOf('s', 'p'))!
  t.match(mapped!.span, { kind: 'llm', model: 'm', usage: { inputTokens: 1, outputTokens: 2 }, costUsd: 0.25 })
  t.match(mapped!.span, { startedAt: '1970-01-01T00:00:03.500Z', parentSpanId: stepIdOf('s', 'prompt', 'p') })
  t.match(mapped!.hints, { callSpanId: stepIdOf('s', 'request', 'r'), responseId: 'r', sessionId: 's' })
  const stored = JSON.parse(mapped!.span.attributes!.stored!)
  t.match(stored, { speed: 'normal', n: [1, { a: true }] })
  t.notOk('cost_usd' in stored || 'spoor.step.call_span_id' in stored || 'duration_ms' in stored)
  const tagged = readSteps(encodeSteps([step!]), { tagNames: ['speed'] }).traces.get(traceIdOf('s', 'p'))!
  t.same(tagged[0]!.hints.tags, ['speed:normal'], 'OTLP_TAGS applies to steps too')
  const [again] = [readAgentRecords([{ ...record, micros: 9_000_000 }]).get(0)!.step!]
  t.not(again.id, step!.id, 'another request with the same id')
  t.equal(again.callSpanId, step!.callSpanId)
  t.end()
})
