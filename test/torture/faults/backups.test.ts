/** Tests backups during writes, and restores whose process is killed. */
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { hexId, ingestBody, span } from '../../fixtures/bodies/bodies.ts'
import { backupOf, fullInstance, instanceRows, restore } from '../../fixtures/database/backups.ts'
import { testDatabase } from '../../fixtures/database/database.ts'
import { countOrphans, countStrays, NO_ORPHANS, NO_STRAYS } from '../../fixtures/database/seed.ts'
import { testFolder } from '../../fixtures/folder.ts'
import { testService } from '../../fixtures/service/service.ts'
import { configurationFor, runSpoor, start } from '../../fixtures/service/spoor.ts'
import { until } from '../../fixtures/until.ts'
import { figure, isLong, longTest, rounds } from '../orders.ts'

t.test('a backup under load has every previously acknowledged trace, each complete', async t => {
  const service = await testService(t)
  const answered: string[] = []
  const deleted = new Set<string>()
  let goesOn = true
  const write = async () => {
    while (goesOn) {
      const { trace } = ingestBody({ spans: [span(), span()], metadata: { secret: hexId(20) } })
      const { status } = await service.call('POST', '/api/v1/traces', { body: { schemaVersion: 1, trace } })
      t.equal(status, 201)
      answered.push(trace.id)
      if (answered.length % 7 > 0) continue
      const old = answered[Math.floor(Math.random() * answered.length)] as string
      deleted.add(old)
      await service.call('DELETE', `/api/v1/traces/${old}`)
    }
  }
  const writers = Promise.all([write(), write(), write()])
  for (const round of rounds(1, 20, 0.5)) {
    await until(async () => answered.length > round * 60)
    const before = [...answered]
    const backup = await backupOf(service.database)
    if (!isLong) goesOn = false
    const maybeDeleted = new Set(deleted)
    const database = await testDatabase(t)
    await restore(t, database, backup)
    t.same(await database.pool.run(countOrphans), NO_ORPHANS)
    t.same(await database.pool.run(countStrays), NO_STRAYS)
    const copy = await testService(t, { database })
    for (const id of before) {
      if (maybeDeleted.has(id)) continue
      const [one, other] = await Promise.all(
        [service, copy].map(each => each.call('GET', `/api/v1/traces/${id}`, { key: service.key }))
      )
      // The trace may have been deleted in the meantime.
      if (one!.status === 404) continue
      t.equal(other!.text, one!.text)
    }
  }
  goesOn = false
  await writers
  figure('traces acknowledged during backups', answered.length)
})

/** Number of points at which a restore is killed, and the number of traces to restore. */
const KILLS = 10
const TRACES = 600

longTest('a restore that is killed repeatedly finally yields the backed-up data', async t => {
  const original = await fullInstance(t)
  for (let n = 0; n < TRACES; n++) {
    const body = ingestBody({ input: 'x'.repeat(20_000), spans: [span()] })
    await record(original, body)
  }
  const rows = await instanceRows(original.database)
  const file = join(await testFolder(t), 'spoor.backup')
  await writeFile(file, await backupOf(original.database))
  const copy = await testDatabase(t)
  const env = configurationFor(copy)
  const stored = async () => {
    const [row] = await copy.pool.run(sql => sql<[{ traces: number }]>`select count(*) as traces from traces`)
    return row.traces
  }
  const total = rows.traces.reduce((sum, [traces]) => sum + (traces as unknown[]).length, 0)
  let killed = 0
  for (let place = 1; place <= KILLS; place++) {
    const child = start(['restore', file], env)
    const closed = once(child, 'close')
    await until(async () => (await stored()) >= (total * place) / (KILLS + 2) || child.exitCode !== null)
    child.kill('SIGKILL')
    const [code, signal] = await closed
    if (signal === 'SIGKILL') killed++
    else t.equal(code, 0, 'this machine was faster')
    if (code === 0) break
    const [doors] = await copy.pool.run(
      sql => sql`select (select count(*) from api_keys) + (select count(*) from memberships) as doors`
    )
    t.same(doors, { doors: 0 })
  }
  t.ok(killed > 0)
  const finished = await runSpoor(['restore', '--json', file], env)
  t.match(finished, { code: 0 }, finished.err)
  t.match(JSON.parse(finished.out), { resumed: true, otherSecret: false })
  t.same(await instanceRows(copy), rows)
  t.same(await copy.pool.run(countOrphans), NO_ORPHANS)
  t.same(await copy.pool.run(countStrays), NO_STRAYS)
})

async function record({ call }: Awaited<ReturnType<typeof fullInstance>>, body: unknown): Promise<void> {
  const { status, text } = await call('POST', '/api/v1/traces', { body })
  if (status !== 201) throw new Error(text)
}
