import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { checkLoad, startLoad } from './fixtures/load.ts'
import { dataFolder, serve } from './fixtures/spoor.ts'
import { until } from './fixtures/until.ts'

const ENOUGH = 60

const postgresOf = (folder: string): number => {
  const file = join(folder, 'postgres', 'data', 'postmaster.pid')
  return existsSync(file) ? Number.parseInt(readFileSync(file, 'utf8'), 10) : 0
}

t.test('kill -9 of the server under load loses nothing that was answered', async t => {
  const env = { DATA_DIR: await dataFolder(t) }
  const first = await serve(t, env)
  const load = startLoad(first.address, first.key!)
  await until(() => load.answered() >= ENOUGH)
  first.serving.kill('SIGKILL')
  await first.serving.finished
  await load.stop()
  const second = await serve(t, env)
  await checkLoad(t, second.address, first.key!, load)
})

t.test('kill -9 of PostgreSQL under load loses nothing that was answered, and the server goes on', async t => {
  const folder = await dataFolder(t)
  const { address, key } = await serve(t, { DATA_DIR: folder })
  const load = startLoad(address, key!)
  await until(() => load.answered() >= ENOUGH)
  const killed = postgresOf(folder)
  process.kill(killed, 'SIGKILL')
  const before = load.answered()
  await until(() => load.answered() >= before + ENOUGH)
  await load.stop()
  t.not(postgresOf(folder), killed, 'PostgreSQL was started again')
  await checkLoad(t, address, key!, load)
})
