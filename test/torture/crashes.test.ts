import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { checkLoad, type Load, startLoad } from '../fixtures/load.ts'
import { dataFolder, serve } from '../fixtures/spoor.ts'
import { figure, isLong, randomNumbers, rounds } from '../fixtures/torture.ts'
import { until } from '../fixtures/until.ts'

/** 2xx answers before a kill. */
const ENOUGH = 60
const random = randomNumbers()

/** A moment of its own for each kill, once the load is under way. */
async function untilUnderWay(load: Load): Promise<void> {
  const before = load.answered()
  await until(() => load.answered() >= before + ENOUGH)
  if (isLong) await delay(random() * 1000)
}

t.test('kill -9 of the server under load loses nothing that was answered', async t => {
  const env = { DATA_DIR: await dataFolder(t) }
  let { serving, address, key } = await serve(t, env)
  const loads: Load[] = []
  for (const round of rounds(1, 25)) {
    const load = startLoad(address, key!)
    loads.push(load)
    await untilUnderWay(load)
    serving.kill('SIGKILL')
    await serving.finished
    await load.stop()
    const next = await serve(t, env)
    serving = next.serving
    address = next.address
    figure('kills of the server; 2xx answers', `${round}; ${loads.reduce((sum, load) => sum + load.answered(), 0)}`)
    if (isLong) await checkLoad(t, address, key!, loads)
  }
  await checkLoad(t, address, key!, loads)
})

const postmasterOf = (folder: string): number => {
  const file = join(folder, 'postgres', 'data', 'postmaster.pid')
  return existsSync(file) ? Number.parseInt(readFileSync(file, 'utf8'), 10) : 0
}

/** Whatever of its processes serves a connection. */
function backendOf(postmaster: number): number {
  const processes = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args=']).toString().split('\n')
  const backends = processes.map(line => /^ *(\d+) +(\d+) +(.*)$/.exec(line)).filter(line => line !== null)
  const ours = backends.filter(([, , parent, title]) => Number(parent) === postmaster && title!.includes('[local]'))
  return Number(ours[Math.floor(random() * ours.length)]?.[1] ?? postmaster)
}

t.test('kill -9 of PostgreSQL or a backend under load loses nothing, and the server goes on', async t => {
  const folder = await dataFolder(t)
  const { address, key } = await serve(t, { DATA_DIR: folder })
  const load = startLoad(address, key!)
  for (const round of rounds(2, 25)) {
    await untilUnderWay(load)
    const postmaster = postmasterOf(folder)
    process.kill(round % 2 === 0 ? backendOf(postmaster) : postmaster, 'SIGKILL')
    const start = performance.now()
    await untilUnderWay(load)
    figure('kills of PostgreSQL and of backends; 2xx answers', `${round}; ${load.answered()}`)
    figure(`${ENOUGH} more 2xx answers after the last of them, ms`, Math.round(performance.now() - start))
  }
  await load.stop()
  await checkLoad(t, address, key!, [load])
})
