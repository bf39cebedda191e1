import t from 'tap'
import { ENDPOINT } from '../../fixtures/service/mcp.ts'
import { testService } from '../../fixtures/service/service.ts'
import { authorisingProxy } from './authorising-proxy.ts'
import { runScenario, runSuite } from './conformance.ts'
import { CONFORMANCE_PATH, conformancePlugin } from './conformance-server.ts'

/** What can be asked of any server. The others call tools, prompts and resources that they know by name. */
const SCENARIOS = ['server-initialize', 'ping', 'tools-list', 'server-sse-multiple-streams', 'dns-rebinding-protection']

/** What an endpoint that answers in JSON, without sessions, has no way to do. */
const NOT_IN_JSON = [
  // Messages that go out before the answer.
  'tools-call-with-logging',
  'tools-call-with-progress',
  // Requests from the server to the client, whose answers would have to find their way back to the call.
  'tools-call-sampling',
  'tools-call-elicitation',
  'elicitation-sep1034-defaults',
  'elicitation-sep1330-enums',
  // A stream that breaks off and is taken up again.
  'server-sse-polling',
  // Looks at servers with sessions only. At others it warns: a pass when it runs alone, a failure in a list of failures.
  'server-sse-multiple-streams'
]

t.test('the endpoint passes the scenarios of the conformance suite that need no fixtures', async t => {
  const proxy = await authorisingProxy(t)
  const { port, key } = await testService(t, { config: { allowedOrigins: [proxy.url] } })
  proxy.lead(port, key)
  const runs = SCENARIOS.map(async scenario => {
    const { exitCode, output } = await runScenario(t, proxy.url + ENDPOINT, scenario)
    t.equal(exitCode, 0, scenario, { output })
  })
  await Promise.all(runs)
})

t.test(
  'its transport passes all scenarios, given their fixtures, but those that need a stream or a session',
  async t => {
    const { url } = await testService(t, { plugins: [conformancePlugin] })
    const { exitCode, output } = await runSuite(t, url + CONFORMANCE_PATH, NOT_IN_JSON)
    t.equal(exitCode, 0, 'exactly the scenarios of the list fail', { output })
  }
)
