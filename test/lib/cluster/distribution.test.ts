import t from 'tap'
import { describeLeftBehind, migrateSchema, readLeftBehind, readTables } from '../../../lib/cluster/distribution.ts'
import { readMigrations } from '../../../lib/database/migrate.ts'
import { createLog } from '../../../lib/log.ts'
import { isOnCluster, testDatabase } from '../../fixtures/database/database.ts'
import { seedProject } from '../../fixtures/database/seed.ts'

const log = createLog('silent')
/** Restores the schema from before migration 6. */
const BACK = `
  drop view rollup_latencies;
  alter table audit drop column client;
  drop table second_factors;
  alter table accounts drop column requires_factor;
  drop index audit_of_account, audit_of_project, audit_of_user;
  drop table rollup_news, rollups, rollup_history, user_sums, saved_views, model_prices, unpriced_models;
  drop table search_news, search_terms, search_segments, search_postings, search_fills;
  drop table oidc_identities, unkept_records;
  alter table spans drop column call_details;
  alter table traces drop column input_span_id, drop column output_span_id, drop column input_bytes,
    drop column output_bytes;
  alter table span_messages drop column event, drop column facts, drop column call;
  drop index sign_in_attempts_until;
  alter table users drop column oidc_email_until;
  alter table web_sessions drop column proven_at, drop column ends_at;
  alter table memberships drop column by_claim;
  drop table repack_waits, repack_marks;
  drop table change_news, change_log, change_feeds;
  drop table usage_sums;
  drop table score_definitions, review_leases, public_links;
  alter table projects drop column search, drop column repacked_to, drop column usage_tags;
  alter table projects drop column retention_days, drop column retention_keeps_scored, drop column retention_keeps_tags;
  delete from schema_migrations where version >= 6`

t.test(
  'tables that a migration creates are distributed like the traces, including the rows that it writes',
  async t => {
    const database = await testDatabase(t)
    const { pool } = database
    const ids = await pool.run(async sql => [await seedProject(sql), await seedProject(sql)])
    const where = () =>
      pool.run(async sql =>
        (await readTables(sql)).map(({ name, column, colocation }) => ({ name, column, colocation }))
      )
    const before = await where()
    await pool.run(async sql => {
      for (const statement of BACK.split(';')) await sql.unsafe(statement)
    })
    const versions = (await readMigrations()).map(({ version }) => version)
    t.same(
      await migrateSchema(database, log),
      versions.filter(version => version >= 6)
    )
    t.same(await where(), before)
    await pool.run(async sql => {
      t.same(await readLeftBehind(sql), [])
      const rows = await sql`select project_id as id from rollup_history order by id`
      t.same(
        rows.map(({ id }) => id),
        ids
      )
      await sql`insert into user_sums values (${ids[0]!}, 1, now(), 1, 0, 0, 1, 1, 0)`
      if (!isOnCluster()) return
      await sql`select undistribute_table('user_sums')`
      await sql`select undistribute_table('search_news')`
      t.same(
        await readLeftBehind(sql),
        ['user_sums', 'search_news'],
        'tables that are distributed differently are named'
      )
    })
  }
)

t.test(
  'no migration adds a constraint with another change, or contains code blocks, which a cluster rejects',
  async t => {
    const beside = /alter table[^;]*,\s*add constraint|alter table[^;]*add constraint[^;]*,\s*(?:add|alter|drop)\b/
    t.match('alter table a drop constraint b, add constraint c unique (d)', beside)
    for (const { version, name, text } of await readMigrations()) {
      t.notMatch(text.replace(/--.*$/gm, ''), beside, name)
      // The first migration runs before any table is distributed.
      if (version > 1) t.notMatch(text, /\$\$/, name)
    }
  }
)

t.test('tables that are not distributed are named, with the remedy', async t => {
  t.equal(describeLeftBehind([]), undefined)
  t.match(describeLeftBehind(['rollups']), /^the table rollups is not distributed, .*: stop every server, .*--apply/)
  t.match(describeLeftBehind(['rollups', 'user_sums']), /^the tables rollups, user_sums are not distributed/)
})
