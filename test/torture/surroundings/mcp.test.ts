/** Runs the public conformance suite of the Model Context Protocol. */
import { ENDPOINT } from '../../fixtures/service/mcp.ts'
import { testService } from '../../fixtures/service/service.ts'
import { authorisingProxy } from '../../plugins/mcp/authorising-proxy.ts'
import { runScenario, runSuite } from '../../plugins/mcp/conformance.ts'
import { CONFORMANCE_PATH, conformancePlugin } from '../../plugins/mcp/conformance-server.ts'
import { longTest } from '../orders.ts'

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

longTest('its transport passes all that a version demands, given the fixtures, but what it does not serve', async t => {
  const { url } = await testService(t, { plugins: [conformancePlugin] })
  for (const version of VERSIONS) {
    const { exitCode, output } = await runSuite(t, url + CONFORMANCE_PATH, version, NOT_SERVED[version])
    t.equal(exitCode, 0, `${version}: exactly the scenarios of the list fail`, { output })
  }
})
