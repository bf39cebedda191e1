/**
 * Tests spoor's MCP endpoint with real coding agents. The agents come from npm and run as they do for people, except
 * for their model: the provider of test/provider calls spoor's tools and keeps the results.
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { endBody, hexId, span, spansBody, startBody } from '../../fixtures/bodies/bodies.ts'
import { testFolder } from '../../fixtures/folder.ts'
import { ENDPOINT, mcpClient } from '../../fixtures/service/mcp.ts'
import { type TestService, testService } from '../../fixtures/service/service.ts'
import { jsonHere } from '../../fixtures/service/spoor.ts'
import { CODING_AGENTS, type CodingAgent } from '../coding-agents/coding-agents.ts'
import { installAgents, runAgent } from '../coding-agents/run.ts'
import { figure, isLong, longTest } from '../orders.ts'

/** In these words, an outline refers to the rest of the trace. */
const WAY_ON = 'call get_trace with spanIds'
/** The text of a result contains this unpaired surrogate unchanged. `structuredContent` contains U+FFFD instead. */
const HALF_EMOJI = '\ud83d'

const installed = isLong ? await installAgents() : { missing: 'only `npm run torture` installs them' }
if (isLong && 'missing' in installed) figure('agents', `not looked at: npm cannot install them: ${installed.missing}`)

if ('modules' in installed) {
  const { modules } = installed
  const service = await testService(t)
  const tools = await (await mcpClient(t, service)).toolNames()
  const text = hexId(4000)
  const short = span({ name: 'short', output: text })
  const small = await recordTrace(service, [span({ input: HALF_EMOJI, output: text })])
  const large = await recordTrace(service, [short, ...Array.from({ length: 39 }, longSpan)])
  const folder = await testFolder(t)

  for (const agent of CODING_AGENTS) {
    longTest(`${agent.name} ${agent.version}`, async t => {
      const home = join(folder, agent.npm.replaceAll('/', '+'))
      await mkdir(home)
      const { code, output, offered, results } = await runAgent(
        agent,
        { modules, home, mcp: service.url + ENDPOINT, key: service.key },
        [
          { tool: 'get_trace', input: { traceId: small } },
          { tool: 'get_trace', input: { traceId: large } },
          { tool: 'get_trace', input: { traceId: large, spanIds: [short.id] } },
          { tool: 'get_trace', input: { traceId: large, detail: 'full' } }
        ]
      )
      t.equal(code, 0, 'it comes to its end', { output })
      const missing = tools.filter(tool => !offered.has(agent.toolName(tool)))
      t.same(missing, [], 'the model is offered each tool', { offered: [...offered] })
      const [whole = '', outline = '', chosen = '', full = ''] = results
      figure(`${agent.name} ${agent.version}`, `reads ${partsRead(whole)}, ${cutOf(outline)}; ${cutOf(full)}`)
      t.ok(whole.includes(text), 'a small trace arrives whole', { whole })
      t.equal(partsRead(whole), agent.reads, 'the parts of a result that it reads')
      t.ok(outline.includes('"detail":"outline"'), 'of a large one the model gets the outline', { outline })
      if (agent.previews) t.match(outline, /Saved to: \//, 'its beginning, and the name of a file')
      else t.ok(outline.includes(WAY_ON) && isEnded(outline, '"scoreCount":0}'), 'whole, with the way on', { outline })
      t.ok(chosen.includes(text), 'a span of it arrives whole', { chosen })
      if (agent.reads === 'text') t.ok(full.includes(WAY_ON), 'asked for in full, it comes as an outline too', { full })
      if (agent.transcripts === undefined) return
      const [format, kept] = agent.transcripts
      const env = { SPOOR_URL: service.url, SPOOR_API_KEY: service.key }
      const counts = await jsonHere(['import', '--format', format, join(home, kept)], env)
      // The prompt, five model calls, and four tool calls.
      t.match(counts, { prompts: 1, steps: 10, refused: 0, broken: 0, open: 0 }, 'its transcript is imported')
    })
  }
}

function longSpan(_: unknown, i: number) {
  return span({ name: `long ${i}`, output: hexId(50_000) })
}

async function recordTrace({ call }: TestService, spans: readonly object[]): Promise<string> {
  const body = startBody()
  const path = `/api/v1/traces/${body.trace.id}`
  await call('POST', '/api/v1/traces', { body })
  for (let i = 0; i < spans.length; i += 5) {
    await call('POST', `${path}/spans`, { body: spansBody(...spans.slice(i, i + 5)) })
  }
  await call('POST', `${path}/end`, { body: endBody() })
  return body.trace.id
}

function partsRead(result: string): CodingAgent['reads'] | 'neither' {
  const isText = result.includes('"\\ud83d"')
  const isStructured = result.includes('"\ufffd"')
  if (isText && isStructured) return 'both'
  return isText ? 'text' : isStructured ? 'structuredContent' : 'neither'
}

/** Returns whether a string ends with `end`, apart from a suffix that an agent may add. */
const isEnded = (text: string, end: string): boolean => text.slice(-end.length - 100).includes(end)

const cutOf = (result: string): string =>
  `${result.length} characters${result.includes(WAY_ON) ? ' with the way to the rest' : ''}`
