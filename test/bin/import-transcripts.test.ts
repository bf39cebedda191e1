/** Tests imports of transcripts from Claude Code 2.1.332 and Codex 0.171.0, into a database and through a server. */
import { once } from 'node:events'
import { appendFile, cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { testFolder } from '../fixtures/folder.ts'
import { type TestService, testService } from '../fixtures/service/service.ts'
import { configurationFor, jsonHere, runHere, start } from '../fixtures/service/spoor.ts'
import { until } from '../fixtures/until.ts'

const TRANSCRIPTS = fileURLToPath(new URL('../../../test/fixtures/transcripts/', import.meta.url))
const CLAUDE = join(TRANSCRIPTS, 'claude-code-2.1.332')
const CODEX = join(TRANSCRIPTS, 'codex-0.171.0')
const SESSION = '21fe3e95-fef3-4cad-be50-3f6f243d99fe'
const FIRST = join('-home-dev-project', `${SESSION}.jsonl`)

// biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary members of responses.
type Any = any

t.test('OTLP_TAGS applies to imported transcripts', async t => {
  const service = await testService(t)
  const env = { ...configurationFor(service.database), OTLP_TAGS: 'service.name,gen_ai.tool.name' }
  await jsonHere(['import', '--format', 'claude-code', join(CLAUDE, FIRST), '--project', 'default'], env)
  const traces = await tracesOf(service)
  t.ok(traces.length > 0)
  for (const { tags } of traces) t.ok(tags.includes('service.name:claude-code'), tags.join())
  t.ok(traces.some(({ tags }) => tags.includes('gen_ai.tool.name:Bash')))
})

const remote = ({ url, key }: TestService) => ({ SPOOR_URL: url, SPOOR_API_KEY: key })

async function tracesOf(service: TestService): Promise<Any[]> {
  const { traces } = (await service.call('GET', '/api/v1/traces?limit=100')).body
  const whole = await Promise.all(traces.map(({ id }: Any) => service.call('GET', `/api/v1/traces/${id}`)))
  return whole
    .map(({ body }) => ({ ...body.trace, spans: body.spans }))
    .sort((a, b) => (a.startedAt < b.startedAt ? -1 : 1))
}

const outline = ({ spans }: Any): string[] => {
  const nameOf = (id: string | null) => spans.find((span: Any) => span.id === id)?.name ?? '-'
  return spans
    .map(({ kind, name, status, parentSpanId }: Any) => `${nameOf(parentSpanId)} > ${kind} ${name} ${status}`)
    .sort()
}

t.test(
  'Claude Code transcripts are imported into the database, and sending them again through a server yields duplicates',
  async t => {
    const service = await testService(t)
    const env = configurationFor(service.database)
    const args = ['import', '--format', 'claude-code', CLAUDE]
    const first = await runHere([...args, '--project', 'default', '--json'], env)
    t.match(first, { code: 0, err: '' })
    const counts = JSON.parse(first.out)
    t.match(counts, { files: 6, prompts: 9, refused: 0, broken: 0, open: 0 })
    const traces = await tracesOf(service)
    t.equal(traces.length, 9)
    const bodies = traces.map(({ bodyHash }) => bodyHash)

    const [hello, subagent] = traces.filter(({ sessionId }) => sessionId === SESSION)
    t.match(hello, {
      ...{ name: 'claude-code', status: 'ok', spanCount: 7, errorCount: 1 },
      ...{ model: 'claude-sonnet-4-5', provider: 'anthropic' },
      startedAt: '2026-11-27T03:17:24.288Z',
      endedAt: '2026-11-27T03:17:25.150Z',
      usage: { inputTokens: 3 * 18_900 + 12 + 16 + 18, outputTokens: 42 + 46 + 48 },
      input: [{ role: 'user', parts: [{ type: 'text', content: 'Say hello with the shell.' }] }],
      output: [{ role: 'assistant', parts: [{ type: 'text', content: 'The tool said hello.' }] }],
      metadata: { cwd: '/home/dev/project', gitBranch: 'main', version: '2.1.332' }
    })
    t.same(outline(hello), [
      '- > agent claude-code ok',
      'claude-code > llm chat claude-sonnet-4-5 ok',
      'claude-code > llm chat claude-sonnet-4-5 ok',
      'claude-code > llm chat claude-sonnet-4-5 ok',
      'claude-code > tool Bash error',
      'claude-code > tool Bash ok',
      'claude-code > tool Bash ok'
    ])
    t.same(outline(subagent), [
      '- > agent claude-code ok',
      'Agent > agent general-purpose ok',
      'claude-code > llm chat claude-sonnet-4-5 ok',
      'claude-code > llm chat claude-sonnet-4-5 ok',
      'claude-code > tool Agent ok',
      'general-purpose > llm chat claude-sonnet-4-5 ok',
      'general-purpose > llm chat claude-sonnet-4-5 ok',
      'general-purpose > tool Bash ok'
    ])
    const failed = hello.spans.find(({ status }: Any) => status === 'error')
    t.match(failed, {
      input: { command: 'cat missing.txt', description: 'Read a file' },
      output: 'Exit code 1\ncat: missing.txt: No such file or directory',
      attributes: { 'gen_ai.tool.call.id': 'toolu_000000000000000000000005' }
    })

    t.match(await runHere(args, { ...env, ...remote(service) }), {
      code: 0,
      out: /^6 transcripts read: 9 prompts, \d+ steps\n$/,
      err: ''
    })
    t.same(
      (await tracesOf(service)).map(({ bodyHash }) => bodyHash),
      bodies,
      'nothing has changed'
    )
  }
)

t.test('Codex transcripts are imported through a server, including forks and subagents', async t => {
  const service = await testService(t)
  const counts = await jsonHere(['import', '--format', 'codex', CODEX], remote(service))
  t.match(counts, { files: 3, prompts: 4, refused: 0, broken: 0, open: 0 })
  const traces = await tracesOf(service)
  t.match(traces[0], {
    ...{ name: 'codex', status: 'ok', errorCount: 1, model: 'gpt-5', provider: 'loopback' },
    sessionId: '01a21b02-6f91-7b71-b861-5a4dc16de2f3',
    usage: { inputTokens: 17_004 + 17_010 + 17_013, outputTokens: 104 + 110 + 113 },
    output: [{ role: 'assistant', parts: [{ type: 'text', content: 'The tool said hello.' }] }],
    metadata: { cwd: '/home/dev/project', gitBranch: 'main', version: '0.171.0' }
  })
  t.same(outline(traces[0]), [
    '- > agent codex ok',
    'codex > llm chat gpt-5 ok',
    'codex > llm chat gpt-5 ok',
    'codex > llm chat gpt-5 ok',
    'codex > tool exec_command error',
    'codex > tool exec_command ok',
    'codex > tool exec_command ok'
  ])
  t.same(outline(traces[3]), [
    '- > agent codex ok',
    'Volta > llm chat gpt-5 ok',
    'Volta > llm chat gpt-5 ok',
    'Volta > tool exec_command ok',
    'codex > agent Volta ok',
    'codex > llm chat gpt-5 ok',
    'codex > llm chat gpt-5 ok',
    'codex > llm chat gpt-5 ok',
    'codex > tool exec_command ok',
    'codex > tool multi_agent_v1.spawn_agent ok'
  ])
  t.equal(traces[3].usage.inputTokens, 17_007 + 17_011 + 17_021 + 17_015 + 17_018)
})

t.test("a session's transcript and log records form one trace, whichever arrives first", async t => {
  const folder = join(TRANSCRIPTS, '..', 'both-ways', 'claude-code-2.1.332')
  const { requests } = JSON.parse(await readFile(join(folder, 'logs.json'), 'utf8'))
  const seen: string[][] = []
  for (const order of ['records', 'transcript']) {
    const service = await testService(t)
    const sendRecords = async () => {
      for (const body of requests) t.equal((await service.call('POST', '/api/v1/otlp/v1/logs', { body })).status, 200)
    }
    if (order === 'records') await sendRecords()
    const counts = await jsonHere(['import', '--format', 'claude-code', join(folder, 'session.jsonl')], remote(service))
    t.match(counts, { prompts: 1, steps: 7, refused: 0 })
    if (order === 'transcript') await sendRecords()
    const traces = await tracesOf(service)
    t.match(traces, [{ status: 'ok', spanCount: 7, costUsd: 0.028503 }], order)
    t.match(traces[0].usage, { inputTokens: 3 * 18_900 + 46, outputTokens: 136 })
    seen.push(outline(traces[0]))
  }
  t.same(seen[0], seen[1])
})

t.test('a transcript that has grown adds the rest, and is complete at the end', async t => {
  const service = await testService(t)
  const env = configurationFor(service.database)
  const file = join(await testFolder(t), 'session.jsonl')
  const lines = (await readFile(join(CLAUDE, FIRST), 'utf8')).trim().split('\n')
  const importNow = (project: string) =>
    jsonHere(['import', '--project', project, '--format', 'claude-code', file], env)
  for (let end = 3; end < lines.length; end += 5) {
    await writeFile(file, `${lines.slice(0, end).join('\n')}\n`)
    t.match(await importNow('default'), { refused: 0, broken: 0 })
  }
  await writeFile(file, `${lines.join('\n')}\n`)
  t.match(await importNow('default'), { refused: 0, broken: 0, open: 0, prompts: 3 })
  const grown = await tracesOf(service)
  await service.makeProject('whole')
  const { key } = await service.makeKey({ project: 'whole' })
  await importNow('whole')
  const whole = await tracesOf({ ...service, call: (method, path) => service.call(method, path, { key }) })
  t.equal(whole.length, 3)
  t.same(
    grown.map(({ bodyHash }) => bodyHash),
    whole.map(({ bodyHash }) => bodyHash)
  )
})

t.test('--follow sends new steps until it is interrupted', async t => {
  const service = await testService(t)
  const folder = await testFolder(t)
  const file = join(folder, FIRST)
  await mkdir(dirname(file))
  const lines = (await readFile(join(CLAUDE, FIRST), 'utf8')).trim().split('\n')
  const second = lines.findIndex(line => line.includes('"turnIndex":2'))
  const child = start(['import', '--format', 'claude-code', '--follow', folder], remote(service))
  let out = ''
  child.stdout.setEncoding('utf8').on('data', text => {
    out += text
  })
  const count = async () => (await service.call('GET', '/api/v1/traces')).body.traces.length
  await writeFile(file, `${lines.slice(0, second).join('\n')}\n${lines[second]!.slice(0, 40)}`)
  await until(async () => (await count()) === 1)
  await appendFile(file, `${lines[second]!.slice(40)}\n${lines.slice(second + 1).join('\n')}\n`)
  await until(async () => (await count()) === 3)
  await cp(join(CODEX, '..', 'claude-code-2.1.332', '-home-dev-project'), join(folder, 'other'), { recursive: true })
  await until(async () => (await count()) === 9)
  child.kill('SIGINT')
  const [code] = await once(child, 'close')
  t.equal(code, 0)
  t.match(out, /^7 transcripts read: 9 prompts/)
})

t.test('unreadable or unstorable lines are reported, and stop nothing else', async t => {
  const service = await testService(t)
  const env = configurationFor(service.database)
  const folder = await testFolder(t)
  await cp(join(CLAUDE, FIRST), join(folder, 'a.jsonl'))
  await appendFile(join(folder, 'a.jsonl'), `{"type":"us\n\n${'['.repeat(100_000)}\n`)
  const args = ['import', '--format', 'claude-code', folder]
  t.match(await runHere([...args, '--project', 'default'], env), {
    code: 1,
    out: /^1 transcript read: 3 prompts, \d+ steps, 2 broken lines\n$/,
    err: /^(?:.*a\.jsonl:\d+: the line is not a JSON object, or is .*\n){2}spoor: 2 lines could not be imported: .*\n$/
  })
  const { key } = await service.makeKey({ environment: 'prod' })
  t.match(await runHere(args, { SPOOR_URL: service.url, SPOOR_API_KEY: key }), {
    code: 1,
    out: /, \d+ rejected, 2 broken lines/,
    err: /refused: .*environment/
  })
  t.match(await runHere(args, env), { code: 2, err: /--project is missing: add it, or set SPOOR_URL/ })
  t.match(await runHere(args, { SPOOR_URL: service.url }), { code: 1, err: /there is no key: set SPOOR_API_KEY/ })
  t.match(await runHere(args, { SPOOR_URL: service.url, SPOOR_API_KEY: 'none' }), {
    code: 1,
    err: /rejects the key: 401/
  })
  await rm(join(folder, 'a.jsonl'))
  t.match(await runHere([...args, '--project', 'default'], env), { code: 1, err: /there are no transcripts in / })
  t.match(await runHere([...args.slice(0, 3), `${folder}/none`, '--project', 'default'], env), {
    code: 1,
    err: /cannot read .*none: there is no such file or folder/
  })
  t.match(await runHere(['import', '--follow', '--project', 'default', folder], env), {
    code: 2,
    err: /--follow needs --format claude-code or codex/
  })
})

t.test('an export that the server cannot accept is resent after the requested delay', async t => {
  const service = await testService(t)
  const url = await refusing(t, service)
  t.match(await runHere(['import', '--format', 'codex', CODEX], { ...remote(service), SPOOR_URL: url }), {
    code: 0,
    err: /cannot accept the export now: 429/
  })
  t.equal((await tracesOf(service)).length, 4)
})

t.test('Ctrl-C ends an import that is waiting for its server', async t => {
  const server = createServer((_, response) => response.writeHead(503, { 'retry-after': '60' }).end())
  server.listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const child = start(['import', '--format', 'codex', CODEX], { SPOOR_URL: url, SPOOR_API_KEY: 'none' })
  let err = ''
  child.stderr.setEncoding('utf8').on('data', text => {
    err += text
  })
  await until(() => err.includes('cannot accept the export now'))
  child.kill('SIGINT')
  const [code] = await once(child, 'close')
  t.equal(code, 130)
  t.match(err, /spoor: interrupted: 0 steps sent so far; run the command again to continue\n$/)
})

/** Starts a proxy to the service. The proxy answers the first two requests with 429 and 503. */
async function refusing(t: Test, { url }: TestService): Promise<string> {
  const statuses = [429, 503]
  const server = createServer(async (request, response) => {
    const status = statuses.shift()
    const body = await bodyOf(request)
    if (status !== undefined) {
      response.writeHead(status, { 'retry-after': '0', 'content-type': 'application/json' })
      response.end(JSON.stringify({ ok: false, error: { code: 'unavailable', message: 'later' } }))
      return
    }
    const { authorization = '', 'content-type': type = '' } = request.headers
    const answer = await fetch(url + request.url, {
      ...{ method: 'POST', body },
      headers: { authorization, 'content-type': type }
    })
    response.writeHead(answer.status, { 'content-type': 'application/json' })
    response.end(await answer.text())
  })
  server.listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request) text += chunk
  return text
}
