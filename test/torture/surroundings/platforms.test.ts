/**
 * Runs the package spoor-client where applications run it: in several versions of Node, Bun, Deno and workerd, under
 * Jest and Vitest, in webpack's bundles, and in a route handler of Next.js. Everything is installed from npm, so this
 * is part of the long run.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { testFolder } from '../../fixtures/folder.ts'
import { freePort } from '../../fixtures/ports.ts'
import { until } from '../../fixtures/until.ts'
import { figure, isLong } from '../orders.ts'

const PACKAGE = 'build/spoor-client'
const TOOLS = ['bun', 'deno', 'miniflare', 'esbuild', 'jest', 'vitest', 'webpack', 'webpack-cli']
const NODES = ['22', '24']

interface Project {
  readonly folder: string
  readonly taken: string[]
  write(name: string, text: string): void
  /** Runs one of the installed programs, with SPOOR_URL and SPOOR_API_KEY. */
  run(command: string, ...args: string[]): Promise<string>
}

async function startProject(t: Test): Promise<Project> {
  const folder = await testFolder(t)
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
  const SPOOR_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { NODE_OPTIONS: _, ...environment } = process.env
  const env = { ...environment, SPOOR_URL, SPOOR_API_KEY: 'k', CI: '1', NEXT_TELEMETRY_DISABLED: '1' }
  const write = (name: string, text: string) => {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  const run = async (command: string, ...args: string[]) => {
    const options = { cwd: folder, env, timeout: 300_000, maxBuffer: 1 << 26 }
    const { stdout, stderr } = await promisify(execFile)(command, args, options)
    return stdout + stderr
  }
  write('package.json', '{ "name": "application", "private": true }')
  const [packed] = JSON.parse(await run('npm', 'pack', '--json', join(process.cwd(), PACKAGE)))
  await run('npm', 'install', '--no-audit', '--no-fund', `./${packed.filename}`)
  return { folder, taken, write, run }
}

const traced = (name: string) => `
const spoor = new Spoor({ spool: false })
const nested = await spoor.trace('${name}', async () => {
  await new Promise(resolve => setTimeout(resolve, 1))
  return spoor.span('step', () => spoor.current() !== undefined)
})
const { sent } = await spoor.flush({ timeoutMs: 10_000 })
`
const program = (name: string) =>
  `import { Spoor } from 'spoor-client'\n${traced(name)}\nconsole.log(JSON.stringify({ sent, nested }))\n`
const SENT = '{"sent":1,"nested":true}'

if (isLong) {
  t.test('runtimes, bundlers and test runners', async t => {
    const { folder, taken, write, run } = await startProject(t)
    const bin = (name: string) => join(folder, 'node_modules/.bin', name)
    await run(
      'npm',
      'install',
      '--no-audit',
      '--no-fund',
      ...TOOLS,
      ...NODES.map(node => `node-${node}@npm:node@${node}`)
    )
    write('program.mjs', program('program'))

    for (const node of NODES) {
      t.test(`Node ${node}`, async t => {
        const [file] = readdirSync(join(folder, `node_modules/node-${node}`), {
          recursive: true,
          encoding: 'utf8'
        }).filter(name => name.endsWith('bin/node'))
        t.match(await run(join(folder, `node_modules/node-${node}`, file!), 'program.mjs'), SENT)
      })
    }
    t.test('Bun', async t => t.match(await run(bin('bun'), 'program.mjs'), SENT))
    t.test('Deno', async t => t.match(await run(bin('deno'), 'run', '-A', 'program.mjs'), SENT))

    t.test('Deno keeps ended traces after an uncaught error', async t => {
      const record = `const spoor = new Spoor({ url: 'http://127.0.0.1:9', spool: 'kept' })\nspoor.trace('t', () => 1)`
      const fail = `setTimeout(() => { throw new Error('nobody catches this') }, 10)`
      write('uncaught.mjs', `import { Spoor } from 'spoor-client'\n${record}\n${fail}\n`)
      await t.rejects(run(bin('deno'), 'run', '-A', 'uncaught.mjs'), /nobody catches this/)
      const files = readdirSync(join(folder, 'kept'), { recursive: true, encoding: 'utf8' })
      t.equal(files.filter(name => name.endsWith('.spoor')).length, 1)
    })

    t.test('webpack', async t => {
      await run(bin('webpack'), '--mode', 'production', '--target', 'node', '--entry', './program.mjs', '-o', 'out')
      t.match(await run(process.execPath, 'out/main.js'), SENT)
    })

    t.test('Jest', async t => {
      const test = `test('records', async () => { ${traced('jest')}; expect({ sent, nested }).toEqual(${SENT}) })`
      write('jest/program.test.js', `const { Spoor } = require('spoor-client')\n${test}`)
      t.match(await run(bin('jest'), 'jest'), '1 passed')
    })

    t.test('Vitest', async t => {
      const test = `test('records', async () => { ${traced('vitest')}; expect({ sent, nested }).toEqual(${SENT}) })`
      const imports = `import { expect, test } from 'vitest'\nimport { Spoor } from 'spoor-client'\n`
      write('vitest/program.spec.mjs', imports + test)
      t.match(await run(bin('vitest'), 'run', 'vitest'), '1 passed')
    })

    t.test('workerd', async t => {
      const settings = traced('workerd').replace('{ spool: false }', '{ url: env.SPOOR_URL, key: env.SPOOR_API_KEY }')
      const answer = 'ctx.waitUntil(spoor.close())\nreturn Response.json({ sent, nested })'
      const worker = `export default { async fetch(request, env, ctx) { ${settings} ${answer} } }`
      write('worker.mjs', `import { Spoor } from 'spoor-client'\n${worker}`)
      const bundle = ['--bundle', '--format=esm', '--conditions=workerd,worker,browser', '--outfile=worker.out.mjs']
      await run(bin('esbuild'), 'worker.mjs', ...bundle)
      write(
        'miniflare.mjs',
        `import { Miniflare } from 'miniflare'
import { readFileSync } from 'node:fs'
const { SPOOR_URL, SPOOR_API_KEY } = process.env
const worker = new Miniflare({
  modules: true,
  script: readFileSync('worker.out.mjs', 'utf8'),
  compatibilityDate: '2025-06-01',
  compatibilityFlags: ['nodejs_compat'],
  bindings: { SPOOR_URL, SPOOR_API_KEY }
})
console.log(await (await worker.dispatchFetch('http://worker/')).text())
await worker.dispose()
`
      )
      t.match(await run(process.execPath, 'miniflare.mjs'), SENT)
    })

    t.test('each has sent its trace', t => {
      t.equal(taken.filter(name => name === 'program').length, NODES.length + 3)
      figure('programs on the TypeScript client’s platforms, each with its trace', taken.length)
      t.end()
    })
  })

  t.test('a route handler of Next.js', async t => {
    const { folder, write, run, taken } = await startProject(t)
    await run('npm', 'install', '--no-audit', '--no-fund', 'next', 'react', 'react-dom')
    write('app/layout.js', 'export default ({ children }) => <html><body>{children}</body></html>\n')
    write('app/page.js', 'export default () => null\n')
    const answer = `${traced('next')} return Response.json({ sent, nested })`
    const handler = `export const dynamic = 'force-dynamic'\nexport async function GET() { ${answer} }`
    write('app/api/route.js', `import { Spoor } from 'spoor-client'\n${handler}`)
    const next = join(folder, 'node_modules/.bin/next')
    await run(next, 'build')
    const port = String(await freePort())
    const { NODE_OPTIONS: _, ...environment } = process.env
    const env = {
      ...environment,
      SPOOR_URL: await run(process.execPath, '-p', 'process.env.SPOOR_URL').then(url => url.trim())
    }
    const options = { cwd: folder, env: { ...env, SPOOR_API_KEY: 'k' }, detached: true }
    const server = spawn(next, ['start', '-p', port], options)
    // Next.js serves from a process of its own.
    t.teardown(() => void process.kill(-server.pid!, 'SIGKILL'))
    let said = ''
    server.stdout.setEncoding('utf8').on('data', text => {
      said += text
    })
    await until(() => said.includes('Ready'), 60_000)
    t.equal(await (await fetch(`http://127.0.0.1:${port}/api`)).text(), SENT)
    t.same(taken, ['next'])
  })
}
