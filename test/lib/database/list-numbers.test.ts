/** 0002-list-numbers: what a database of before has computed itself is kept, and the write path goes on with it. */
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { ingestBody } from '../../fixtures/bodies.ts'
import { testDatabase } from '../../fixtures/database.ts'
import { LISTS, TAG_LISTS } from '../../fixtures/lists.ts'
import { countStrays, NO_STRAYS } from '../../fixtures/seed.ts'
import { bytes, testWritePath, writer } from '../../fixtures/write-path.ts'

const MIGRATION = new URL('../../../../sql/0002-list-numbers.sql', import.meta.url)

t.test('numbers that were generated are kept, and can be written', async t => {
  const database = await testDatabase(t)
  const path = testWritePath(t, database)
  const record = () => path.record(writer(), bytes(ingestBody({ userId: 'u', tags: ['a', 'b'] })))
  // As it was before: the indexes, which go with the columns, are not what this is about.
  await database.pool.run(sql =>
    sql.unsafe(
      [...generated('traces', LISTS), ...generated('trace_tags', { ...TAG_LISTS, tag_user: OWN_TAG_USER })].join(';')
    )
  )
  await t.rejects(record(), { code: '428C9' }, 'nothing else than PostgreSQL writes them')
  await database.pool.run(async sql => {
    await sql`insert into traces (project_id, span_count, error_count, seq, version, started_at, document_bytes,
        estimated_bytes, id, name, status, user_id, tags, body_hash)
      values (1, 0, 0, 1, 1, now(), 0, 0, gen_random_uuid(), 'old', 'ok', 'u', '{a}', '')`
    await sql`insert into trace_families (project_id, family, status) select project_id, family, status from traces`
    await sql`insert into trace_tags (project_id, kind, family, started_at, id, user_id, tag)
      select project_id, kind, family, started_at, id, user_id, 'a' from traces`
  })
  for (let times = 0; times < 2; times++) {
    await database.pool.run(async sql => sql.unsafe(await readFile(MIGRATION, 'utf8')))
  }
  await record()
  t.same(await database.pool.run(countStrays), NO_STRAYS)
  t.match(await database.pool.run(sql => sql`select count(*)::int as traces from traces`), [{ traces: 2 }])
})

const OWN_TAG_USER = 'hashtextextended(tag, hashtextextended(user_id, family))'

const generated = (table: string, columns: Readonly<Record<string, string>>): string[] =>
  Object.entries(columns).flatMap(([name, value]) => {
    return [
      `alter table ${table} drop column ${name}`,
      `alter table ${table} add column ${name} bigint generated always as (${value}) stored`
    ]
  })
