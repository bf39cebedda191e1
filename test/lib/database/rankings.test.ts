/** From 0003 on: a database of before becomes what a new one is, and its traces stay in every list. */
import type { Sql } from 'postgres'
import t from 'tap'
import { migrate, readMigrations } from '../../../lib/database/migrate.ts'
import { createLog } from '../../../lib/log.ts'
import { listTraces } from '../../../lib/store/lists/trace-list.ts'
import { ingestBody } from '../../fixtures/bodies.ts'
import { testDatabase } from '../../fixtures/database.ts'
import { countStrays, NO_STRAYS } from '../../fixtures/seed.ts'
import { bytes, testWritePath, writer } from '../../fixtures/write-path.ts'

const TABLES = [
  { table: 'traces', prefix: 'traces', column: '' },
  { table: 'trace_tags', prefix: 'tags', column: 'tag_' }
]
const KEYS = [
  ['slowest', 'duration_ms'],
  ['costliest', 'cost_usd']
] as const

/** The indexes as 0001 once made them. */
const OLD_INDEXES = TABLES.flatMap(({ table, prefix, column }) =>
  ['family', 'kind'].flatMap(base =>
    KEYS.map(
      ([name, key]) =>
        `create index ${prefix}_of_${base}_${name} on ${table} (project_id, ${column}${base}, ${key}, id) where ${key} is not null`
    )
  )
)

const indexesOf = (sql: Sql) =>
  sql`select indexname, indexdef from pg_indexes where schemaname = 'public' order by indexname`

const optionsOf = (sql: Sql) => sql`select reloptions from pg_class where oid = 'traces'::regclass`

const columnsOf = (sql: Sql) =>
  sql`select attname, atttypid, attstorage from pg_attribute
    where attrelid = 'spans'::regclass and attnum > 0 and not attisdropped order by attname`

const LATER = (await readMigrations()).map(({ version }) => version).filter(version => version >= 3)

t.test('a database of before is brought up to what a new one is', async t => {
  const database = await testDatabase(t)
  const body = () => bytes(ingestBody({ name: 'run', tags: ['a'], costUsd: 1 }))
  const before = testWritePath(t, database)
  await before.record(writer(), body())
  await before.close()
  await database.pool.run(async sql => {
    const wanted = await indexesOf(sql)
    const options = await optionsOf(sql)
    const columns = await columnsOf(sql)
    await sql.unsafe(
      [
        'alter table traces drop column ranked',
        'alter table trace_tags drop column ranked',
        'drop table ranking_floors',
        'drop index traces_slowest, traces_costliest',
        ...OLD_INDEXES,
        'alter table traces set (fillfactor = 85)',
        'alter table spans drop column packed',
        'delete from schema_migrations where version >= 3'
      ].join(';')
    )
    t.notSame(await indexesOf(sql), wanted)
    t.strictSame(await migrate(database, createLog('silent')), LATER)
    t.same(await indexesOf(sql), wanted)
    t.same(await optionsOf(sql), options)
    t.same(await columnsOf(sql), columns)
    // As where it was broken off at its end.
    await sql`delete from schema_migrations where version >= 3`
    t.strictSame(await migrate(database, createLog('silent')), LATER)
    t.same(await indexesOf(sql), wanted)
  })
  await testWritePath(t, database).record(writer(), body())
  await database.pool.run(async sql => {
    t.same(await countStrays(sql), NO_STRAYS)
    for (const [sort] of KEYS) {
      const { traces } = await listTraces(sql, 1, { sort, tag: 'a', name: 'run', limit: 9 })
      t.equal(JSON.parse(traces).length, 2)
    }
  })
})
