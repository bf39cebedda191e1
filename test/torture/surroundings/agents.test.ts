/**
 * Tests spoor's MCP endpoint with real coding agents. The agents come from npm and run as they do for people, except
 * for their model: the provider of test/provider calls spoor's tools and keeps the results.
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { AT, endBody, hexId, span, spansBody, startBody } from '../../fixtures/bodies/bodies.ts'
import { testFolder } from '../../fixtures/folder.ts'
import { ENDPOINT, mcpClient } from '../../fixtures/service/mcp.ts'
import { type TestService, testService } from '../../fixtures/service/service.ts'
import { jsonHere } from '../../fixtures/service/spoor.ts'
import { CODING_AGENTS, type CodingAgent } from '../coding-agents/coding-agents.ts'
import { type Call, installAgents, runAgent } from '../coding-agents/run.ts'
import { figure, isLong, longTest } from '../orders.ts'

/** In these words, an outline refers to the rest of the trace. */
const WAY_ON = 'call get_trace with spanIds'
/** The error of a failed step. */
const DECLINED = 'the card was declined'
const TIMES = { from: '2020-01-01T00:00:00Z', to: '2030-01-01T00:00:00Z' }
/** The text of a result contains this unpaired surrogate unchanged. `structuredContent` contains U+FFFD instead. */
const HALF_EMOJI = '\ud83d'

const installed = isLong ? await installAgents() : { missing: 'only `npm run torture` installs them' }
if (isLong && 'missing' in installed) figure('agents', `not looked at: npm cannot install them: ${installed.missing}`)

if ('modules' in installed) {
  const { modules } = installed
  const service = await testService(t)
  const tools = await (await mcpClient(t, service)).toolNames()
  const text = hexId(2500)
  const short = span({ name: 'short', output: text })
  const small = await recordTrace(service, [span({ input: HALF_EMOJI, output: text })])
  const large = await recordTrace(service, [short, ...Array.from({ length: 39 }, longSpan)])
  const failed = span({
    ...{ name: 'charge_card', kind: 'tool', status: 'error', attributes: { 'error.type': 'CardError' } },
    events: [{ name: 'exception', timestamp: AT, attributes: { 'exception.message': DECLINED } }]
  })
  const broken = await recordTrace(service, [failed])
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
          { tool: 'get_trace', input: { traceId: large, detail: 'full' } },
          { tool: 'search_traces', input: { errors: true, stepKind: 'tool' } },
          { tool: 'list_errors', input: TIMES },
          { tool: 'search_traces', input: { step: 'chargeCard' } },
          { tool: 'get_usage', input: { by: 'step', ...TIMES } },
          ...readGuide(agent)
        ]
      )
      t.equal(code, 0, 'it comes to its end', { output })
      const missing = tools.filter(tool => !offered.has(agent.toolName(tool)))
      t.same(missing, [], 'the model is offered each tool', { offered: [...offered] })
      const [whole = '', outline = '', chosen = '', full = '', ...asked] = results
      const [found = '', errors = '', nothing = '', usage = ''] = asked
      figure(`${agent.name} ${agent.version}`, `reads ${partsRead(whole)}, ${cutOf(outline)}; ${cutOf(full)}`)
      t.ok(whole.includes(text), 'a small trace arrives whole', { whole })
      t.equal(partsRead(whole), agent.reads, 'the parts of a result that the agent reads')
      t.ok(outline.includes('"detail":"outline"'), 'of a large one the model gets the outline', { outline })
      t.ok(outline.includes(WAY_ON) && isEnded(outline, '"scoreCount":0}'), 'whole, with the way on', { outline })
      t.ok(chosen.includes(text), 'a span of it arrives whole', { chosen })
      if (agent.reads === 'text') t.ok(full.includes(WAY_ON), 'asked for in full, it comes as an outline too', { full })
      t.ok(found.includes(broken) && found.includes(DECLINED), 'a search names the run and its error', { found })
      t.ok(errors.includes('CardError') && errors.includes(broken), 'failures are grouped, with an example', { errors })
      t.ok(nothing.includes('The nearest') && nothing.includes('charge_card'), 'a wrong name gets a hint', { nothing })
      t.ok(usage.includes('charge_card'), 'sums by step', { usage })
      if (agent.guide !== undefined) {
        t.ok(asked[4]?.includes('which tool answers which question'), 'it reads the guide', { guide: asked[4] })
      }
      if (agent.transcripts === undefined) return
      const [format, kept] = agent.transcripts
      const env = { SPOOR_URL: service.url, SPOOR_API_KEY: service.key }
      const counts = await jsonHere(['import', '--format', format, join(home, kept)], env)
      // The prompt, the tool calls, and one model call more than these.
      t.match(
        counts,
        { prompts: 1, steps: 2 * results.length + 2, refused: 0, broken: 0, open: 0 },
        'its transcript is imported'
      )
    })
  }
}

function readGuide({ guide }: CodingAgent): Call[] {
  return guide === undefined ? [] : [{ tool: guide[0], isOwn: true, input: guide[1] }]
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
