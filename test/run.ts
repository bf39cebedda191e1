/**
 * Runs the tests: starts PostgreSQL (or uses the server that TEST_DATABASE_URL names), creates the template database,
 * runs the suites, and ends with the line `N passed, N failed, N skipped`.
 */
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { connectTo, type DatabaseTarget } from '../lib/database/connection.ts'
import { migrate } from '../lib/database/migrate.ts'
import { createLog } from '../lib/log.ts'
import { makeDistributedTemplate, readNodes } from './cluster/template.ts'
import { reportCoverage } from './coverage/report.ts'
import { startTestCluster } from './fixtures/database/cluster.ts'
import { databaseAt, runOn, TEST_SERVER_VARIABLE, type TestServer } from './fixtures/database/database.ts'
import { withDatabaseAt } from './fixtures/database/target.ts'
import { temporaryFolder } from './fixtures/folder.ts'
import { runProcesses } from './runner/processes.ts'
import { removeSuites, writeSingles, writeSuites } from './suites.ts'

const USAGE = `Usage: node build/test/run.js [flags] [FILE.test.js …]

Run all tests, or only the given files, each in its own process.

  --suite NAME   run only the suites of a folder of test/, such as lib; may be repeated
  --jobs N       number of processes that run at once; 6 by default, because many tests mostly wait
  --timeout N    maximum duration of each process in seconds; 1800 by default, 0 for no limit
  --coverage     measure and report code coverage, which takes longer
  --help         print this help`

const parameters = readParameters()
if (typeof parameters === 'string') {
  console.error(parameters)
  process.exit(2)
}
if (parameters.help) {
  console.log(USAGE)
  process.exit()
}

/** The folder for all files of the run. TMPDIR has priority, if it is set. */
const folder = mkdtempSync(join(process.env.TMPDIR ?? (await temporaryFolder()), 'spoor-run-'))
chmodSync(folder, 0o755)
process.env.TMPDIR = folder

process.exitCode = await main(parameters)

interface Parameters {
  readonly files: readonly string[]
  readonly suites: readonly string[]
  readonly jobs: number
  readonly timeout: number
  readonly coverage: boolean
  readonly help: boolean
}

/** Returns a message if the command line is invalid. */
function readParameters(): Parameters | string {
  try {
    const { values, positionals } = parseArgs({
      options: {
        suite: { type: 'string', multiple: true, default: [] },
        jobs: { type: 'string', default: '6' },
        timeout: { type: 'string', default: '1800' },
        coverage: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false }
      },
      allowPositionals: true
    })
    const other = positionals.find(each => !each.endsWith('.test.js'))
    if (other !== undefined)
      throw new Error(`${other} is not a compiled test. Name a file such as build/test/….test.js.`)
    const [jobs, timeout] = [Number(values.jobs), Number(values.timeout)]
    if (!Number.isInteger(jobs) || jobs < 1) throw new Error('--jobs must be a positive integer.')
    if (!Number.isInteger(timeout) || timeout < 0) throw new Error('--timeout must be a number of seconds.')
    return { ...values, files: positionals, suites: values.suite, jobs, timeout }
  } catch (error) {
    return `${(error as Error).message}\n\n${USAGE}`
  }
}

async function main(parameters: Parameters): Promise<number> {
  const nodes = readNodes()
  const given = nodes?.coordinator ?? process.env.TEST_DATABASE_URL
  const cluster = given === undefined ? await startTestCluster() : undefined
  const target = cluster?.target ?? given!
  const template = `spoor_test_template_${process.pid}`
  try {
    console.log(`PostgreSQL ${await readVersion(target)}`)
    if (nodes === undefined) await makeTemplate(target, template)
    else await makeDistributedTemplate(nodes, template)
    return await runTests({ target, template, ...(nodes && { workers: nodes.workers }) }, parameters)
  } finally {
    // A server that this run started is removed with its databases.
    if (cluster === undefined) {
      for (const node of [target, ...(nodes?.workers ?? [])]) await runOn(node, `drop database if exists ${template}`)
    } else await cluster.stop()
    stopServers()
    await removeSuites()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Stops each PostgreSQL server that an interrupted test has left running. */
function stopServers(): void {
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('postmaster.pid')) continue
    const pid = Number.parseInt(readFileSync(join(folder, name), 'utf8'), 10)
    try {
      process.kill(pid, 'SIGQUIT')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
}

async function readVersion(target: DatabaseTarget): Promise<string> {
  const sql = connectTo(target)
  const [row] = await sql`show server_version`.finally(() => sql.end({ timeout: 1 }))
  return row!.server_version
}

async function makeTemplate(target: DatabaseTarget, name: string): Promise<void> {
  await runOn(target, `create database ${name}`)
  await migrate(databaseAt(withDatabaseAt(target, name)), createLog('warn'))
}

/** Resolves to the exit code. */
async function runTests(server: TestServer, parameters: Parameters): Promise<number> {
  const { suites, jobs, timeout, coverage: measures } = parameters
  const coverage = join(folder, 'coverage')
  const env = {
    ...process.env,
    [TEST_SERVER_VARIABLE]: JSON.stringify(server),
    // Node writes the coverage of each process into this folder when the process ends.
    ...(measures && { NODE_V8_COVERAGE: coverage })
  }
  const files = parameters.files.length === 0 ? await writeSuites(suites) : await writeSingles(parameters.files)
  const { passed, failed, skipped } = await runProcesses(files, { jobs, timeout, env })
  const isCovered = !measures || reportCoverage(coverage)
  console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`)
  return failed === 0 && isCovered ? 0 : 1
}
