/** Tests log records of coding agents, as the real programs sent them, alone and with the spans of the same calls. */
import fc from 'fast-check'
import t from 'tap'
import { traceIdOf } from '../../../lib/otlp/agents/ids.ts'
import { logsOf } from '../../fixtures/bodies/otlp-logs.ts'
import { testDatabase } from '../../fixtures/database/database.ts'
import { exportLines, testImporter } from '../../fixtures/database/moving.ts'
import { claudeCode, codex } from '../../fixtures/otlp/captured.ts'
import { type TestService, testService } from '../../fixtures/service/service.ts'

const LOGS = '/api/v1/otlp/v1/logs'
const SPANS = '/api/v1/otlp/v1/traces'

// biome-ignore lint/suspicious/noExplicitAny: bodies of responses and exports.
type Any = any

const PROMPT = 'say hello with the shell'
const ANSWER = 'The tool said hello.'
const COST = 0.023936

async function setUp(t: Parameters<typeof testService>[0]) {
  const service = await testService(t)
  const send = async (body: Any) => {
    const { status, text } = await service.call('POST', 'resourceLogs' in body ? LOGS : SPANS, { body })
    if (status !== 200) t.fail(text)
    return text
  }
  const read = async (id: string) => (await service.call('GET', `/api/v1/traces/${id}`)).body as Any
  return { service, send, read }
}

/** Returns a trace's content without its id and the times of arrival. */
function shownOf({ trace, spans, scores }: Any, { traceId }: { traceId: string }) {
  const plain = { ...trace, ingestedAt: null, estimatedBytes: null }
  const sorted = [...spans].sort((a, b) =>
    a.startedAt + a.name + a.durationMs < b.startedAt + b.name + b.durationMs ? -1 : 1
  )
  const text = JSON.stringify({ trace: plain, spans: sorted, scores })
  return JSON.parse(text.replaceAll(traceId, 'TRACE'))
}

/** Checks that the project's totals and each trace's counts equal those of the stored rows. */
async function assertCounts(t: Any, { database }: TestService) {
  const wrong = await database.pool.run(
    sql => sql`select id from traces t where span_count <> (
      select count(*) from spans s where s.project_id = t.project_id and s.trace_seq = t.seq)`
  )
  t.same(wrong, [])
  const [sums] = await database.pool.run(
    sql => sql<Any[]>`select
      (select sum(spans)::int from project_totals) as total, (select count(*)::int from spans) as spans,
      (select sum(bytes)::int from project_totals) as bytes,
      (select sum(estimated_bytes)::int from traces) as estimated`
  )
  t.same([sums!.total, sums!.bytes], [sums!.spans, sums!.estimated])
}

t.test('Claude Code: records fill in the spans of their calls', async t => {
  const { service, send, read } = await setUp(t)
  const { traceId, session, exports } = claudeCode()
  await send(exports.spans)
  for (const part of ['startup', 'first', 'second'] as const) await send(exports[part])
  const { trace, spans } = await read(traceId)
  t.match(JSON.stringify(trace.input), PROMPT)
  t.match(trace.output, [{ role: 'assistant', content: ANSWER }])
  t.match(trace, { costUsd: COST, spanCount: 6, sessionId: session, model: 'claude-opus-5-5', status: 'unset' })
  t.match(trace.usage, { inputTokens: 37824, outputTokens: 382 })
  const calls = spans.filter(({ kind }: Any) => kind === 'llm')
  t.same(
    calls.map(({ costUsd }: Any) => costUsd),
    [0.014948, 0.008988],
    'two requests with the same id are distinguished by their times'
  )
  t.match(calls[1].output, [{ content: ANSWER }])
  const tool = spans.find(({ name }: Any) => name === 'Bash')
  t.equal(tool.kind, 'tool')
  t.match(JSON.stringify(tool.input), 'echo hello-from-tool', "the span's own value takes precedence")
  const names = spans.flatMap(({ events }: Any) => events.map(({ name }: Any) => name))
  t.ok(names.includes('claude_code.tool_decision') && names.includes('claude_code.api_request'))
  await assertCounts(t, service)
})

