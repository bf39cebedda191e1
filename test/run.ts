/**
 * Runs the tests: starts PostgreSQL (or uses the server that TEST_DATABASE_URL names), creates the template database,
 * runs tap with the given arguments, and ends with the line `N passed, N failed, N skipped`. Arguments may name single
 * files, each of which runs in its own process, or suites (`--suite=lib`). `--coverage` measures coverage, which takes
 * a fifth longer.
 */
import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { connectTo, type DatabaseTarget } from '../lib/database/connection.ts'
import { migrate } from '../lib/database/migrate.ts'
import { createLog } from '../lib/log.ts'
import { makeDistributedTemplate, readNodes } from './cluster/template.ts'
import { startTestCluster } from './fixtures/database/cluster.ts'
import { databaseAt, runOn, TEST_SERVER_VARIABLE, type TestServer } from './fixtures/database/database.ts'
import { withDatabaseAt } from './fixtures/database/target.ts'
import { temporaryFolder } from './fixtures/folder.ts'
import { removeSuites, writeSingles, writeSuites } from './suites.ts'

/** Tap is started directly, because npx does not pass on signals. */
const TAP = fileURLToPath(new URL('../../node_modules/.bin/tap', import.meta.url))

/** Ends tap and its child processes. Whatever this process started is stopped afterwards. */
let endTests = () => {}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => endTests())

/** The folder for all files of the run. TMPDIR has priority, if it is set. */
const folder = mkdtempSync(join(process.env.TMPDIR ?? (await temporaryFolder()), 'spoor-run-'))
chmodSync(folder, 0o755)
process.env.TMPDIR = folder
const COVERAGE_FLAG = '--coverage'
const SUITE_FLAG = '--suite='
const isSuite = (parameter: string) => parameter.startsWith(SUITE_FLAG)
const isFile = (parameter: string) => parameter.endsWith('.js')
/** Maximum time for interrupted tests to clean up. */
const END_MS = 3000

process.exitCode = await main(process.argv.slice(2))

async function main(parameters: readonly string[]): Promise<number> {
  buildTap()
  const nodes = readNodes()
  const given = nodes?.coordinator ?? process.env.TEST_DATABASE_URL
  const cluster = given === undefined ? await startTestCluster() : undefined
  const target = cluster?.target ?? given!
  const template = `spoor_test_template_${process.pid}`
  try {
    console.log(`PostgreSQL ${await readVersion(target)}`)
    if (nodes === undefined) await makeTemplate(target, template)
    else await makeDistributedTemplate(nodes, template)
    return await runTap({ target, template, ...(nodes && { workers: nodes.workers }) }, parameters)
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

/** tap is assembled once with the plugins that package.json names. As installed, it cannot run with this compiler. */
function buildTap(): void {
  const built = fileURLToPath(new URL('../../node_modules/@tapjs/test/test-built/dist/esm/index.js', import.meta.url))
  if (readFileSync(built, 'utf8').includes('@tapjs/typescript')) spawnSync(TAP, ['build'], { stdio: 'inherit' })
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

/** Resolves to tap's exit code. */
async function runTap(server: TestServer, parameters: readonly string[]): Promise<number> {
  const suites = parameters.filter(isSuite).map(parameter => parameter.slice(SUITE_FLAG.length))
  const singles = parameters.filter(isFile)
  const isCovered = parameters.includes(COVERAGE_FLAG)
  const files =
    singles.length === 0
      ? await writeSuites(suites, isCovered ? 'loaded' : 'launched')
      : isCovered
        ? singles
        : await writeSingles(singles)
  const coverage = isCovered ? [] : ['--disable-coverage']
  const passed = parameters.filter(
    parameter => !isSuite(parameter) && !isFile(parameter) && parameter !== COVERAGE_FLAG
  )
  const child = spawn(TAP, ['--reporter=terse', ...coverage, ...files, ...passed], {
    stdio: ['inherit', 'pipe', 'inherit'],
    // The child has its own process group, so that the tests' processes and their children can be ended with it.
    detached: true,
    // CI disables tap's animation, whose frames would all be written to a file.
    env: { CI: 'true', ...process.env, [TEST_SERVER_VARIABLE]: JSON.stringify(server) }
  })
  endTests = () => {
    killGroup(child.pid, 'SIGTERM')
    setTimeout(() => killGroup(child.pid, 'SIGKILL'), END_MS).unref()
  }
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    process.stdout.write(text)
    output += text
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', () => killGroup(child.pid, 'SIGKILL'))
    child.on('close', code => {
      console.log(summarise(output))
      resolve(code ?? 1)
    })
  })
}

/** Kills a process group, which may be empty. */
function killGroup(leader: number | undefined, signal: NodeJS.Signals): void {
  try {
    if (leader !== undefined) process.kill(-leader, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** The last line of tap's counts is `# { total: 6, pass: 3, fail: 1, todo: 1, skip: 1 }`. Counts of 0 are omitted. */
function summarise(output: string): string {
  const counts = [...output.matchAll(/# \{ ([^}]*) \}/g)].at(-1)?.[1] ?? ''
  const count = (name: string) => Number(new RegExp(`\\b${name}: (\\d+)`).exec(counts)?.[1] ?? 0)
  return `${count('pass')} passed, ${count('fail')} failed, ${count('skip') + count('todo')} skipped`
}
