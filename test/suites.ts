/**
 * Runs test files in suites, one process for each folder or a large part of it, because a process takes seconds to load
 * tap, the service and the schemas. That is longer than the tests of most files take.
 */
import { existsSync } from 'node:fs'
import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

const TESTS = fileURLToPath(new URL('.', import.meta.url))
/** The folder for the files of this run, so that runs of the same build do not remove each other's files. */
const SUITES = join(TESTS, 'suites', String(process.pid))
const SOURCES = fileURLToPath(new URL('../../test', import.meta.url))
const TEST_FILE = /\.test\.js$/
/**
 * Returns whether a path in the folder of built tests is a current test. A test that has moved leaves its old build
 * behind, and that build must not run.
 */
export const isTest = (name: string) => TEST_FILE.test(name) && existsSync(join(SOURCES, name.replace(/js$/, 'ts')))

/**
 * Maximum total weight of a suite: the size of its test files, in bytes, times their slowness. A run takes as long as
 * its longest suite, but each additional suite costs the start of a process.
 */
const MOST_WEIGHT = 260_000

/** These tests wait for servers or for a browser, so they take longer than other tests of the same size. */
const SLOW: readonly string[] = ['bin', 'plugins', 'torture', 'whole']
const SLOWNESS = 2

/** The name of the suites with tests that install more (test/sdks/install.ts). `npm test` leaves these tests out. */
export const SDKS = 'sdks'
export const SDK_FOLDERS: readonly string[] = ['senders', 'clients/typescript/wrap']
/** These tests install the packages of test/clients. */
const SDK_FILES = ['torture/surroundings/clients.test.js', 'clients/typescript/package.test.js']
const installsMore = (file: string) =>
  SDK_FILES.includes(file) || SDK_FOLDERS.some(folder => file.startsWith(join(folder, sep)))

/** Folders whose few tests run with those of another folder. */
const JOINED: Readonly<Record<string, string>> = { bench: 'whole', fixtures: 'whole', lint: 'whole', runner: 'whole' }

interface Suite {
  readonly name: string
  weight: number
  readonly files: string[]
}

/**
 * Writes a file to run for each suite, or for the requested suites. Slow suites come first, so that a short suite is
 * the last to end. File names start with a number, because a folder may have several suites.
 */
export async function writeSuites(wanted: readonly string[]): Promise<string[]> {
  const suites: Suite[] = []
  for (const file of (await readdir(TESTS, { recursive: true })).filter(isTest).sort()) {
    const folder = installsMore(file) ? SDKS : file.slice(0, Math.max(0, file.indexOf(sep)))
    if (folder === SDKS && !wanted.includes(SDKS)) continue
    if (wanted.length > 0 && !wanted.includes(folder)) continue
    const name = wanted.length > 0 ? folder : (JOINED[folder] ?? folder)
    const { size } = await stat(join(TESTS, file))
    const weight = size * (SLOW.includes(name) ? SLOWNESS : 1)
    const open = suites.findLast(suite => suite.name === name)
    const suite = open !== undefined && open.weight + weight <= MOST_WEIGHT ? open : { name, weight: 0, files: [] }
    if (suite !== open) suites.push(suite)
    suite.weight += weight
    suite.files.push(file)
  }
  const isSlow = ({ name }: Suite) => Number(SLOW.includes(name))
  return writeAll(suites.sort((one, other) => isSlow(other) - isSlow(one) || other.weight - one.weight))
}

/** Writes a file to run for each of the given test files, which may be anywhere. */
export function writeSingles(paths: readonly string[]): Promise<string[]> {
  const singles = paths.map(path => {
    const file = relative(TESTS, resolve(path))
    return { name: file.replace(TEST_FILE, '').replaceAll(sep, '-'), files: [file] }
  })
  return writeAll(singles)
}

async function writeAll(suites: readonly Pick<Suite, 'name' | 'files'>[]): Promise<string[]> {
  await mkdir(SUITES, { recursive: true })
  return Promise.all(suites.map(({ name, files }, i) => writeSuite(`${String(i + 1).padStart(2, '0')}-${name}`, files)))
}

async function writeSuite(name: string, files: readonly string[]): Promise<string> {
  const path = join(SUITES, `${name}.js`)
  const list = JSON.stringify(files.map(file => `./${file}`))
  await writeFile(path, `import { runSuite } from '../../suite.js'\n\nrunSuite(${list})\n`)
  return relative(process.cwd(), path)
}

/** Removes the files of this run. */
export const removeSuites = (): Promise<void> => rm(SUITES, { recursive: true, force: true })
