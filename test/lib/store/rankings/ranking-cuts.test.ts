/** Tests that long rankings are cut while traces are recorded, and that every way of writing respects the floors. */
import type { Sql } from 'postgres'
import t from 'tap'
import type { WritePath } from '../../../../lib/ingest/write-path.ts'
import { createLog } from '../../../../lib/log.ts'
import { listTraces } from '../../../../lib/store/lists/trace-list.ts'
import { AT, endBody, ingestBody, startBody } from '../../../fixtures/bodies/bodies.ts'
import { testDatabase } from '../../../fixtures/database/database.ts'
import { countStrays, NO_STRAYS } from '../../../fixtures/database/seed.ts'
import { bytes, testWritePath, writer } from '../../../fixtures/database/write-path.ts'
import { until } from '../../../fixtures/until.ts'

const CUTS = { first: 30, each: 30, read: 10, size: { most: 10, kept: 5 } }
const LISTED = { name: 'run', model: 'm', tags: ['a', 'b'] }

/** Fields of a trace with the given duration: the end time, and a proportional cost. */
const lasting = (ms: number) => ({ endedAt: new Date(Date.parse(AT) + ms).toISOString(), costUsd: ms / 1000 })
const record = (path: WritePath, ms: number) => path.record(writer(), bytes(ingestBody({ ...LISTED, ...lasting(ms) })))
const shuffled = (count: number) => Array.from({ length: count }, (_, i) => 1 + ((i * 37) % count))

async function stream(path: WritePath, ms: number): Promise<void> {
  const { trace } = startBody(LISTED)
  await path.record(writer(), bytes({ schemaVersion: 1, trace }))
  await path.end(writer(), trace.id, bytes(endBody(lasting(ms))))
}

/** Returns the ids on all pages of a list in the first project. */
async function walk(sql: Sql, query: Omit<Parameters<typeof listTraces>[2], 'limit'>): Promise<string[]> {
  const ids: string[] = []
  let page: Awaited<ReturnType<typeof listTraces>> | undefined
  do {
    page = await listTraces(sql, 1, { ...query, limit: 7, ...(page && { after: page.next }) })
    ids.push(...JSON.parse(page.traces).map((trace: { id: string }) => trace.id))
  } while (page.next !== undefined)
  return ids
}

t.test('traces that are not at the top of a long list are no longer ranked, but still found', async t => {
  const database = await testDatabase(t)
  const paths = [testWritePath(t, database, { cuts: CUTS }), testWritePath(t, database, { cuts: CUTS })] as const
  const ranked = async () => {
    const [row] = await database.pool.run(
      sql => sql`select count(*) filter (where ranked = 0)::int as none, count(*) filter (where ranked = 15)::int as "all"
        from (select ranked from traces union all select ranked from trace_tags) both_tables`
    )
    return row as { none: number; all: number }
  }
  await Promise.all(shuffled(60).map((ms, i) => record(paths[i % 2]!, ms)))
  // Each write path, like a process of its own, reads the floors after it has cut rankings.
  for (const path of paths) {
    await until(async () => {
      const before = await ranked()
      await Promise.all(Array.from({ length: CUTS.each }, () => record(path, 0)))
      return (await ranked()).none > before.none
    })
  }
  const before = await ranked()
  for (const path of paths) {
    await record(path, 0)
    await stream(path, 0)
    await record(path, 1000)
    await stream(path, 1000)
  }
  const after = await ranked()
  t.strictSame(
    { none: after.none - before.none, all: after.all - before.all },
    { none: 4 * 3, all: 4 * 3 },
    'a trace and its two tags, recorded or streamed, copied or not'
  )
  t.same(await database.pool.run(countStrays), NO_STRAYS)
  await database.pool.run(async sql => {
    for (const [sort, column] of [
      ['slowest', 'duration_ms'],
      ['costliest', 'cost_usd']
    ] as const) {
      const expected = await sql.unsafe(`select id from traces order by ${column} desc, id desc`)
      for (const filter of [{}, { model: 'm' }, { name: 'run' }, { tag: 'a' }, { tag: 'b', name: 'run' }]) {
        t.strictSame(
          await walk(sql, { sort, ...filter }),
          expected.map(({ id }) => id),
          `${sort} ${JSON.stringify(filter)}`
        )
      }
    }
  })
})

t.test('if rankings cannot be cut, the log says so, and writing continues', async t => {
  const database = await testDatabase(t)
  const lines: string[] = []
  const log = createLog('warn', { write: line => lines.push(line) })
  const withoutTables = {
    ...database,
    connect: (...[options, open]: Parameters<typeof database.connect>) =>
      options?.applicationName === 'rankings'
        ? database.connect({ ...options, settings: { search_path: 'nowhere' } }, open)
        : database.connect(options, open)
  }
  const path = testWritePath(t, withoutTables, { cuts: CUTS }, log)
  await Promise.all(shuffled(40).map(ms => record(path, ms)))
  await until(() => lines.length > 0)
  t.match(lines.join(''), /could not be shortened/)
  t.equal((await record(path, 1)).duplicate, false)
})
