/**
 * Installs the package spoor-client in a fresh project: it has no dependencies, its types compile under each setting of
 * TypeScript, and its builds record and send. test/libraries tries the runtimes and bundlers that take longer.
 */
import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type BuildOptions, build, transformSync } from 'esbuild'
import t, { type Test } from 'tap'
import { testFolder } from '../../fixtures/folder.ts'
import { NODE } from '../../fixtures/node.ts'
import { ANSWER } from '../../provider/facts.ts'
import { startProvider } from '../../provider/provider.ts'
import { installGenerators } from '../../sdks/install.ts'

const PACKAGE = 'build/spoor-client'
const COMPILER = join(installGenerators(), 'typescript/bin/tsc')
const manifest = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8'))
const own = JSON.parse(readFileSync('package.json', 'utf8'))

/** Returns a project with the packed package, and the size of the tarball in bytes. */
async function project(t: Test) {
  const folder = await testFolder(t)
  const [packed] = JSON.parse(npm(PACKAGE, 'pack', '--json', '--pack-destination', folder))
  writeFileSync(join(folder, 'package.json'), '{ "name": "application", "private": true }')
  npm(folder, 'install', '--offline', '--no-audit', '--no-fund', '--ignore-scripts', `./${packed.filename}`)
  return { folder, bytes: statSync(join(folder, packed.filename)).size }
}

const npm = (cwd: string, ...args: string[]) => execFileSync('npm', args, { cwd, encoding: 'utf8' })
/** Runs a program without blocking the server in this process, and returns what it prints. */
async function runNode(cwd: string, file: string, env: object = {}): Promise<string> {
  const [command, ...rest] = NODE
  const { stdout, stderr } = await promisify(execFile)(command, [...rest, file], {
    cwd,
    env: { ...process.env, ...env }
  })
  return stderr + stdout
}

