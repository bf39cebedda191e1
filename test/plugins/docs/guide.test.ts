import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { ingestBody } from '../../fixtures/bodies/bodies.ts'
import { NODE } from '../../fixtures/node.ts'
import { testService } from '../../fixtures/service/service.ts'
import { configurationFor, runForJson } from '../../fixtures/service/spoor.ts'
import { ANSWER } from '../../provider/facts.ts'
import { startProvider } from '../../provider/provider.ts'
import { compilePrograms, guideCode, guideExamples, readGuide } from './guide.ts'

const run = promisify(execFile)
const APPLICATIONS = 'plugins/docs/examples'
/** Line that marks the end of an example's output. */
const END = '-- end of the example --'

t.test("the guide's examples run as written", async t => {
  const { url, call, database, makeProject, makeKey } = await testService(t)
  const html = await readGuide(async path => (await call('GET', path)).text)
  const examples = guideExamples(html)
  t.equal(examples.length, html.split('<figure>').length - 1, 'all examples are found')

  const [create = '', keep = ''] = guideCode(html, 'key', 'console')
  const [npx, spoor, ...args] = create.split(' ')
  t.same([npx, spoor], ['npx', 'spoor'])
  const { key } = await runForJson(args, configurationFor(database))
  t.ok(key.startsWith(keep.slice(keep.indexOf('=') + 1).replace('…', '')), 'the key has the form in the guide')
  const env = { ...process.env, SPOOR_API_KEY: key }
  // The guide deletes the traces of this user.
  t.equal((await call('POST', '/api/v1/traces', { key, body: ingestBody({ userId: 'customer-8' }) })).status, 201)

  t.test('in curl, with the responses shown', async t => {
    for (const tool of ['curl', 'openssl']) {
      if (await isInstalled(tool)) continue
      t.comment(`${tool} is not installed: the curl examples were not run.`)
      return
    }
    for (const { title, sh, answer } of examples) {
      t.match(sh, url, `${title} names this server`)
      const { stdout } = await run('sh', ['-euc', sh], { env })
      const answers = stdout.split(/(?<=\})(?=\{)/).map(text => JSON.parse(text))
      for (const { error } of answers) t.equal(error, undefined, title)
      if (answer !== undefined) t.same(shapeOf(answers.at(-1)), shapeOf(JSON.parse(answer)), title)
    }
  })

  t.test('in TypeScript', async t => {
    const sources = examples.map(({ ts }, place) => [`example-${place}.ts`, ts])
    // One process runs all examples, because each process takes seconds to start when other tests use the cores.
    const all = examples.map((_, place) => `await import('./example-${place}.js')\nconsole.log('${END}')`).join('\n')
    const programs = {
      ...Object.fromEntries(sources),
      ...clientPrograms(html),
      ...applications(),
      'all.js': all
    }
    const folder = await compilePrograms(t, programs)
    const { stdout, stderr } = await run(NODE[0], [...NODE.slice(1), `${folder}/all.js`], { env })
    t.equal(stderr, '')
    const outputs = stdout.split(`${END}\n`)
    for (const [place, { title, ts }] of examples.entries()) {
      t.match(ts, url, `${title} names this server`)
      t.not(outputs[place], '', `${title} prints its result`)
      t.notMatch(outputs[place], /\berror: /, title)
    }

    t.test('with the client', async t => {
      const provider = await startProvider()
      t.teardown(provider.close)
      await makeProject('client')
      const own = await makeKey({ project: 'client' })
      const models = { OPENAI_BASE_URL: `${provider.url}/v1`, OPENAI_API_KEY: 'none' }
      const to = { SPOOR_URL: url, SPOOR_API_KEY: own.key, SPOOR_SPOOL: `${folder}/spool` }
      const all = [
        ...NODE.slice(1),
        '--input-type=module',
        '-e',
        `for (const name of ${JSON.stringify(CLIENT_EXAMPLES)})
        await import('${folder}/client-' + name + '.js')`
      ]
      const { stdout, stderr } = await run(NODE[0], all, { env: { ...env, ...models, ...to } })
      t.equal(stderr, '')
      t.equal(stdout, CLIENT_SAYS)
      const { traces } = (await call('GET', '/api/v1/traces', { key: own.key })).body
      t.same(traces.map(({ name }: { name: string }) => name).sort(), [
        ...['answer', 'caller', 'openai.chat', 'support-agent']
      ])
      t.equal(
        traces.find(({ name }: { name: string }) => name === 'caller').spanCount,
        3,
        'the called service is part of it'
      )
    })
  })

  t.test('and leave only the streamed traces behind', async t => {
    const { traces } = (await call('GET', '/api/v1/traces')).body
    const firstTraces = traces.filter(({ name }: { name: string }) => name === 'first-trace')
    t.same(firstTraces.length, 2, 'one from curl, one from TypeScript')
    for (const { name, status, spanCount } of traces) {
      if (name === 'first-trace') continue
      t.same([name, status, spanCount], ['draft-newsletter', 'ok', 1])
    }
  })
})

/** Names for the examples in the chapter about clients, in the chapter's order. CLIENT_SAYS is their output. */
const CLIENT_EXAMPLES = ['short', 'more', 'models', 'server', 'read']
const CLIENT_SAYS = `You asked: Where is my order?
Good day 1 0 [] []
${ANSWER}
[]
support-agent ok true
[ 'search', 'model' ]
`

function clientPrograms(html: string): Record<string, string> {
  const sources = guideCode(html, 'client', 'ts')
  return Object.fromEntries(CLIENT_EXAMPLES.map((name, i) => [`client-${name}.ts`, sources[i] ?? '']))
}

/**
 * Returns the complete applications, which applications.test.ts runs. The LangGraph application is compiled in
 * test/libraries, next to its packages.
 */
function applications(): Record<string, string> {
  const names = readdirSync(APPLICATIONS).filter(name => name.endsWith('.ts') && !name.startsWith('langgraph'))
  return Object.fromEntries(
    names.map(name => [`application-${name}`, readFileSync(join(APPLICATIONS, name), 'utf8')] as const)
  )
}

async function isInstalled(tool: string): Promise<boolean> {
  return run(tool, ['--version']).then(
    () => true,
    error => error.code !== 'ENOENT'
  )
}

/** Returns a value's shape: the names of its fields, with types instead of values. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOf)
  if (typeof value !== 'object' || value === null) return value === null ? 'null' : typeof value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, shapeOf(each)]))
}
