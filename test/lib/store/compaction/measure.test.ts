import type { Sql } from 'postgres'
import t, { type Test } from 'tap'
import { type MeasuredTable, measureTables } from '../../../../lib/store/compaction/measure.ts'
import { deleteWhere, fillBloat } from '../../../fixtures/database/bloat.ts'
import { testDatabase } from '../../../fixtures/database/database.ts'
import { seedProject } from '../../../fixtures/database/seed.ts'
import { testWritePath } from '../../../fixtures/database/write-path.ts'

/** Maximum error of an estimate: a share of the actual size, and the maps of free space of a small table. */
const MOST_OFF = { share: 0.1, bytes: 80 * 1024 }

/** Rebuilds everything, and compares the actual sizes with the estimates. */
async function compare(t: Test, sql: Sql, what: string): Promise<void> {
  const before = await measureTables(sql)
  const names = before
    .filter(({ bytes }) => bytes > 1e6)
    .map(({ name }) => name)
    .join(', ')
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

t.test('the size after a rebuild is predicted, whatever was deleted', async t => {
  const database = await testDatabase(t)
  const path = testWritePath(t, database)
  await database.pool.run(async sql => {
    await seedProject(sql)
    await fillBloat(sql, path, 60)
    // An analysis in the background, spoor's or PostgreSQL's, would hold a snapshot, for which deleted rows are kept.
    await path.close()
    for (const { name } of await measureTables(sql)) {
      await sql.unsafe(`alter table ${name} set (autovacuum_enabled = off)`)
    }
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
