import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from 'postgres'
import t, { type Test } from 'tap'
import { readPostmaster, withEmbedded } from '../../fixtures/database/embedded.ts'
import { countOrphans, countStrays, NO_ORPHANS, NO_STRAYS } from '../../fixtures/database/seed.ts'
import { childrenOf, type Process } from '../../fixtures/processes.ts'
import { dataFolder, serve } from '../../fixtures/service/spoor.ts'
import { until } from '../../fixtures/until.ts'
import { Witness } from '../load/witness.ts'
import { figure, isLong, randomNumbers, rounds } from '../orders.ts'

/** Number of 2xx responses before each kill. */
const ENOUGH = 60
const random = randomNumbers()

/** Waits for a random moment during the load, so that kills happen at different moments. */
async function untilUnderWay({ counts }: Witness): Promise<void> {
  const before = counts.answered2xx
  await until(() => counts.answered2xx >= before + ENOUGH)
  if (isLong) await delay(random() * 1000)
}

const oneOf = <T>(list: readonly T[]): T | undefined => list[Math.floor(random() * list.length)]

/** `npm test` kills only the first `SHORT` of these victims. */
const VICTIMS = ['PostgreSQL', 'a server process', 'the server', 'a backend'] as const
const SHORT = 1

t.test('kill -9 of any process under load loses nothing, and leaves nothing half-written', async t => {
  const folder = await dataFolder(t)
  const env = { DATA_DIR: folder, PROCESSES: '2', OTLP_MAX_SPANS: '200', REPACK_AFTER: '0s' }
  let server = await serve(t, env)
  const witness = new Witness(() => server.address, server.key!)
  const killed = new Map<string, number>()
  let longest = 0
  for (const round of rounds(SHORT, 500)) {
    await untilUnderWay(witness)
    const victim = VICTIMS[(round - 1) % VICTIMS.length]!
    const start = performance.now()
    if (victim === 'the server') {
      server.serving.kill('SIGKILL')
      await server.serving.finished
      server = await serve(t, env)
    } else {
      const parent = victim === 'a server process' ? server.serving.pid : readPostmaster(folder).pid
      const isSought = ({ title }: Process) => (victim === 'a server process' ? /node/ : /\[local\]/).test(title)
      const pid = victim === 'PostgreSQL' ? parent : oneOf(childrenOf(parent).filter(isSought))?.pid
      process.kill(pid!, 'SIGKILL')
    }
    killed.set(victim, (killed.get(victim) ?? 0) + 1)
    await untilUnderWay(witness)
    figure('kills', [...killed].map(([name, times]) => `${times} of ${name}`).join(', '))
    figure('2xx responses', witness.counts.answered2xx)
    figure('rejected permanently (4xx), leaving no trace', witness.counts.answered4xx)
    figure('rejected temporarily (429)', witness.counts.refused)
    figure('not answered', witness.counts.unanswered)
    figure('of these, resent and answered correctly', witness.counts.resent)
    const took = Math.round(performance.now() - start)
    longest = Math.max(longest, took)
    figure(`${ENOUGH} more 2xx answers after the last kill, ms`, took)
    figure('maximum time for these after any kill, ms', longest)
    if (witness.wrong.length > 0) break
  }
  await witness.stop()
  await witness.check()
  figure('wrong responses, and incomplete traces', witness.wrong.length)
  t.same(witness.wrong.slice(0, 5), [], 'every response and every trace agrees with the model')
  await checkRows(t, folder)
})

async function checkRows(t: Test, folder: string): Promise<void> {
  const [orphans, strays, repacked] = await withEmbedded(folder, async sql => [
    await countOrphans(sql),
    await countStrays(sql),
    await countRepacked(sql)
  ])
  t.same(orphans, NO_ORPHANS, 'no row is orphaned, and every count equals its rows')
  t.same(strays, NO_STRAYS)
  t.ok(repacked! > 0, 'traces were repacked')
  figure('repacked traces', repacked)
  figure(
    'orphans: spans, scores, tags, families; counts, packed texts and totals amiss',
    Object.values(orphans!).join(', ')
  )
}

/** Returns the number of traces of which at least five spans came in several requests, and are packed together. */
async function countRepacked(sql: Sql): Promise<number> {
  const [row] = await sql<[{ count: number }]>`
    select count(*)::int as count from (
      select from spans s join traces t on t.project_id = s.project_id and t.seq = s.trace_seq
      where t.end_hash is not null group by s.project_id, s.trace_seq
      having count(s.packed) >= 5 and count(distinct substr(s.packed, 3, 8)) = 1
    ) repacked`
  return row.count
}
