/**
 * Builds the package spoor-client from the compiled client, with three builds: ESM and CommonJS for Node, Bun and Deno,
 * and one for platforms without Node's modules. The server's package contains the result as `spoor/client`.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type BuildOptions, build, type Plugin, transformSync } from 'esbuild'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const SOURCE = join(ROOT, 'clients/typescript')
const COMPILED = join(ROOT, 'build/clients/typescript')
const PACKAGE = join(ROOT, 'build/spoor-client')

/** The modules that applications import, each with its file. */
const ENTRIES: Readonly<Record<string, string>> = {
  '.': 'index',
  './testing': 'testing',
  './openai': 'wrap/openai',
  './anthropic': 'wrap/anthropic',
  './gemini': 'wrap/gemini',
  './mistral': 'wrap/mistral',
  './ollama': 'wrap/ollama',
  './bedrock': 'wrap/bedrock',
  './langchain': 'wrap/langchain',
  './ai-sdk': 'wrap/ai-sdk'
}

/** Conditions of platforms without Node's modules. Bundlers and runtimes set them. */
const EDGE = ['workerd', 'edge-light', 'browser']

/** Replaces the files of platform/node with those of platform/edge. */
const onEdge: Plugin = {
  name: 'edge',
  setup: ({ onResolve }) =>
    onResolve({ filter: /platform\/node\// }, ({ path, resolveDir }) => ({
      path: join(resolveDir, path.replace('platform/node/', 'platform/edge/'))
    }))
}

/** Returns a package's `exports`, with `folder` before each path. */
function exportsIn(folder: string): Record<string, object> {
  const at = (name: string, build: string) => `${folder}${build}/${name}`
  const conditions = (name: string) => {
    return {
      ...Object.fromEntries(EDGE.map(condition => [condition, at(`${name}.js`, 'edge')])),
      // Bundlers take one build, even if a module is both imported and required.
      module: at(`${name}.js`, 'esm'),
      import: { types: at(`${name}.d.ts`, 'esm'), default: at(`${name}.js`, 'esm') },
      require: { types: at(`${name}.d.ts`, 'cjs'), default: at(`${name}.js`, 'cjs') }
    }
  }
  return Object.fromEntries(Object.entries(ENTRIES).map(([entry, name]) => [entry, conditions(name)]))
}

/** Returns `typesVersions`, by which compilers that ignore `exports` (moduleResolution node10) find the types. */
const typesVersions = () => {
  const entries = Object.entries(ENTRIES).filter(([entry]) => entry !== '.')
  return { '*': Object.fromEntries(entries.map(([entry, name]) => [entry.slice(2), [`./cjs/${name}.d.ts`]])) }
}

async function buildPackage(): Promise<void> {
  rmSync(PACKAGE, { recursive: true, force: true })
  const names = readdirSync(COMPILED, { recursive: true, encoding: 'utf8' })
  const isEdge = (name: string) => name.startsWith('platform/edge')
  for (const name of names.filter(name => /\.(?:js|d\.ts)$/.test(name) && !isEdge(name))) {
    const text = readFileSync(join(COMPILED, name), 'utf8').replace(/\n\/\/# sourceMappingURL=.*/, '')
    // Declarations keep the sources' endings, which compilers accept only in sources.
    const isTypes = name.endsWith('.d.ts')
    write(join('esm', name), isTypes ? text.replaceAll(/((?:from |import\()'\.[^']*)\.ts'/g, "$1.js'") : text)
    if (isTypes) cpSync(join(PACKAGE, 'esm', name), join(PACKAGE, 'cjs', name))
  }
  const common = { logLevel: 'warning', charset: 'utf8', target: 'es2023' } as const
  // Jest and other loaders of CommonJS modules cannot load an `import()`.
  const noImports = { supported: { 'dynamic-import': false }, platform: 'node', format: 'cjs' } as const
  for (const name of names.filter(name => name.endsWith('.js') && !isEdge(name))) {
    // The text alone is transformed, because esbuild treats `default` differently in files of an ESM package.
    write(
      join('cjs', name),
      transformSync(readFileSync(join(PACKAGE, 'esm', name), 'utf8'), { ...common, ...noImports }).code
    )
  }
  write('cjs/package.json', '{ "type": "commonjs" }\n')
  const entryPoints = Object.values(ENTRIES).map(name => join(COMPILED, `${name}.js`))
  const edge = { bundle: true, splitting: true, format: 'esm', plugins: [onEdge] } satisfies BuildOptions
  await build({ ...common, ...edge, entryPoints, outbase: COMPILED, outdir: join(PACKAGE, 'edge') })
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const manifest = JSON.parse(readFileSync(join(SOURCE, 'package.json'), 'utf8'))
  const made = { ...manifest, version, exports: { ...exportsIn('./'), './package.json': './package.json' } }
  write('package.json', `${JSON.stringify({ ...made, typesVersions: typesVersions() }, null, 2)}\n`)
  cpSync(join(SOURCE, 'README.md'), join(PACKAGE, 'README.md'))
  cpSync(join(ROOT, 'LICENSE'), join(PACKAGE, 'LICENSE'))
}

function write(name: string, text: string): void {
  const path = join(PACKAGE, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

/** Links the package, so that the guide's examples find it in this repository as they do in an application. */
function linkPackage(): void {
  const link = join(ROOT, 'node_modules/spoor-client')
  rmSync(link, { recursive: true, force: true })
  symlinkSync(PACKAGE, link, 'junction')
}

await buildPackage()
linkPackage()