t.test('Claude Code: records alone form the trace', async t => {
  const { service, send, read } = await setUp(t)
  const { traceId, session, exports } = claudeCode()
  await send(exports.first)
  await send(exports.second)
  const { trace, spans } = await read(traceId)
  t.match(trace, { name: 'claude-code', costUsd: COST, spanCount: 4, sessionId: session, model: 'claude-opus-5-5' })
  t.match(trace, { input: [{ role: 'user', content: PROMPT }], output: [{ role: 'assistant', content: ANSWER }] })
  t.match(trace.usage, { inputTokens: 37824, outputTokens: 382 })
  t.same(spans.map(({ kind }: Any) => kind).sort(), ['agent', 'llm', 'llm', 'tool'])
  t.match(
    spans.find(({ kind }: Any) => kind === 'tool'),
    { name: 'Bash', input: { command: 'echo hello-from-tool' }, durationMs: 589 }
  )
  const root = spans.find(({ kind }: Any) => kind === 'agent')
  for (const span of spans) t.ok(span === root || span.parentSpanId === root.id)
  const before = await read(traceId)
  for (const part of [exports.second, exports.first]) t.equal(await send(part), '{}')
  t.same(await read(traceId), before, 'a resend changes nothing')
  await assertCounts(t, service)
})

t.test('Claude Code: without tracing, the trace id is derived from the session and the prompt', async t => {
  const { send, read, service } = await setUp(t)
  const { session, exports } = claudeCode()
  const strip = (body: Any) =>
    JSON.parse(JSON.stringify(body), (key, value) => (['traceId', 'spanId', 'flags'].includes(key) ? undefined : value))
  await send(strip(exports.second))
  await send(strip(exports.first))
  const { trace, spans } = await read(traceIdOf(session, 'c105d7e5-6d26-4709-b4d0-9c03a7d50075'))
  t.match(trace, { name: 'claude-code', costUsd: COST, spanCount: 4, sessionId: session })
  t.match(trace, { input: [{ content: PROMPT }], output: [{ content: ANSWER }] })
  t.equal(spans.filter(({ parentSpanId }: Any) => parentSpanId === null).length, 1)
  const decisions = spans.flatMap(({ events }: Any) => events).filter(({ name }: Any) => /tool_decision/.test(name))
  t.match(decisions, [{ attributes: { decision: 'accept' } }], 'a record of a call without a step is its event')
  await assertCounts(t, service)
})

/** Splits exports into one export for each record or span. */
function singles(exports: readonly Any[]): Any[] {
  return exports.flatMap(body => {
    const [list, scope, items] =
      'resourceLogs' in body ? ['resourceLogs', 'scopeLogs', 'logRecords'] : ['resourceSpans', 'scopeSpans', 'spans']
    return body[list].flatMap((resource: Any) =>
      resource[scope].flatMap((group: Any) =>
        group[items].map((item: Any) => ({ [list]: [{ ...resource, [scope]: [{ ...group, [items]: [item] }] }] }))
      )
    )
  })
}

t.test('spans and records in any order and portions form the same trace', async t => {
  const { service, send, read } = await setUp(t)
  const count = singles(Object.values(claudeCode().exports)).length
  let expected: Any
  const order = fc.shuffledSubarray(
    Array.from({ length: count }, (_, i) => i),
    { minLength: count }
  )
  await fc.assert(
    fc.asyncProperty(order, async order => {
      const run = claudeCode()
      const parts = singles(Object.values(run.exports))
      for (const i of order) await send(parts[i])
      const shown = shownOf(await read(run.traceId), run)
      expected ??= shown
      t.same(shown, expected, order.join())
    }),
    { numRuns: 8, endOnFailure: true }
  )
  t.match(expected.trace, { costUsd: COST, spanCount: 6, usage: { inputTokens: 37824, outputTokens: 382 } })
  await assertCounts(t, service)
})

