import t from 'tap'
import { requireProject } from '../../../lib/admin/projects.ts'
import { exportLines, testImporter } from '../../fixtures/database/moving.ts'
import { reported } from '../../fixtures/otlp/reported.ts'
import { type TestService, testService } from '../../fixtures/service/service.ts'

const PATH = '/api/v1/otlp/v1/traces'
const ALL_STORED = { status: 200, text: '{}' }

/** Returns the ids of an export's traces, starting with the trace that has the most spans. */
function tracesOf(body: object): readonly string[] {
  const counts = new Map<string, number>()
  for (const [, id] of JSON.stringify(body).matchAll(/"trace_?[iI]d":"([0-9a-f]{32})"/g)) {
    counts.set(id as string, (counts.get(id as string) ?? 0) + 1)
  }
  return [...counts].sort(([, a], [, b]) => b - a).map(([id]) => id)
}

const read = async (service: TestService, id: string | undefined) =>
  (await service.call('GET', `/api/v1/traces/${id}`)).body

/** Sends exports by name. Returns the details of the first export's traces, largest first. */
async function send(service: TestService, ...names: readonly string[]) {
  for (const name of names) t.match(await service.call('POST', PATH, { body: reported(name) }), ALL_STORED, name)
  const details = []
  for (const id of tracesOf(reported(names[0] as string))) details.push(await read(service, id))
  return details
}

const used = (inputTokens: number, outputTokens: number, totalTokens = inputTokens + outputTokens) => ({
  usage: { inputTokens, outputTokens, totalTokens }
})

t.test('exports that once failed', async t => {
  const service = await testService(t)
  const expected: Record<string, object> = {
    C01: used(18_912, 340),
    'C03-a': used(1210, 5),
    'C03-oi': used(1210, 5),
    'C04-nototal': used(17_903, 120),
    'C05-agent-under-root': used(300, 30),
    'C21-child-outlives-root': { durationMs: 9000 },
    'C23-three-roots-second-failed': {
      ...used(300, 30),
      status: 'error',
      durationMs: 1_230_000,
      input: 'q0',
      output: 'a2',
      sessionId: 'C23'
    },
    'C29-semantic-kernel': { ...used(10, 5), costUsd: 0.25, sessionId: 'LS', userId: 'LU', model: 'gpt-4o' },
    'C37-root-unset-tool-failed': { errorCount: 1, status: 'unset' },
    'K1-llm_call': { ...used(10, 5), costUsd: 0.25 },
    'K2-llm-plus-rerank-plus-tool-cost': { ...used(10, 5), costUsd: 1.45 },
    'silent-snake-case': { name: 'x', spanCount: 1, durationMs: 1000 }
  }
  for (const [name, trace] of Object.entries(expected)) {
    const [detail] = await send(service, name)
    t.match(detail.trace, trace, name)
  }
  const kinds = async (name: string) =>
    (await send(service, name))[0].spans.map((span: { name: string; kind: string }) => [span.name, span.kind])
  t.same(await kinds('C29-semantic-kernel'), [
    ['POST /chat', 'custom'],
    ['chat.completions gpt-4o', 'llm']
  ])
  t.same(await kinds('C01'), [
    ['claude_code.interaction', 'agent'],
    ['claude_code.llm_request', 'llm']
  ])
  const [instructions] = await send(service, 'system-instructions-as-text')
  t.same(instructions.spans[0].input, [
    { role: 'system', parts: [{ type: 'text', content: 'You are X' }] },
    { role: 'user', parts: [{ type: 'text', content: 'hi there' }] }
  ])
})

t.test('spans that arrive after their root are stored, in any order, and resent', async t => {
  for (const names of [
    ['LOST-1-root', 'LOST-2-199-steps'],
    ['LOST-2-199-steps', 'LOST-1-root'],
    ['LOST-1-root', 'LOST-2-199-steps', 'LOST-2-199-steps', 'LOST-1-root']
  ]) {
    const [{ trace, spans }] = await send(await testService(t), ...names)
    t.match([trace.spanCount, spans.length], [200, 200], names.join(', '))
  }
})

interface Step {
  readonly name: string
  readonly kind: string
  readonly model: string | null
  readonly input: unknown
  readonly output: unknown
}

