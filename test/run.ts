/**
 * Runs the tests: starts PostgreSQL (or uses the server that TEST_DATABASE_URL names), creates the template database,
 * runs the suites, and ends with the line `N passed, N failed, N skipped`. Arguments may name single files, each of
 * which runs in its own process, or suites (`--suite=lib`). `--jobs=N` sets the number of processes that run at once,
 * and `--timeout=N` the maximum duration of each in seconds. `--coverage` measures and reports code coverage, which
 * takes longer.
 */
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
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

/** The folder for all files of the run. TMPDIR has priority, if it is set. */
const folder = mkdtempSync(join(process.env.TMPDIR ?? (await temporaryFolder()), 'spoor-run-'))
chmodSync(folder, 0o755)
process.env.TMPDIR = folder
const COVERAGE_FLAG = '--coverage'
const SUITE_FLAG = '--suite='
const isSuite = (parameter: string) => parameter.startsWith(SUITE_FLAG)
const isFile = (parameter: string) => parameter.endsWith('.js')
/** More suites than cores run at once, because many tests mostly wait. */
const JOBS = 6
const TIMEOUT_S = 1800

process.exitCode = await main(process.argv.slice(2))

async function main(parameters: readonly string[]): Promise<number> {
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
async function runTests(server: TestServer, parameters: readonly string[]): Promise<number> {
  const suites = parameters.filter(isSuite).map(parameter => parameter.slice(SUITE_FLAG.length))
  const singles = parameters.filter(isFile)
  const number = (flag: string, usual: number) =>
    Number(parameters.find(each => each.startsWith(flag))?.slice(flag.length) ?? usual)
  const jobs = number('--jobs=', JOBS)
  const timeout = number('--timeout=', TIMEOUT_S)
  const measures = parameters.includes(COVERAGE_FLAG)
  const coverage = join(folder, 'coverage')
  const env = {
    ...process.env,
    [TEST_SERVER_VARIABLE]: JSON.stringify(server),
    // Node writes the coverage of each process into this folder when the process ends.
    ...(measures && { NODE_V8_COVERAGE: coverage })
  }
  const files = singles.length === 0 ? await writeSuites(suites) : await writeSingles(singles)
  const { passed, failed, skipped } = await runProcesses(files, { jobs, timeout, env })
  const isCovered = !measures || reportCoverage(coverage)
  console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`)
  return failed === 0 && isCovered ? 0 : 1
}