t.test('Codex: tokens count once, and the prompt, the tool call and its output are shown', async t => {
  const results: Any[] = []
  for (const order of [
    ['spans', 'first', 'second'],
    ['second', 'first', 'spans']
  ] as const) {
    const { service, send, read } = await setUp(t)
    const { traceId, session, exports } = codex()
    for (const part of order) await send(exports[part])
    const shown = await read(traceId)
    const { trace, spans } = shown
    t.match(
      trace,
      { sessionId: session, model: 'gpt-5.1-codex', input: [{ role: 'user', content: PROMPT }] },
      order.join()
    )
    t.match(trace.usage, { inputTokens: 35806, outputTokens: 240 })
    const tool = spans.find(({ input }: Any) => input?.cmd !== undefined)
    t.match(tool, { input: { cmd: 'echo hello-from-tool' }, output: /hello-from-tool/ })
    await assertCounts(t, service)
    const traces = (await service.call('GET', '/api/v1/traces')).body.traces
    t.equal(traces.length, 1, "records without a trace join their session's trace")
    results.push(shownOf(shown, { traceId }))
  }
  t.same(results[1], results[0])
})

t.test('Codex: records alone form a trace', async t => {
  const { send, read } = await setUp(t)
  const { traceId, session, exports } = codex()
  await send(exports.first)
  await send(exports.second)
  const { trace, spans } = await read(traceId)
  t.match(trace, { name: 'codex_exec', sessionId: session, model: 'gpt-5.1-codex', input: [{ content: PROMPT }] })
  t.match(trace.usage, { inputTokens: 35806, outputTokens: 240 })
  t.match(
    spans.find(({ kind }: Any) => kind === 'tool'),
    { name: 'exec_command', input: { cmd: 'echo hello-from-tool' }, output: /hello-from-tool/, durationMs: 248 }
  )
})

t.test('Gemini CLI, Qwen Code: prompts, requests and tool uses', async t => {
  const { send, service } = await setUp(t)
  for (const [prefix, name] of [
    ['gemini_cli', 'gemini-cli'],
    ['qwen-code', 'qwen-code']
  ] as const) {
    const about = { 'session.id': `session of ${name}`, prompt_id: 'p1' }
    const event = (event: string, at: number, attributes: object) => ({
      ...{ at, attributes: { ...about, 'event.name': `${prefix}.${event}`, ...attributes } }
    })
    const usage = { input_token_count: 100, output_token_count: 8, thoughts_token_count: 4, total_token_count: 112 }
    const body = logsOf([
      event('user_prompt', 1, { prompt: PROMPT }),
      event('api_response', 3, { model: 'm', duration_ms: 1500, ...usage, response_text: ANSWER }),
      event('tool_call', 4, {
        function_name: 'ls',
        function_args: '{"a":1}',
        success: false,
        error: 'no',
        duration_ms: 9
      }),
      event('api_error', 5, { model: 'm', error: 'overloaded', duration_ms: 3 })
    ])
    await send(body)
    const { trace, spans } = (await service.call('GET', `/api/v1/traces/${traceIdOf(`session of ${name}`, 'p1')}`)).body
    t.match(trace, {
      sessionId: `session of ${name}`,
      input: [{ content: PROMPT }],
      output: [{ role: 'assistant', content: ANSWER }],
      errorCount: 2
    })
    t.match(trace.usage, { inputTokens: 100, outputTokens: 12 })
    t.match(
      spans.map(({ kind, status }: Any) => `${kind} ${status}`),
      ['agent unset', 'llm unset', 'tool error', 'llm error']
    )
    t.match(spans[2], { name: 'ls', input: { a: 1 } })
  }
})

t.test('a trace of records is exported', async t => {
  const { service, send, read } = await setUp(t)
  const run = claudeCode()
  for (const part of [run.exports.first, run.exports.second]) await send(part)
  const lines = (await exportLines(service.database, 'default')).join('\n')
  const target = await testDatabase(t)
  const restored = await testService(t, { database: target })
  const [project] = await target.pool.run(sql => sql<{ id: number }[]>`select id from projects where slug = 'default'`)
  t.match(await testImporter(t, target)(project!.id, lines), { problems: [] })
  t.equal((await exportLines(target, 'default')).join('\n'), lines)
  // The spans then replace the restored steps.
  await restored.call('POST', SPANS, { body: run.exports.spans })
  await send(run.exports.spans)
  const there = (await restored.call('GET', `/api/v1/traces/${run.traceId}`)).body
  t.same(shownOf(there, run), shownOf(await read(run.traceId), run))
  await assertCounts(t, restored)
})
