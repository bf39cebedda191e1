/** Tests that the benchmark measures and leaves nothing behind. This test takes too long for `npm test`. */
import { once } from 'node:events'
import { mkdtemp, readdir, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { connectTo } from '../../../lib/database/connection.ts'
import { readTestServer } from '../../fixtures/database/database.ts'
import { spawnNode } from '../../fixtures/node.ts'
import { configurationFor } from '../../fixtures/service/spoor.ts'
import { longTest } from '../orders.ts'

const BENCH = fileURLToPath(new URL('../../bench/bench.js', import.meta.url))
const ROOT = fileURLToPath(new URL('../../../..', import.meta.url))

/** Creates a folder that must be empty afterwards. */
async function emptyFolder(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'spoor-bench-test-'))
  t.teardown(() => rm(folder, { recursive: true }))
  return folder
}

function start(parameters: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const child = spawnNode([BENCH, ...parameters], { env: { ...process.env, ...env } })
  return { child, result: Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]) }
}

longTest('measures a case against COPY and with another PostgreSQL, and leaves nothing behind', async t => {
  const folder = await emptyFolder(t)
  const quick = ['--case', 'small', '--runs', '1', '--seconds', '0.2', '--connections', '8']
  const { target } = readTestServer()
  const { DATABASE_URL, ...env } = configurationFor({ target, digestSecret: undefined })
  const other = ['--database', DATABASE_URL!]
  const [out, err, [code]] = await start([...quick, ...other, '--json', '--folder', folder], env).result
  t.equal(code, 0, err)
  const { machine, whole, beside } = JSON.parse(out)
  t.match(machine.durability, 'fsync on, synchronous_commit on')
  t.ok(whole.small.load.tracesPerSecond > 0)
  t.equal(whole.small.load.refused, 0)
  t.ok(whole.small.copy.tracesPerSecond > 0)
  t.equal(whole.small.ratio, whole.small.load.tracesPerSecond / whole.small.copy.tracesPerSecond)
  const [{ embedded, other: beyond, rate }] = beside.kinds
  t.equal(rate, embedded.tracesPerSecond / beyond.tracesPerSecond)
  t.match(beside.settings, { fsync: ['on', 'off'] }, 'reports the settings that differ')
  t.strictSame(await readdir(folder), [])
  const sql = connectTo(target)
  const left = await sql`select datname from pg_database where datname like 'spoor_bench_%'`
  await sql.end()
  t.strictSame([...left], [])
})

longTest('leaves nothing behind when it is interrupted', async t => {
  const folder = await emptyFolder(t)
  const { child, result } = start(['--case', 'small', '--folder', folder])
  // The first line of the progress report shows that something has been started.
  await once(child.stderr, 'data')
  child.kill('SIGINT')
  const [out, , [code]] = await result
  t.equal(code, 130)
  t.equal(out, '')
  t.strictSame(await readdir(folder), [])
})

longTest('measures working trees in turns, and leaves nothing behind', async t => {
  const folder = await emptyFolder(t)
  const other = await emptyFolder(t)
  for (const name of ['build', 'node_modules', 'package.json', 'sql', 'plugins']) {
    await symlink(join(ROOT, name), join(other, name))
  }
  const quick = ['--kind', 'small', '--rounds', '1', '--seconds', '0.2', '--warm-up', '0.1', '--connections', '8']
  const [out, err, [code]] = await start(['trees', ...quick, '--json', '--folder', folder, ROOT, other]).result
  t.equal(code, 0, err)
  const [first, second] = JSON.parse(out)
  t.ok(first.load.nodeCpu > 0)
  t.equal(first.ratios.nodeCpu, 1)
  t.equal(second.load.refused, 0)
  t.strictSame(await readdir(folder), [])
})