/** A server that accepts every trace, and the names of the traces that it has accepted. */
async function takingServer(t: Test) {
  const taken: string[] = []
  const server = createServer(async (request, response) => {
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString() || '{}')
    if (body.trace !== undefined) taken.push(body.trace.name)
    response.writeHead(201, { 'content-type': 'application/json' }).end('{"ok":true}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, taken }
}

const program = (name: string, load: (module: string) => string) => `
${load('spoor-client')}
const spoor = new client.Spoor({ key: 'k', spool: false })
const traced = async () => spoor.trace('${name}', async () => {
  await new Promise(resolve => setTimeout(resolve, 1))
  return spoor.span('step', () => (spoor.current() === undefined ? 'apart' : 'nested'))
})
traced().then(async nested => console.log(nested, JSON.stringify(await spoor.flush({ timeoutMs: 5000 }))))
`
const imported = (module: string) => `import * as client from '${module}'`
const required = (module: string) => `const client = require('${module}')`
const SENT = 'nested {"sent":1,"lost":[],"lostCount":0,"problems":[],"kept":0}\n'

t.test('the package is self-contained', async t => {
  const { folder, bytes } = await project(t)
  const { url, taken } = await takingServer(t)

  t.test('one package of less than 1 MB, with the server’s version', async t => {
    t.same(
      readdirSync(join(folder, 'node_modules')).filter(name => !name.startsWith('.')),
      ['spoor-client']
    )
    t.equal(manifest.dependencies, undefined)
    t.equal(manifest.version, own.version)
    t.ok(bytes < 200_000, `${bytes}`)
    const installed = join(folder, 'node_modules/spoor-client')
    const files = readdirSync(installed, { recursive: true, encoding: 'utf8' })
    const total = files.map(name => statSync(join(installed, name))).reduce((sum, { size }) => sum + size, 0)
    t.ok(total < 1_000_000, `${total}`)
  })

  t.test('spoor/client is the same package, and importing spoor explains this', async t => {
    const server = 'spoor'
    await t.rejects(import(server), { message: /In applications, import spoor-client/ })
    for (const [entry, conditions] of Object.entries<Record<string, unknown>>(own.exports)) {
      if (!entry.startsWith('./client')) continue
      const name = { './client': '.', './client/*': './openai' }[entry] ?? entry.replace('./client', '.')
      const alias = JSON.stringify(conditions).replaceAll('build/spoor-client/', '').replaceAll('wrap/*', 'wrap/openai')
      t.same(JSON.parse(alias), manifest.exports[name], entry)
    }
  })

  t.test('sends from ESM and CommonJS, and from bundles of both', async t => {
    const files: string[] = []
    for (const [name, load] of [
      ['m.mjs', imported],
      ['c.cjs', required]
    ] as const) {
      writeFileSync(join(folder, name), program(name, load))
      files.push(name)
      for (const format of ['esm', 'cjs'] as const) {
        const outfile = join(folder, `bundle-${name}-${format}.${format === 'esm' ? 'mjs' : 'cjs'}`)
        await build({ entryPoints: [join(folder, name)], bundle: true, platform: 'node', format, outfile })
        files.push(outfile)
      }
    }
    for (const file of files) t.equal(await runNode(folder, file, { SPOOR_URL: url }), SENT, file)
    t.equal(taken.length, files.length)
  })

  t.test('sends from a bundle without Node’s modules, and refuses to run in a browser', async t => {
    const entry = join(folder, 'm.mjs')
    for (const [condition, file] of [
      ['workerd', 'edge.mjs'],
      ['browser', 'page.mjs']
    ] as const) {
      const outfile = join(folder, file)
      const options = {
        bundle: true,
        platform: 'neutral',
        format: 'esm',
        conditions: [condition]
      } satisfies BuildOptions
      await build({ ...options, mainFields: [], entryPoints: [entry], outfile })
      t.notMatch(readFileSync(outfile, 'utf8'), /from ["']node:/, 'no Node module is imported')
    }
    t.equal(await runNode(folder, 'edge.mjs', { SPOOR_URL: url }), SENT)
    const page = readFileSync(join(folder, 'page.mjs'), 'utf8')
    writeFileSync(join(folder, 'page.mjs'), `globalThis.document = {}\n${page}`)
    t.match(
      await runNode(folder, 'page.mjs', { SPOOR_URL: url }),
      'nothing is recorded: a browser shows the key to its users'
    )
  })

  t.test('the README’s examples run as written', async t => {
    const readme = readFileSync('clients/typescript/README.md', 'utf8')
    const examples = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code = '']) => code)
    t.equal(examples.length, 4)
    const provider = await startProvider()
    t.teardown(() => provider.close())
    symlinkSync(join(process.cwd(), 'node_modules/openai'), join(folder, 'node_modules/openai'))
    const model = { OPENAI_BASE_URL: `${provider.url}/v1`, OPENAI_API_KEY: 'k' }
    const said: string[] = []
    for (const [place, code] of examples.entries()) {
      writeFileSync(join(folder, `readme-${place}.mjs`), transformSync(code, { loader: 'ts' }).code)
      said.push(await runNode(folder, `readme-${place}.mjs`, { SPOOR_URL: url, SPOOR_API_KEY: 'k', ...model }))
    }
    t.equal(said[0], 'You asked: Where is my order?\n')
    t.match(said[1], new RegExp(`^${url}/app/t/[0-9a-f]{32}\n\\{[^]*sent: 1`))
    t.equal(said[2], ANSWER)
    t.equal(said[3], 'You asked: Where is my order? 0 []\n')
    t.same(taken.slice(-3), ['answer', 'agent', 'openai.chat'])
  })

  t.test('its types compile with each setting', async t => {
    const source = `import { evaluate, Spoor, type Step, type TraceOptions } from 'spoor-client'
import { wrapAnthropic } from 'spoor-client/anthropic'
import { spoorMiddleware } from 'spoor-client/ai-sdk'
import { wrapBedrock } from 'spoor-client/bedrock'
import { wrapGemini } from 'spoor-client/gemini'
import { langchainHandler } from 'spoor-client/langchain'
import { wrapMistral } from 'spoor-client/mistral'
import { wrapOllama } from 'spoor-client/ollama'
import { recordInMemory } from 'spoor-client/testing'
import { wrapOpenAI } from 'spoor-client/openai'
const options: TraceOptions = { tags: ['a'] }
const spoor = new Spoor({ key: 'k', redact: (name, value) => (name === 'secret' ? undefined : value) })
export const add = spoor.observe((a: number, b: number): number => a + b, { kind: 'tool' })
export const answer: Promise<string> = spoor.trace('t', options, async (step: Step) => step.traceId)
export const wrapped: { chat: 1 } = wrapOpenAI(wrapAnthropic({ chat: 1 } as const, spoor), spoor)
export const others = [wrapBedrock, wrapGemini, wrapMistral, wrapOllama].map(wrap => wrap({}, spoor))
export const names: readonly string[] = recordInMemory().traces.map(({ name }) => name)
export const handlers = [langchainHandler(spoor).handleLLMEnd, spoorMiddleware(spoor).wrapStream]
export const judged = evaluate(spoor, { name: 'length', evaluate: ({ trace }) => trace.name.length })
// @ts-expect-error: a trace needs a name.
spoor.trace(() => 1)
`
    const settings: readonly (readonly [file: string, module: string, resolution: string])[] = [
      ['node10.ts', 'commonjs', 'node10'],
      ['node16.cts', 'node16', 'node16'],
      ['node16.mts', 'node16', 'node16'],
      ['nodenext.mts', 'nodenext', 'nodenext'],
      ['bundler.ts', 'esnext', 'bundler']
    ]
    mkdirSync(join(folder, 'types'))
    for (const [file, module, moduleResolution] of settings) {
      const path = join(folder, 'types', file)
      writeFileSync(path, source)
      // Applications need not have Node's types.
      const strict = { strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false, noEmit: true, types: [] }
      const compilerOptions = { ...strict, target: 'es2023', lib: ['es2023', 'dom'], module, moduleResolution }
      writeFileSync(`${path}.json`, JSON.stringify({ compilerOptions, files: [path] }))
      const { status, stdout } = spawnSync(process.execPath, [COMPILER, '-p', `${path}.json`], { encoding: 'utf8' })
      t.equal(status, 0, `${file}: ${stdout}`)
    }
  })
})
