/** Runs the guide's programs that call models and send with OpenTelemetry. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { NODE } from '../fixtures/node.ts'
import { testService } from '../fixtures/service/service.ts'
import { compilePrograms, guideCode, readGuide } from '../plugins/docs/guide.ts'
import { ANSWER, CHAT_USAGE } from '../provider/facts.ts'
import { startProvider } from '../provider/provider.ts'

const run = promisify(execFile)
const MODULES = fileURLToPath(new URL('node_modules', import.meta.url))

t.test("the guide's programs send with OpenTelemetry, and call models", async t => {
  const { url, call, key } = await testService(t)
  const html = await readGuide(async path => (await call('GET', path)).text)
  const provider = await startProvider()
  t.teardown(provider.close)
  const folder = await compilePrograms(t, {
    ...openTelemetryPrograms(html),
    // tap's folder belongs to the root, where these libraries are not installed.
    node_modules: t.fixture('symlink', MODULES)
  })
  const [variables = ''] = guideCode(html, 'opentelemetry', 'console')
  t.match(variables, url, 'they name this server')
  const models = { OPENAI_BASE_URL: `${provider.url}/v1`, OPENAI_API_KEY: 'none' }
  for (const program of ['calls-openai', 'calls-ai-sdk']) {
    const command = `${variables}\nexec ${[...NODE, `${folder}/${program}.js`].join(' ')}`
    const { stdout, stderr } = await run('sh', ['-euc', command], {
      env: { ...process.env, ...models, SPOOR_API_KEY: key }
    })
    t.same([stderr, stdout], ['', `${ANSWER}\n`], program)
  }
  const { traces } = (await call('GET', '/api/v1/traces')).body
  t.match(traces, [
    { name: 'answer-question', sessionId: 'chat-1042', userId: 'customer-7', tags: ['support'] },
    { name: 'OpenAI Chat Completions' }
  ])
  for (const { usage } of traces) t.equal(usage.totalTokens, CHAT_USAGE.total)
})

/**
 * Returns the programs that send with OpenTelemetry. The AI SDK's program is the first program with different code
 * between the provider's setup and the program's end, as the guide says. The guide lets the reader choose the model, so
 * the test adds one.
 */
function openTelemetryPrograms(html: string): Record<string, string> {
  const [openAi = '', aiSdk = ''] = guideCode(html, 'opentelemetry', 'ts')
  const [head = ''] = openAi.split('const instrumentation')
  const [end = ''] = openAi.match(/await provider\.shutdown\(\)[\s\S]*/) ?? []
  const model = `import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
const model = createOpenAICompatible({ name: 'graz', baseURL: String(process.env.OPENAI_BASE_URL) })('gpt-4o-mini')
`
  return {
    'calls-openai.ts': openAi,
    'calls-ai-sdk.ts': `${head}${model}${aiSdk}\nconsole.log(text)\n${end}`
  }
}