t.test('exports captured from coding agents', async t => {
  const service = await testService(t)
  const of = (spans: readonly Step[], kind: string) => spans.filter(span => span.kind === kind)

  const [claude] = await send(service, 'real-claude-code-2.1.332-traces')
  t.match(claude.trace, {
    name: 'claude-code',
    ...used(37_824, 382),
    model: 'claude-opus-5-5',
    sessionId: '0834fc5f-efa0-470d-86da-0a3f238fe508',
    input: 'say hello with the shell',
    spanCount: 6
  })
  t.match(of(claude.spans, 'tool'), [{ name: 'Bash', input: 'echo hello-from-tool', output: 'hello-from-tool' }])
  t.equal(of(claude.spans, 'tool').length, 1)
  t.equal(of(claude.spans, 'llm').length, 2)
  t.equal(of(claude.spans, 'agent').length, 1)

  const gemini = await send(service, 'real-gemini-cli-0.61-traces')
  const steps: Step[] = gemini.flatMap(({ spans }) => spans)
  for (const { trace } of gemini) {
    t.match(trace, { name: 'gemini-cli', sessionId: '9de20245-2af5-4502-95d2-3b40df866a27' })
  }
  const calls = of(steps, 'llm')
  t.match(calls, [{ name: 'llm_call', model: 'gemini-2.5-flash' }, { name: 'llm_call' }])
  const [instructions] = (calls[0] as Step).input as object[]
  t.match(instructions, {
    role: 'system',
    parts: [{ type: 'text', content: /^You are a non-int/ }]
  })
  t.match(of(steps, 'tool'), [
    { name: 'run_shell_command', input: { command: 'echo hello-from-tool' }, output: { output: /hello-from-tool/ } }
  ])
  t.equal(
    gemini.reduce((sum, { trace }) => sum + trace.usage.inputTokens, 0),
    35_806
  )

  const [codex] = await send(service, 'real-codex-0.171-traces')
  t.match(codex.trace, {
    name: 'codex_exec',
    ...used(35_806, 240, 36_046),
    model: 'gpt-5.1-codex',
    sessionId: '01a2190f-e5d4-76b0-a682-a31e192142be',
    spanCount: 326
  })
  t.ok(codex.trace.durationMs > 1000)
  t.match(of(codex.spans, 'tool'), [{ name: 'exec_command' }])
  t.equal(of(codex.spans, 'llm').length, 2)
  t.match(of(codex.spans, 'agent'), [{ name: 'session_task.turn', model: 'gpt-5.1-codex' }])

  const [copilot] = await send(service, 'real-copilot-cli-1.0.102-traces')
  t.match(copilot.trace, { name: 'github-copilot', ...used(35_806, 240), model: 'gpt-x' })
  t.match(of(copilot.spans, 'tool'), [{ name: 'bash', output: /^hello-from-tool/ }])
  const [qwen] = await send(service, 'real-qwen-code-0.24.4-traces')
  t.match(qwen.trace, {
    name: 'qwen-code',
    ...used(35_806, 240),
    model: 'qwen3-coder',
    output: [{ role: 'assistant' }]
  })
})

t.test('an OpenCode session in three exports, in any order', async t => {
  const parts = [1, 2, 3].map(part => `real-opencode-1.18.33-traces-${part}of3`)
  for (const names of [parts, parts.toReversed()]) {
    const service = await testService(t)
    await send(service, ...names)
    const [id] = tracesOf({ all: parts.map(reported) })
    const { trace, spans } = await read(service, id)
    t.match(trace, { name: 'opencode', model: 'gpt-x', sessionId: 'ses_de6ef4fddffe8t6a0BTUxJC7na' })
    t.equal(trace.spanCount, spans.length)
    t.ok(trace.usage.inputTokens >= 17_903)
    t.ok(spans.some(({ kind }: Step) => kind === 'llm'))
  }
})

t.test('cached tokens are stored with their span, and exported', async t => {
  const service = await testService(t, { config: { computesCosts: false } })
  await send(service, 'C01')
  const detailsOf = async (project: string) => {
    const lines = await exportLines(service.database, project)
    return lines.map(line => Object.values(JSON.parse(line).recorded.callDetails))
  }
  const details = [[{ cacheReadTokens: 18_000, cacheWriteTokens: 900 }]]
  t.same(await detailsOf('default'), details)
  await service.makeProject('copy')
  const id = await service.database.pool.run(sql => requireProject(sql, 'copy'))
  const lines = await exportLines(service.database, 'default')
  t.match(await testImporter(t, service.database)(id, `${lines.join('\n')}\n`), { problems: [] })
  t.same(await detailsOf('copy'), details)
  for (const wrong of [{ cacheReadTokens: -1 }, { reasoningTokens: 0.5 }, { cacheWriteTokens: '9' }, { unknown: 1 }]) {
    const line = JSON.parse(lines[0] as string)
    line.recorded.callDetails = { ['0'.repeat(16)]: wrong }
    const { problems } = await testImporter(t, service.database)(id, `${JSON.stringify(line)}\n`)
    t.match(problems, [/must be an object of call details/], JSON.stringify(wrong))
  }
})
