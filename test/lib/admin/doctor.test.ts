import t from 'tap'
import { diagnose, type LocalFacts } from '../../../lib/admin/doctor.ts'
import { PROJECT_TABLES } from '../../../lib/database/tables.ts'
import { readServerFacts, type ServerFacts } from '../../../lib/store/server/facts.ts'
import { testDatabase } from '../../fixtures/database/database.ts'

const GIB = 1024 ** 3
const SERVER: ServerFacts = {
  version: '18.4',
  versionNumber: 180_004,
  encoding: 'UTF8',
  isStandby: false,
  role: 'app',
  isSuperuser: false,
  schema: 'public',
  mayCreate: true,
  deniedTables: [],
  isEncrypted: true,
  isLocal: false,
  clockMs: 1e12,
  transactionAge: 1e8,
  settings: { shared_buffers: GIB, max_wal_size: 2 * GIB, statement_timeout: 0, idle_session_timeout: 0 },
  careless: []
}
const LOCAL: LocalFacts = {
  pooler: undefined,
  schema: undefined,
  connections: undefined,
  pgDump: 18,
  embedded: false,
  now: 1e12
}

t.test('each fault fails one check with its remedy, and all others pass', async t => {
  t.ok(diagnose(SERVER, LOCAL).every(({ result }) => result === 'ok'))
  const faults: [Partial<ServerFacts>, Partial<LocalFacts>, string, 'warn' | 'fail', RegExp][] = [
    [{ version: '14.1', versionNumber: 140_001 }, {}, 'version', 'fail', /too old: spoor needs 15 or newer/],
    [{}, { pooler: 'a pooler lends out connections' }, 'pooler', 'fail', /^a pooler/],
    [{ encoding: 'SQL_ASCII' }, {}, 'encoding', 'fail', /recreate the database with/],
    [{ isStandby: true }, {}, 'standby', 'fail', /point DATABASE_URL to the primary/],
    [{ deniedTables: ['traces'] }, {}, 'rights', 'fail', /cannot read and write traces: grant select/],
    [{ mayCreate: false }, {}, 'migrations', 'warn', /AUTO_MIGRATE=false/],
    [{ schema: null }, {}, 'migrations', 'fail', /set search_path/],
    [{ isSuperuser: true }, {}, 'superuser', 'warn', /does not need/],
    [{}, { schema: 'The schema is old.' }, 'schema', 'warn', /old/],
    [{ careless: ['fsync'] }, {}, 'safety', 'fail', /fsync = off/],
    [{ settings: { ...SERVER.settings, shared_buffers: GIB / 8 } }, {}, 'shared_buffers', 'warn', /is 128 MiB: set/],
    [{ settings: { ...SERVER.settings, max_wal_size: GIB / 2 } }, {}, 'max_wal_size', 'warn', /is 512 MiB/],
    [
      { settings: { ...SERVER.settings, statement_timeout: 30_000 } },
      {},
      'timeouts',
      'warn',
      /statement_timeout = 30s\): run `alter role app set statement_timeout = 0`\./
    ],
    [{}, { connections: 'Too few.' }, 'connections', 'warn', /Too few/],
    [{ isEncrypted: false }, {}, 'transport', 'warn', /sslmode=verify-full/],
    [{ clockMs: 1e12 + 60_000 }, {}, 'clock', 'warn', /differ by 60 s/],
    [{ transactionAge: 1.5e9 }, {}, 'transaction ids', 'fail', /vacuum freeze/],
    [{}, { pgDump: 15 }, 'pg_dump', 'warn', /pg_dump 15 cannot dump PostgreSQL 18/]
  ]
  for (const [server, local, name, result, text] of faults) {
    const wrong = diagnose({ ...SERVER, ...server }, { ...LOCAL, ...local }).filter(check => check.result !== 'ok')
    t.match(wrong, [{ name, result, text }], name)
    t.equal(wrong.length, 1, name)
  }
  const embedded = diagnose({ ...SERVER, isSuperuser: true, settings: {} }, { ...LOCAL, embedded: true, pgDump: 15 })
  t.ok(embedded.every(({ result }) => result === 'ok'))
})

t.test('the facts of a real server are read, including privileges that a role lacks', async t => {
  const { pool } = await testDatabase(t)
  await pool.run(async sql => {
    const facts = await readServerFacts(sql, PROJECT_TABLES)
    t.match(facts, { encoding: 'UTF8', isStandby: false, schema: 'public', mayCreate: true, deniedTables: [] })
    t.ok(facts.versionNumber >= 150_000 && facts.version !== '')
    t.ok((facts.settings.shared_buffers ?? 0) > 1024 * 1024)
    t.equal(facts.settings.statement_timeout, 0)
    t.ok(Math.abs(facts.clockMs - Date.now()) < 60_000)
    const role = `reader_${process.pid}`
    await sql.unsafe(`create role ${role}`)
    await sql.unsafe(`grant select on all tables in schema public to ${role}`)
    await sql.unsafe(`set role ${role}`)
    const denied = await readServerFacts(sql, ['traces', 'spans']).finally(() => sql.unsafe('reset role'))
    t.match(denied, { role, mayCreate: false, deniedTables: ['spans', 'traces'] })
    await sql.unsafe(`drop owned by ${role}`)
    await sql.unsafe(`drop role ${role}`)
  })
})
