import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { connectTo } from '../../../lib/database/connection.ts'
import { migrate, readMigrations, readSchemaState } from '../../../lib/database/migrate.ts'
import { createLog } from '../../../lib/log.ts'
import { EMPTY, testDatabase } from '../../fixtures/database/database.ts'
import { testFolder } from '../../fixtures/folder.ts'

const log = createLog('silent')
const latest = (await readMigrations()).length

/** Creates a folder of migrations from their names and contents. */
async function writeMigrations(t: Test, files: Record<string, string>): Promise<string> {
  const folder = await testFolder(t)
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  return folder
}

/** Creates a database without a schema, and connects to it. */
async function emptyDatabase(t: Test) {
  const database = await testDatabase(t, EMPTY)
  const sql = connectTo(database.target)
  t.teardown(() => sql.end({ timeout: 1 }))
  return { database, sql }
}

t.test('migrates an empty database to the current version, once', async t => {
  const { database, sql } = await emptyDatabase(t)
  t.strictSame(await readSchemaState(sql), { state: 'missing', version: 0, latest })
  t.strictSame(
    await migrate(database, log),
    Array.from({ length: latest }, (_, i) => i + 1)
  )
  t.strictSame(await readSchemaState(sql), { state: 'current', version: latest, latest })
  t.strictSame(await migrate(database, log), [])
  const [row] = await sql`select name, sha256, applied_at from schema_migrations where version = 1`
  t.match(row, { name: 'data-model', sha256: /^[0-9a-f]{64}$/, applied_at: /Z$/ })
})

t.test('applies each migration once, however many processes start together', async t => {
  const { database, sql } = await emptyDatabase(t)
  const applied = await Promise.all([1, 2, 3].map(() => migrate(database, log)))
  t.equal(applied.flat().length, latest)
  t.match(await readSchemaState(sql), { state: 'current' })
})

t.test(
  'people who signed in through a provider before identities were stored can be linked by address for 90 days',
  async t => {
    const { database, sql } = await emptyDatabase(t)
    const folder = await testFolder(t)
    for (const { name, text, version } of (await readMigrations()).slice(0, 11)) {
      await writeFile(join(folder, `${String(version).padStart(4, '0')}-${name}.sql`), text)
    }
    await migrate(database, log, folder)
    await sql`insert into accounts (name, type) values ('owner', 'owner')`
    await sql`insert into users (email) select unnest(array['claim@b', 'session@b', 'audit@b', 'link@b'])`
    await sql`insert into memberships (account_id, user_id, role, by_claim) select 1, id, 'viewer', email = 'claim@b' from users`
    await sql`
    insert into web_sessions (digest, user_id, expires_at, agent, means)
    select sha256(email::bytea), id, now(), '', case email when 'session@b' then 'oidc' else 'link' end from users`
    await sql`
    insert into audit (user_id, action, detail)
    select id, 'sign-in', json_build_object('means', case email when 'audit@b' then 'oidc' else 'link' end) from users`
    await migrate(database, log)
    const linked = await sql`
    select email, round(extract(epoch from oidc_email_until - now()) / 86400)::int as days from users
    where oidc_email_until is not null order by id`
    t.same(
      [...linked],
      [
        { email: 'claim@b', days: 90 },
        { email: 'session@b', days: 90 },
        { email: 'audit@b', days: 90 }
      ]
    )
  }
)

t.test('detects a schema that is newer than the code', async t => {
  const { database, sql } = await emptyDatabase(t)
  await migrate(database, log)
  await sql`update schema_migrations set version = ${latest + 1} where version = ${latest}`
  t.strictSame(await readSchemaState(sql), { state: 'newer', version: latest + 1, latest })
})

t.test('detects a schema that is older than the code', async t => {
  const { database, sql } = await emptyDatabase(t)
  const files = { '0001-a.sql': 'select 1', '0002-b.sql': 'select 1' }
  await migrate(database, log, await writeMigrations(t, files))
  const folder = await writeMigrations(t, { ...files, '0003-c.sql': '' })
  t.strictSame(await readSchemaState(sql, folder), { state: 'older', version: 2, latest: 3 })
})

t.test('rejects a database that was created from a different file, or from one whose hash was not stored', async t => {
  const { database, sql } = await emptyDatabase(t)
  await migrate(database, log, await writeMigrations(t, { '0001-a.sql': 'create table a ();' }))
  const changed = await writeMigrations(t, {
    '0001-a.sql': 'create table a (b int);',
    '0002-b.sql': 'create table b ();'
  })
  const refusal = {
    name: 'ConfigError',
    message: /^this database was created by an unreleased build with a different migration 1: export it with that build/
  }
  await t.rejects(readSchemaState(sql, changed), refusal)
  await t.rejects(migrate(database, log, changed), refusal)
  await sql`alter table schema_migrations drop column sha256`
  await t.rejects(readSchemaState(sql), refusal)
  await t.rejects(migrate(database, log), refusal)
  const [row] = await sql`select to_regclass('b') is null as untouched`
  t.ok(row?.untouched)
})

t.test('applies missing migrations: a file in a transaction, or its statements one by one', async t => {
  const { database, sql } = await emptyDatabase(t)
  const first = { '0001-notes.sql': 'create table notes (id int);\ninsert into notes values (1);\n' }
  t.strictSame(await migrate(database, log, await writeMigrations(t, first)), [1])
  const second = {
    ...first,
    '0002-index.sql': [
      '--! no-transaction',
      '-- Two statements; the first runs outside of any transaction.',
      'create index concurrently if not exists notes_id on notes (id);',
      'create index concurrently if not exists notes_id_again on notes (id);',
      ''
    ].join('\n')
  }
  t.strictSame(await migrate(database, log, await writeMigrations(t, second)), [2])
  const indexes = await sql`select indexname as name from pg_indexes where tablename = 'notes' order by 1`
  t.strictSame(
    indexes.map(row => row.name),
    ['notes_id', 'notes_id_again']
  )
})

t.test('leaves nothing of a failed migration, and keeps the earlier ones', async t => {
  const { database, sql } = await emptyDatabase(t)
  const files = { '0001-a.sql': 'create table a ();', '0002-b.sql': 'create table b (); create table b ();' }
  await t.rejects(migrate(database, log, await writeMigrations(t, files)), { code: '42P07' })
  const tables = await sql`select tablename as name from pg_tables where schemaname = 'public' order by 1`
  t.strictSame(
    tables.map(row => row.name),
    ['a', 'schema_migrations']
  )
  const mended = { ...files, '0002-b.sql': 'create table b ();' }
  t.strictSame(await migrate(database, log, await writeMigrations(t, mended)), [2])
})

t.test('rejects a gap, a repetition or a stray file in the numbering', async t => {
  const cases: [names: string[], culprit: RegExp][] = [
    [['0001-a.sql', '0003-c.sql'], /^sql\/0003-c\.sql must be named 0002-/],
    [['0001-a.sql', '0001-b.sql'], /^sql\/0001-b\.sql must be named 0002-/],
    [['0002-b.sql'], /must be named 0001-/],
    [['1-a.sql'], /must be named 0001-/],
    [['0001-A.sql'], /must be named 0001-/],
    [['0001.sql'], /must be named 0001-/]
  ]
  for (const [names, message] of cases) {
    const folder = await writeMigrations(t, Object.fromEntries(names.map(name => [name, ''])))
    await t.rejects(readMigrations(folder), { message }, names.join())
  }
})
