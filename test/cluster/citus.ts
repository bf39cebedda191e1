/**
 * Provides the programs of PostgreSQL with Citus. The programs come from an installation that includes Citus, or from a
 * copy of PostgreSQL with Citus built from source. The build is kept in node_modules/.cache, and nothing is
 * installed.
 */
import { type SpawnOptions, spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Binaries } from '../../lib/database/embedded/binaries.ts'
import { UsageError } from '../bench/options.ts'
import { describeMissing } from './missing.ts'

const CACHE = fileURLToPath(new URL('../../../node_modules/.cache/spoor-citus', import.meta.url))
/** Builds with the lowest priority, because others may use the machine. */
const NICE = ['-n', '19']
const LAST_CHARACTERS = 2000
/** Characters of output to keep. If make continues after an error, the error is far from the end of the output. */
const MOST_CHARACTERS = 1_000_000

export interface Wanted {
  /** Path of the pg_config program of the PostgreSQL installation to use. */
  readonly pgConfig: string
  /** Folder or tar archive with the source of Citus; undefined if PostgreSQL includes Citus. */
  readonly source: string | undefined
}

/** Finds the programs, and builds Citus if necessary. Throws a UsageError that names what is missing. */
export async function citusPrograms({ pgConfig, source }: Wanted): Promise<Binaries> {
  const installed = askPgConfig(pgConfig)
  if (source !== undefined) return binariesIn(await build(pgConfig, installed, resolve(source)), installed)
  if (existsSync(join(installed.lib, 'citus.so'))) return binariesIn('/', installed)
  throw new UsageError(
    `the PostgreSQL of ${pgConfig} has no Citus: --source or CITUS_SOURCE names its source (a folder, or an archive)`
  )
}

interface Installed {
  readonly bin: string
  readonly lib: string
  readonly share: string
  readonly version: string
}

function askPgConfig(program: string): Installed {
  const ask = (flag: string) => {
    const { status, stdout, error } = spawnSync(program, [flag], { encoding: 'utf8' })
    if (status !== 0)
      throw new UsageError(`${program} ${flag} cannot be run: ${error?.message ?? `it ended with ${status}`}`)
    return stdout.trim()
  }
  return { bin: ask('--bindir'), lib: ask('--pkglibdir'), share: ask('--sharedir'), version: ask('--version') }
}

function binariesIn(root: string, { bin, version }: Installed): Binaries {
  const major = Number.parseInt(/\d+/.exec(version)?.[0] ?? '', 10)
  return { initdb: join(root, bin, 'initdb'), postgres: join(root, bin, 'postgres'), major }
}

/**
 * Builds Citus in a copy of its source, and installs it next to a copy of PostgreSQL in a separate folder. PostgreSQL
 * finds its other files relative to its program.
 */
async function build(pgConfig: string, installed: Installed, source: string): Promise<string> {
  const { mtimeMs } = await stat(source).catch(() => {
    throw new UsageError(`there is no source of Citus at ${source}`)
  })
  const key = createHash('sha256').update([source, mtimeMs, installed.version].join('\n')).digest('hex').slice(0, 16)
  const root = join(CACHE, key)
  if (existsSync(root)) return root
  requireTools(pgConfig)
  await mkdir(CACHE, { recursive: true })
  const work = await mkdtemp(join(tmpdir(), 'spoor-citus-'))
  const draft = await mkdtemp(join(CACHE, 'draft-'))
  try {
    console.log(`building Citus from ${source} for ${installed.version}: minutes`)
    const tree = await unpack(source, work)
    await mend(tree)
    await run('./configure', [`PG_CONFIG=${pgConfig}`, '--without-libcurl'], { cwd: tree })
    await run('make', ['-j2', 'extension'], { cwd: tree })
    for (const folder of [dirname(installed.bin), installed.lib, installed.share]) {
      await cp(folder, join(draft, folder), { recursive: true, verbatimSymlinks: true })
    }
    await run('make', ['install-extension', `DESTDIR=${draft}`], { cwd: tree })
    await run('chmod', ['-R', 'a+rX', draft], {})
    await rename(draft, root)
    return root
  } finally {
    await rm(work, { recursive: true, force: true })
    await rm(draft, { recursive: true, force: true })
  }
}

/** Without these tools, the output of a failed build would not explain the failure. */
function requireTools(pgConfig: string): void {
  const missing = PROGRAMS.filter(program => spawnSync(program, ['--version']).error !== undefined)
  const pgxs = spawnSync(pgConfig, ['--pgxs'], { encoding: 'utf8' }).stdout.trim()
  if (!existsSync(pgxs)) missing.push('postgresql-server-dev of this version')
  if (missing.length > 0) throw new UsageError(`Citus cannot be built: ${missing.join(', ')} is missing`)
}
const PROGRAMS = ['make', 'gcc', 'flex', 'bison']

/** Copies the source. An archive may have the source in a subfolder, as GitHub's archives do. */
async function unpack(source: string, work: string): Promise<string> {
  const copy = join(work, 'source')
  if ((await stat(source)).isDirectory()) await cp(source, copy, { recursive: true, preserveTimestamps: true })
  else {
    await mkdir(copy)
    await run('tar', ['-x', '-f', source, '-C', copy], {})
  }
  const folders = (await readdir(copy, { withFileTypes: true })).filter(each => each.isDirectory())
  const tree = [copy, ...folders.map(({ name }) => join(copy, name))].find(each => existsSync(join(each, 'configure')))
  if (tree === undefined) throw new UsageError(`${source} has no \`configure\`: it is no source of Citus`)
  // The file must be newer than configure.ac, even in a git checkout. Otherwise make would run autoreconf.
  await utimes(join(tree, 'configure'), new Date(), new Date())
  return tree
}

/**
 * PostgreSQL 15.18 added a function that Citus 13.2.2 defines itself for versions before 16, so Citus's own function
 * is renamed.
 */
async function mend(tree: string): Promise<void> {
  const path = join(tree, 'src/include/pg_version_compat.h')
  const text = await readFile(path, 'utf8')
  await writeFile(path, text.replace(/^have_createdb_privilege\(void\)/m, 'citus_have_createdb_privilege(void)'))
}

async function run(program: string, parameters: readonly string[], options: SpawnOptions): Promise<void> {
  const child = spawn('nice', [...NICE, program, ...parameters], { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-MOST_CHARACTERS)
    })
  }
  const code = await new Promise((settle, reject) => child.on('error', reject).on('close', settle))
  if (code === 0) return
  const missing = describeMissing(output)
  if (missing !== undefined) throw new UsageError(`Citus cannot be built: ${missing}`)
  throw new Error(`${program} ${parameters.join(' ')} ended with ${code}:\n${output.slice(-LAST_CHARACTERS)}`)
}
