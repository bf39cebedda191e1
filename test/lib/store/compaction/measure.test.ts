import type { Sql } from 'postgres'
import t, { type Test } from 'tap'
import { type MeasuredTable, measureTables } from '../../../../lib/store/compaction/measure.ts'
import { deleteWhere, fillBloat } from '../../../fixtures/database/bloat.ts'
import { testDatabase } from '../../../fixtures/database/database.ts'
import { seedProject } from '../../../fixtures/database/seed.ts'
import { testWritePath } from '../../../fixtures/database/write-path.ts'
import { until } from '../../../fixtures/until.ts'

/** Maximum error of an estimate: a share of the actual size, and the maps of free space of a small table. */
const MOST_OFF = { share: 0.1, bytes: 80 * 1024 }

/** Rebuilds everything, and compares the actual sizes with the estimates. */
async function compare(t: Test, sql: Sql, what: string): Promise<void> {
  const before = await measureTables(sql)
  const names = before
    .filter(({ bytes }) => bytes > 1e6)
    .map(({ name }) => name)
    .join(', ')
  await untilRemovable(sql)
  if (names !== '') await sql.unsafe(`vacuum (full) ${names}`)
  if (names !== '') await sql.unsafe(`vacuum ${names}`)
  const after = new Map((await measureTables(sql)).map(table => [table.name, table]))
  const off = (part: string, now: number, estimated: number, actual: number) => {
    const isNear = Math.abs(estimated - Math.min(actual, now)) <= Math.max(MOST_OFF.bytes, MOST_OFF.share * actual)
    if (!isNear) t.fail(`${what}: ${part} takes ${actual} bytes, not ${estimated}`)
  }
  for (const { name, bytes, afterBytes, indexes } of before) {
    if (bytes <= 1e6) continue
    const actual = after.get(name) as MeasuredTable
    off(name, bytes, afterBytes, actual.bytes)
    for (const [i, index] of indexes.entries()) off(index.name, index.bytes, index.afterBytes, actual.indexes[i]!.bytes)
  }
}

/**
 * Waits for the transactions that were open when rows were deleted, in any database of the server: other tests run at
 * the same time. A rebuild keeps all rows that were deleted after the start of the oldest open transaction.
 */
async function untilRemovable(sql: Sql): Promise<void> {
  const read = async () => {
    const [row] = await sql<{ oldest: bigint; next: bigint }[]>`
      select pg_snapshot_xmin(now)::text::bigint as oldest, pg_snapshot_xmax(now)::text::bigint as next
      from pg_current_snapshot() as now`
    return row!
  }
  const { next } = await read()
  await until(async () => (await read()).oldest >= next)
}

t.test('the size after a rebuild is predicted, whatever was deleted', async t => {
  const database = await testDatabase(t)
  const path = testWritePath(t, database)
  await database.pool.run(async sql => {
    await seedProject(sql)
    await fillBloat(sql, path, 60)
    // An analysis in the background would hold a snapshot, for which deleted rows are kept.
    await path.close()
    const deletions = {
      nothing: 'false',
      'one in four, anywhere': 't.seq % 4 = 1',
      'the older half': 't.started_at < (select percentile_disc(0.5) within group (order by started_at) from traces)',
      'nearly all': 'abs(hashint8(t.seq)) % 50 <> 0',
      everything: 'true'
    }
    for (const [what, condition] of Object.entries(deletions)) {
      await deleteWhere(sql, condition)
      await compare(t, sql, what)
    }
  })
})
