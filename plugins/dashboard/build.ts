/**
 * Builds the dashboard's page into build/dashboard: scripts and styles with hashes in their names and a Brotli copy of
 * each, `manifest.json` with those names, and the licences of bundled packages.
 */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, constants } from 'node:zlib'
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild'

const ROOT = fileURLToPath(new URL('.', import.meta.resolve('#package.json')))
const APP = join(ROOT, 'plugins/dashboard/app')
const OUT = join(ROOT, 'build/dashboard')
const COMPRESSED = /\.(?:js|css)$/

/** Licences of packages that become part of the page. */
const LICENCES = ['preact/LICENSE']

/** Oldest supported browsers. */
const TARGET = ['chrome120', 'firefox121', 'safari17.4']
const SHARED: BuildOptions = {
  absWorkingDir: ROOT,
  bundle: true,
  minify: true,
  format: 'esm',
  target: TARGET,
  outdir: OUT,
  entryNames: '[name].[hash]',
  chunkNames: '[name].[hash]',
  metafile: true,
  legalComments: 'none',
  banner: { js: '/* With preact, whose licence is in licences.txt. */' },
  logLevel: 'warning'
}

/** Names of built files, by purpose. */
export interface AssetManifest {
  readonly app: string
  readonly css: string
  /** Modules that `app` imports statically. The shell preloads these modules. */
  readonly preload: readonly string[]
  /** Module of the trace page, loaded with the first trace. */
  readonly trace: string
  /** Script of the worker that searches and compares texts. */
  readonly search: string
}

/**
 * Makes every lazily loaded module import main.tsx, so that all code loaded at the start becomes one module. Otherwise
 * esbuild would split shared code into many small modules, which compress badly.
 */
const fromTheStart: Plugin = {
  name: 'from-the-start',
  setup({ onStart, onLoad }) {
    let later: ReadonlySet<string> = new Set()
    onStart(async () => {
      later = await partsLoadedLater()
    })
    onLoad({ filter: /\.tsx?$/ }, async ({ path }) => {
      if (!later.has(path)) return undefined
      const contents = await readFile(path, 'utf8')
      return { contents: `${contents}\nimport ${JSON.stringify(join(APP, 'main.tsx'))}\n`, loader: 'tsx' }
    })
  }
}

/** Finds all dynamic imports up front, because a module may be read first through a static import elsewhere. */
async function partsLoadedLater(): Promise<Set<string>> {
  const files = (await readdir(APP, { recursive: true })).filter(name => /\.tsx?$/.test(name))
  const imports = files.map(async name => {
    const text = await readFile(join(APP, name), 'utf8')
    return [...text.matchAll(/\bimport\('([^']+)'\)/g)].map(([, path]) => join(APP, dirname(name), path!))
  })
  return new Set((await Promise.all(imports)).flat())
}

await rm(OUT, { recursive: true, force: true })
await mkdir(OUT, { recursive: true })
const worker = await build({ ...SHARED, entryPoints: [join(APP, 'worker.ts')] })
const search = onlyOutput(worker.metafile!, 'worker.ts')
const styles = await build({ ...SHARED, entryPoints: [join(APP, 'pages.css')] })
const page = await build({
  ...SHARED,
  entryPoints: [{ in: join(APP, 'main.tsx'), out: 'app' }, join(APP, 'app.css')],
  splitting: true,
  plugins: [fromTheStart],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  // The page creates the worker and loads styles by file name.
  define: {
    SEARCH_WORKER: JSON.stringify(search),
    PAGES_STYLES: JSON.stringify(onlyOutput(styles.metafile!, 'pages.css'))
  }
})
const app = onlyOutput(page.metafile!, 'main.tsx')
const manifest: AssetManifest = {
  app,
  css: onlyOutput(page.metafile!, 'app.css'),
  preload: importsOf(page.metafile!, app),
  trace: onlyOutput(page.metafile!, 'trace/page.tsx'),
  search
}
await writeFile(join(OUT, 'licences.txt'), (await Promise.all(LICENCES.map(readLicence))).join('\n\n'))
await writeFile(join(OUT, 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`)
for (const { outputs } of [worker.metafile!, styles.metafile!, page.metafile!])
  await Promise.all(Object.keys(outputs).map(compress))

async function readLicence(file: string): Promise<string> {
  return `${file}\n\n${await readFile(join(ROOT, 'node_modules', file), 'utf8')}`
}

/** Returns the name of an entry's output file. Throws if the entry was not built. */
function onlyOutput({ outputs }: Metafile, entry: string): string {
  const [found] = Object.entries(outputs).find(([, { entryPoint }]) => entryPoint?.endsWith(`app/${entry}`)) ?? []
  if (found === undefined) throw new Error(`${entry} was not built`)
  return basename(found)
}

function importsOf({ outputs }: Metafile, name: string): string[] {
  const [, output] = Object.entries(outputs).find(([path]) => basename(path) === name)!
  return output.imports.filter(({ kind }) => kind === 'import-statement').map(({ path }) => basename(path))
}

async function compress(path: string): Promise<void> {
  if (!COMPRESSED.test(path)) return
  const file = join(ROOT, path)
  const bytes = await readFile(file)
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length }
  await writeFile(`${file}.br`, await promisify<Uint8Array, object, Buffer>(brotliCompress)(bytes, { params }))
}
