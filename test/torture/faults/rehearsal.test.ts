/**
 * Simulates an operator's year in an hour. Typical traces are recorded, backed up, restored into the oldest supported
 * PostgreSQL version and compared, and then half of them are pruned. Operators would run the same commands.
 */
import { spawnSync } from 'node:child_process'
import { chmod, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import { chooseSettings } from '../../../lib/database/embedded/cluster-settings.ts'
import { RELEASES } from '../../../lib/database/embedded/releases.ts'
import { fetchPrograms } from '../../../lib/moving/upgrade/programs.ts'
import { type Sender, startSender } from '../../bench/load/load.ts'
import { startTestCluster } from '../../fixtures/database/cluster.ts'
import { withEmbedded } from '../../fixtures/database/embedded.ts'
import { CACHE } from '../../fixtures/database/old-cluster.ts'
import { testFolder } from '../../fixtures/folder.ts'
import { runForJson, serve, stop } from '../../fixtures/service/spoor.ts'
import { figure, longTest, traces as wanted } from '../orders.ts'

const OLDEST = '15'
const DETAILS = 1000
const CONNECTIONS = 128
const ROUND_MS = 10_000
/** Number of traces per minute in the load's timestamps. */
const TRACES_PER_MINUTE = 16
const FIRST_MS = Date.UTC(2026, 0, 1)

const secret = 'the secret of a rehearsal'

// This test takes an hour and downloads PostgreSQL. `npm test` covers all of its steps separately.
longTest(
  'recorded data is backed up, restored into the oldest PostgreSQL, compared, and half of it pruned',
  async t => {
    const folder = await testFolder(t)
    await chmod(folder, 0o755)
    const dataDir = join(folder, 'data')
    const env = { DATA_DIR: dataDir, KEY_DIGEST_SECRET: secret, LOG_REQUESTS: 'none' }
    const timed = stopwatch()

    const original = await serve(t, env)
    const key = original.key as string
    const recorded = await record(t, Number(new URL(original.address).port), key)
    timed(`recording ${recorded} typical traces`)
    const before = await totalsOf(original.address, key)
    t.equal(before.traceCount, recorded)
    figure('database size with all traces', inGb(diskOf(dataDir)))

    const file = join(folder, 'spoor.backup')
    timed()
    const counts = await runForJson(['backup', file], env)
    const seconds = timed('backup beside the server')
    t.match(counts, { traces: recorded, spans: before.spanCount })
    figure('backup, MB of bodies per second', (before.estimatedBytes / 1e6 / seconds).toFixed(1))
    figure('backup size', inGb((await stat(file)).size))
    timed()
    await runForJson(['backup', '--verify', file])
    timed('verifying it')

    const programs = await fetchPrograms(CACHE, RELEASES[OLDEST] as string)
    const cluster = await startTestCluster({ ...chooseSettings(), autovacuum: 'on' }, programs)
    t.teardown(() => cluster.stop())
    const { socketDir, port, user, password, database } = cluster.target
    const socket = { PGHOST: socketDir, PGPORT: String(port), PGUSER: user, PGPASSWORD: password }
    const copyEnv = { ...socket, DATABASE_URL: `postgres:///${database}`, KEY_DIGEST_SECRET: secret }
    timed()
    t.match(await runForJson(['restore', file], copyEnv), { traces: recorded, otherSecret: false })
    timed(`restore into PostgreSQL ${OLDEST}, read back`)

    const copy = await serve(t, copyEnv)
    t.same(await totalsOf(copy.address, key), before, 'totals')
    const ids = await withEmbedded(dataDir, async sql => {
      const rows = await sql<{ id: string }[]>`select id from traces order by random() limit ${DETAILS}`
      return rows.map(({ id }) => id)
    })
    t.equal(ids.length, DETAILS)
    let different = 0
    for (const id of ids) {
      const [one, other] = await Promise.all([original, copy].map(({ address }) => detailOf(address, key, id)))
      if (one !== other) different++
    }
    t.equal(different, 0, `${DETAILS} random details`)
    await stop(copy.serving)

    const half = new Date(FIRST_MS + (recorded / 2 / TRACES_PER_MINUTE) * 60_000).toISOString()
    timed()
    const pruned = await runForJson(['trace', 'delete', '--project', 'default', '--before', half, '--apply'], env)
    timed(`pruning ${pruned.traces} of them beside the server`)
    const after = await totalsOf(original.address, key)
    t.ok(Math.abs(pruned.traces / recorded - 0.5) < 0.1, `${pruned.traces} of ${recorded}`)
    t.equal(after.traceCount, recorded - pruned.traces)
    t.match(await runForJson(['project', 'recount', 'default'], env), { agree: true })
    figure('database size after pruning', inGb(diskOf(dataDir)))
    figure('of that, reusable space', inGb(pruned.reusableBytes))
    figure('returned to the file system', inGb(pruned.givenBackBytes))
  }
)

/** Records at least `traces` traces as fast as possible. Returns the number recorded. */
async function record(t: Test, port: number, key: string): Promise<number> {
  const sender: Sender = startSender()
  t.teardown(() => sender.stop())
  const plan = { port, key, kind: 'typical', connections: CONNECTIONS, warmUpMs: 0, measureMs: ROUND_MS } as const
  let traces = 0
  while (traces < wanted) {
    await sender.run({ ...plan, firstNumber: traces + 1 })
    // Traces that were acknowledged after the end of the measurement count as well.
    traces = (await totalsOf(`http://127.0.0.1:${port}`, key)).traceCount
    figure('traces recorded', traces)
  }
  return traces
}

const totalsOf = async (address: string, key: string) => JSON.parse(await read(`${address}/api/v1/project`, key))

const detailOf = (address: string, key: string, id: string) => read(`${address}/api/v1/traces/${id}`, key)

async function read(url: string, key: string): Promise<string> {
  const answer = await fetch(url, { headers: { authorization: `Bearer ${key}` } })
  const text = await answer.text()
  if (answer.status !== 200) throw new Error(`${url}: ${text}`)
  return text
}

/** Returns a function that returns the seconds since its previous call. If it is given a name, it also reports them. */
function stopwatch() {
  let began = performance.now()
  return (name?: string): number => {
    const seconds = (performance.now() - began) / 1000
    if (name !== undefined) figure(`${name}, seconds`, Math.round(seconds))
    began = performance.now()
    return seconds
  }
}

/** Returns the disk space of a data folder in bytes, without PostgreSQL's WAL. */
function diskOf(folder: string): number {
  const { stdout } = spawnSync('du', ['-sB1', '--exclude=pg_wal', folder], { encoding: 'utf8' })
  return Number.parseInt(stdout, 10)
}

const inGb = (bytes: number): string => `${(bytes / 1e9).toFixed(2)} GB`
