/**
 * Runs the public conformance suite of the Model Context Protocol, and the SDKs for Python and Go. `npm test` uses both
 * generations of the SDK for TypeScript.
 */
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { ingestBody } from '../../fixtures/bodies/bodies.ts'
import { testFolder } from '../../fixtures/folder.ts'
import { ENDPOINT, mcpClient } from '../../fixtures/service/mcp.ts'
import { testService } from '../../fixtures/service/service.ts'
import { authorisingProxy } from '../../plugins/mcp/authorising-proxy.ts'
import { runScenario, runSuite } from '../../plugins/mcp/conformance.ts'
import { CONFORMANCE_PATH, conformancePlugin } from '../../plugins/mcp/conformance-server.ts'
import { figure, longTest } from '../orders.ts'
import { leave, missing, run, succeed } from '../packaging/programs.ts'

/** The newest version of each era of the protocol. */
const VERSIONS = ['2025-11-25', '2026-07-28'] as const

/**
 * Scenarios that suit any server. All other scenarios call tools, prompts and resources by name. If both versions have
 * a scenario that the same code handles, the scenario runs only in the newer version.
 */
const SCENARIOS = {
  '2025-11-25': ['server-initialize', 'ping', 'tools-list'],
  '2026-07-28': ['tools-list', 'http-header-validation', 'server-sse-multiple-streams', 'dns-rebinding-protection']
}

/** Scenarios that our endpoint cannot or need not serve, because it has no sessions and responds in JSON. */
const NOT_SERVED = {
  '2025-11-25': [
    // These scenarios expect messages before the response.
    'tools-call-with-logging',
    'tools-call-with-progress',
    // These scenarios expect requests from the server to the client. The client's responses would have to reach the
    // running call.
    'tools-call-sampling',
    'tools-call-elicitation',
    'elicitation-sep1034-defaults',
    'elicitation-sep1330-enums',
    // This scenario tests only servers with sessions, and warns about others. A warning passes if the scenario runs
    // alone, but counts as a failure in a list of expected failures.
    'server-sse-multiple-streams'
  ],
  '2026-07-28': [
    // These scenarios expect messages before the response, and streams of changes.
    'tools-call-with-progress',
    'server-stateless',
    // These scenarios call tools that ask the client for input.
    'input-required-result-basic-elicitation',
    'input-required-result-basic-sampling',
    'input-required-result-basic-list-roots',
    'input-required-result-request-state',
    'input-required-result-multiple-input-requests',
    'input-required-result-multi-round',
    'input-required-result-non-tool-request',
    'input-required-result-result-type',
    'input-required-result-tampered-state',
    'input-required-result-capability-check',
    // This scenario only warns. A warning counts as a failure in a list of expected failures.
    'input-required-result-missing-input-response',
    'input-required-result-ignore-extra-params'
  ]
}

longTest('the endpoint passes the scenarios of the conformance suite that need no fixtures', async t => {
  const proxy = await authorisingProxy(t)
  const { port, key } = await testService(t, { config: { allowedOrigins: [proxy.url] } })
  proxy.lead(port, key)
  for (const version of VERSIONS) {
    const runs = SCENARIOS[version].map(async scenario => {
      const { exitCode, output } = await runScenario(t, proxy.url + ENDPOINT, version, scenario)
      t.equal(exitCode, 0, `${version} ${scenario}`, { output })
    })
    await Promise.all(runs)
  }
})

longTest(
  'its transport passes all required scenarios of each version with the fixtures, except for unsupported features',
  async t => {
    const { url } = await testService(t, { plugins: [conformancePlugin] })
    for (const version of VERSIONS) {
      const { exitCode, output } = await runSuite(t, url + CONFORMANCE_PATH, version, NOT_SERVED[version])
      t.equal(exitCode, 0, `${version}: exactly the scenarios of the list fail`, { output })
    }
  }
)

const SDKS = fileURLToPath(new URL('../../../../test/torture/mcp-sdks', import.meta.url))
const PYTHON_SDK = 'mcp==2.3.0'
const GO_SDK = 'github.com/modelcontextprotocol/go-sdk@v1.8.0'
const READS = [
  'search_traces',
  'list_traces',
  'list_spans',
  'list_errors',
  'list_sessions',
  'list_users',
  'list_changes',
  'get_usage',
  'get_project'
]

longTest("Python's SDK lists the tools, calls the read tools, and reads the guide", async t => {
  const folder = await testFolder(t)
  const made = await run('python3', ['-m', 'venv', folder])
  const pip = await run(join(folder, 'bin/pip'), ['install', '-q', PYTHON_SDK])
  if (made.code !== 0 || pip.code !== 0) return leave("Python's MCP SDK", `${made.err}${pip.err}`.slice(-200))
  await checkSdk(t, (env, tools) => succeed(join(folder, 'bin/python'), [join(SDKS, 'client.py'), ...tools], { env }))
  figure("Python's MCP SDK", PYTHON_SDK)
})

longTest("Go's SDK lists the tools, calls the read tools, and reads the guide", async t => {
  const lacking = missing(['go'])
  if (lacking !== undefined) return leave("Go's MCP SDK", lacking)
  const cwd = await testFolder(t)
  await copyFile(join(SDKS, 'client.go'), join(cwd, 'main.go'))
  await succeed('go', ['mod', 'init', 'client'], { cwd })
  const { code, err } = await run('go', ['get', GO_SDK], { cwd })
  if (code !== 0) return leave("Go's MCP SDK", err.slice(-200))
  await succeed('go', ['mod', 'tidy'], { cwd })
  await checkSdk(t, (env, tools) => succeed('go', ['run', '.', ...tools], { cwd, env }))
  figure("Go's MCP SDK", GO_SDK)
})

type SdkProgram = (env: Readonly<Record<string, string>>, tools: readonly string[]) => Promise<string>

/** Compares what a program sees with what the SDK for TypeScript sees. */
async function checkSdk(t: Test, program: SdkProgram): Promise<void> {
  const service = await testService(t)
  const body = ingestBody()
  t.equal((await service.call('POST', '/api/v1/traces', { body })).status, 201)
  const { client } = await mcpClient(t, service)
  const output = JSON.parse(await program({ ENDPOINT: service.url + ENDPOINT, SPOOR_API_KEY: service.key }, READS))
  t.same(
    output.tools,
    (await client.listTools()).tools.map(({ name }) => name)
  )
  for (const name of READS) t.equal(output.results[name].isError, false, `${name}: ${output.results[name].text}`)
  t.match(output.results.search_traces.text, body.trace.id)
  const { contents } = await client.readResource({ uri: 'spoor://guide' })
  t.equal(output.guide, (contents as { text: string }[])[0]?.text)
}
