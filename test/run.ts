/**
 * Runs the tests: starts a PostgreSQL (or uses the one of TEST_DATABASE_URL), makes the template database, runs tap with
 * the arguments given here, and ends with the line `N passed, N failed, N skipped`. Single files may be named, which then
 * run in a process each, or suites (`--suite=lib`). `--coverage` measures it, which takes a fifth more work.
 */
import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { connectTo, type DatabaseTarget, withDatabaseAt } from '../lib/database/connection.ts'
import { migrate } from '../lib/database/migrate.ts'
import { createLog } from '../lib/log.ts'
import { makeDistributedTemplate, readNodes } from './cluster/template.ts'
import { startTestCluster } from './fixtures/database/cluster.ts'
import { databaseAt, runOn, TEST_SERVER_VARIABLE, type TestServer } from './fixtures/database/database.ts'
import { temporaryFolder } from './fixtures/folder.ts'
import { writeSuites } from './suites.ts'

/** Not through npx, which keeps signals to itself. */
const TAP = fileURLToPath(new URL('../../node_modules/.bin/tap', import.meta.url))

/** Ends tap with all that it has started; what was started here is stopped afterwards. */
let endTests = () => {}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => endTests())

/** All that the run writes; whoever has said where temporary files belong is heeded. */
const folder = mkdtempSync(join(process.env.TMPDIR ?? (await temporaryFolder()), 'spoor-run-'))
chmodSync(folder, 0o755)
process.env.TMPDIR = folder
const COVERAGE_FLAG = '--coverage'
const SUITE_FLAG = '--suite='
const isSuite = (parameter: string) => parameter.startsWith(SUITE_FLAG)
/** How long tests that are ended may take to clear up. */
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
    // A server of one's own goes with all that is on it.
    if (cluster === undefined) {
      for (const node of [target, ...(nodes?.workers ?? [])]) await runOn(node, `drop database if exists ${template}`)
    } else await cluster.stop()
    stopServers()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** tap is put together with the plugins that package.json names, once: as it is installed, it cannot run with this compiler. */
function buildTap(): void {
  const built = fileURLToPath(new URL('../../node_modules/@tapjs/test/test-built/dist/esm/index.js', import.meta.url))
  if (readFileSync(built, 'utf8').includes('@tapjs/typescript')) spawnSync(TAP, ['build'], { stdio: 'inherit' })
}

/** Stops each PostgreSQL that a test has left behind, since it was ended in the middle. */
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
  const single = parameters.some(parameter => parameter.endsWith('.js'))
  const files = single ? [] : await writeSuites(suites)
  const coverage = parameters.includes(COVERAGE_FLAG) ? [] : ['--disable-coverage']
  const passed = parameters.filter(parameter => !isSuite(parameter) && parameter !== COVERAGE_FLAG)
  const child = spawn(TAP, ['--reporter=terse', ...coverage, ...files, ...passed], {
    stdio: ['inherit', 'pipe', 'inherit'],
    // A process group of its own: the processes of the tests, and what these have started, end with it.
    detached: true,
    // CI: no animation, whose frames would all stay in a file.
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

/** Nobody may be left in the group. */
function killGroup(leader: number | undefined, signal: NodeJS.Signals): void {
  try {
    if (leader !== undefined) process.kill(-leader, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** tap's last line of counts is `# { total: 6, pass: 3, fail: 1, todo: 1, skip: 1 }`; counts of 0 are left out. */
function summarise(output: string): string {
  const counts = [...output.matchAll(/# \{ ([^}]*) \}/g)].at(-1)?.[1] ?? ''
  const count = (name: string) => Number(new RegExp(`\\b${name}: (\\d+)`).exec(counts)?.[1] ?? 0)
  return `${count('pass')} passed, ${count('fail')} failed, ${count('skip') + count('todo')} skipped`
}
