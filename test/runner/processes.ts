/**
 * Runs suites, several at once, each in a process that writes its results to a file. Tap's own runner would read all
 * results while the tests run, which takes a third of a millisecond of CPU time for each assertion.
 */
import { mkdir, open, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runGroup } from './groups.ts'
import { type Counts, countsOf, failuresOf } from './output.ts'

/** The folder for the results of the last run. */
const RESULTS = fileURLToPath(new URL('../../../.tap/test-results', import.meta.url))

export interface RunOptions {
  /** The number of suites that run at once. */
  readonly jobs: number
  /** The maximum duration of a suite, in seconds; 0 for no limit. */
  readonly timeout: number
  readonly env: NodeJS.ProcessEnv
}

/** Runs the files in the given order. Prints each suite's counts and failures when the suite ends. */
export async function runProcesses(files: readonly string[], options: RunOptions): Promise<Counts> {
  await rm(RESULTS, { recursive: true, force: true })
  await mkdir(RESULTS, { recursive: true })
  const queue = files.values()
  const all: Counts[] = []
  const work = async () => {
    for (const file of queue) all.push(await runProcess(file, options))
  }
  await Promise.all(Array.from({ length: options.jobs }, work))
  const sum = (name: keyof Counts) => all.reduce((total, counts) => total + counts[name], 0)
  return { passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') }
}

async function runProcess(file: string, { timeout, env }: RunOptions): Promise<Counts> {
  const name = basename(file, '.js')
  const start = performance.now()
  // The file stays open, because another run of the same build may remove it.
  const results = await open(join(RESULTS, `${name}.tap`), 'w+')
  const end = await runGroup([process.execPath, file], {
    stdio: ['ignore', results.fd, 'inherit'],
    env: { ...env, TAP_TIMEOUT: String(timeout) }
  })
  const { size } = await results.stat()
  const { buffer } = await results.read(Buffer.alloc(size), 0, size, 0)
  await results.close()

  const output = buffer.toString()
  const failures = failuresOf(output)
  const counts = countsOf(output)
  const { passed, failed, skipped } = counts ?? { passed: 0, failed: 0, skipped: 0 }
  if (counts === undefined || (end === 0) !== (failed === 0)) {
    failures.push(`not ok - the process ended with ${end} ${counts === undefined ? 'before' : 'after'} its tests`)
  }
  if (/^1\.\.0\b/m.test(output)) failures.push('not ok - no test was found')
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  console.log(`${failures.length === 0 ? 'ok' : 'not ok'} ${name}: ${passed} passed in ${seconds} s`)
  for (const failure of failures) console.log(failure)
  return { passed, failed: Math.max(failed, Math.min(failures.length, 1)), skipped }
}
