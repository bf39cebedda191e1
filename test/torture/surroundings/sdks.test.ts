/**
 * Runs the tests of the TypeScript client's wrappers with the oldest SDKs that its README names, and with the newest.
 * Both are installed from npm, so this is part of the long run. `npm run test:sdks` has the versions between.
 */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build, type Plugin } from 'esbuild'
import t from 'tap'
import { testFolder } from '../../fixtures/folder.ts'
import { installSdks } from '../../sdks/install.ts'
import { figure, isLong } from '../orders.ts'

const AI_V6 = 'ai-v6@npm:ai'
const PROVIDERS = [
  '@ai-sdk/openai-compatible@3',
  '@ai-sdk/openai-compatible-v2@npm:@ai-sdk/openai-compatible@2',
  'zod@4'
]
const VERSIONS: Readonly<Record<string, readonly string[]>> = {
  /** As in clients/typescript/README.md. */
  oldest: [
    'openai@4.87.1',
    '@anthropic-ai/sdk@0.39.0',
    '@google/genai@1.20.0',
    '@mistralai/mistralai@1.9.17',
    'ollama@0.4.0',
    '@aws-sdk/client-bedrock-runtime@3.587.0',
    '@smithy/node-http-handler@3',
    '@langchain/core@1.0.0',
    'ai@7.0.0',
    `${AI_V6}@6.0.0`,
    ...PROVIDERS
  ],
  newest: [
    ...['openai', '@anthropic-ai/sdk', '@google/genai', '@mistralai/mistralai', 'ollama'],
    ...['@aws-sdk/client-bedrock-runtime', '@smithy/node-http-handler', '@langchain/core', 'ai', `${AI_V6}@6`],
    ...PROVIDERS
  ]
}
/** Before some version 2, Google's client hides errors in streams from the application, and so from the wrapper. */
const UNSEEN: Readonly<Record<string, readonly string[]>> = { oldest: ['google-genai: an error event'] }
const SDKS = /^(openai|@anthropic-ai|@google\/genai|@mistralai|ollama|@aws-sdk|@smithy|@langchain|ai(-v6)?$|@ai-sdk)/
const TESTS = ['wires', 'langchain', 'ai-sdk']

/** Imports SDKs from a folder, and everything else as the test does. */
const sdksIn = (folder: string): Plugin => ({
  name: 'sdks',
  setup: ({ onResolve, resolve }) =>
    onResolve({ filter: /^[^./]/ }, async ({ path, kind, pluginData }) => {
      if (pluginData === folder) return undefined
      if (!SDKS.test(path)) return { path, external: true }
      const found = await resolve(path, { resolveDir: folder, kind, pluginData: folder })
      return found.errors.length > 0 ? { errors: found.errors } : { path: found.path, external: true }
    })
})

/** Returns the failed tests in TAP's output, each after the name of the test around it. */
function failuresIn(output: string): string[] {
  const failed: string[] = []
  let inner: string[] = []
  for (const line of output.split('\n')) {
    const [, indent, not, name] = /^( {4})?(not )?ok \d+ - (.*?)(?: # time=.*)?$/.exec(line) ?? []
    if (name === undefined) continue
    if (indent !== undefined) {
      if (not !== undefined) inner.push(name)
      continue
    }
    if (not !== undefined) failed.push(...(inner.length > 0 ? inner.map(each => `${name}: ${each}`) : [name]))
    inner = []
  }
  return failed
}

if (isLong) {
  installSdks()
  for (const [age, packages] of Object.entries(VERSIONS)) {
    t.test(`the ${age} SDKs`, async t => {
      const folder = await testFolder(t)
      writeFileSync(join(folder, 'package.json'), '{ "private": true }')
      const options = { cwd: folder, timeout: 600_000, maxBuffer: 1 << 26 }
      const flags = ['--no-audit', '--no-fund', '--ignore-scripts', '--legacy-peer-deps', '--loglevel=error']
      await promisify(execFile)('npm', ['install', ...flags, ...packages], options)
      for (const name of TESTS) {
        // In the folder of the built test, the program finds tap and the client.
        const program = `build/test/clients/typescript/wrap/${name}.${age}.mjs`
        await build({
          entryPoints: [`test/clients/typescript/wrap/${name}.test.ts`],
          outfile: program,
          bundle: true,
          format: 'esm',
          platform: 'node',
          plugins: [sdksIn(folder)]
        })
        const { NODE_OPTIONS: _, TAP: __, ...env } = process.env
        const run = promisify(execFile)(process.execPath, [program], { ...options, cwd: process.cwd(), env })
        const { stdout } = await run.catch((error: { stdout: string }) => error)
        t.match(stdout, /^1\.\.[1-9]/m, `${name} ran to its end`)
        const unseen = (UNSEEN[age] ?? []).filter(() => name === 'wires')
        t.same(failuresIn(stdout), unseen, `${name}: all is recorded`)
      }
      figure(`${age} SDKs with which the TypeScript client was tested`, packages.length)
    })
  }
}
