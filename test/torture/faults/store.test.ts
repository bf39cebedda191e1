import { execFileSync } from 'node:child_process'
import { existsSync, renameSync, rmSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Sql } from 'postgres'
import t, { type Test } from 'tap'
import { connectTo } from '../../../lib/database/connection.ts'
import type { ConnectOptions } from '../../../lib/database/database.ts'
import { endBody, hexId, ingestBody, span, spansBody, startBody } from '../../fixtures/bodies/bodies.ts'
import { exportOf, otlpSpan } from '../../fixtures/bodies/otlp.ts'
import {
  readTestServer,
  runOn,
  type TestDatabase,
  testClusterDatabase,
  testDatabase
} from '../../fixtures/database/database.ts'
import { pgDataOf, withEmbedded } from '../../fixtures/database/embedded.ts'
import { testRelay } from '../../fixtures/database/relay.ts'
import { countOrphans, countStrays, freshId, NO_ORPHANS, NO_STRAYS } from '../../fixtures/database/seed.ts'
import { type Answer, type TestService, testService } from '../../fixtures/service/service.ts'
import { dataFolder, runHere, serve } from '../../fixtures/service/spoor.ts'
import { until } from '../../fixtures/until.ts'
import { checkLoad, startLoad } from '../load/load.ts'
import { figure, isLong, longTest, rounds } from '../orders.ts'

/** Guaranteed maximum time from the database's return until everything works as before. */
const RECOVERY_MS = 5000

interface Fault {
  begin(): unknown
  end(): unknown
  readonly readsGoOn?: true
  /** Whether writes that need no additional space are accepted. */
  readonly takesSmallWrites?: true
  /**
   * Whether a write in flight may have reached the store before the fault. Such a write is answered with a 429 whose
   * message says that the outcome is unknown.
   */
  readonly mayBeStored?: true
}

/**
 * Makes the store fail, checks the responses during the failure, ends the failure, and measures the time of recovery.
 */
async function refuseAndReturn(t: Test, name: string, service: TestService, fault: Fault): Promise<void> {
  const { call, database } = service
  const write = () => call('POST', '/api/v1/traces', { body: largeBody() })
  const ready = async () => (await call('GET', '/readyz', { key: null })).status
  const there = startBody({ spans: [span()] })
  t.equal((await call('POST', '/api/v1/traces', { body: there })).status, 201, `${name}: before`)
  t.equal(await ready(), 200)
  const fresh = { native: largeBody(), otlp: freshId(32) }
  await fault.begin()
  const start = performance.now()
  const writes = [...largeWrites(service, there, fresh), ...(fault.takesSmallWrites ? [] : smallWrites(service, there))]
  const [read, ...refused] = await Promise.all([call('GET', '/api/v1/traces'), ...writes])
  figure(`${name}: all answered after, ms`, Math.round(performance.now() - start))
  t.equal(read.status, fault.readsGoOn ? 200 : 503, `${name}: a read`)
  if (!fault.readsGoOn) t.equal(read.headers['retry-after'], '1')
  for (const answer of refused) t.match(answer, REFUSED, name)
  t.equal(await ready(), 503, `${name}: not ready`)
  await fault.end()
  const returned = performance.now()
  await until(async () => (await write()).status === 201 && (await call('GET', '/api/v1/traces')).status === 200)
  await until(async () => (await ready()) === 200)
  const took = performance.now() - returned
  figure(`${name}: whole again after, ms`, Math.round(took))
  checkRecovery(t, took, name)
  t.equal((await write()).status, 201, `${name}: ready means that writes are accepted`)
  if (!fault.mayBeStored) await checkUntouched(t, name, service, there, fresh)
  if (isLong && !fault.takesSmallWrites) await checkReadiness(fault, ready)
  const { traceCount } = (await call('GET', '/api/v1/project')).body
  const [row] = await database.sqlAccess.read(sql => sql`select count(*) as n from traces`)
  t.equal(traceCount, row?.n, `${name}: the totals agree`)
  t.same(await database.pool.run(countStrays), NO_STRAYS)
}

/** Checks that readiness fails even if no write has been rejected yet, and recovers without a write. */
async function checkReadiness(fault: Fault, ready: () => Promise<number>): Promise<void> {
  await fault.begin()
  await until(async () => (await ready()) === 503)
  await fault.end()
  await until(async () => (await ready()) === 200)
}

/** Checks the recovery time in the long form only, because other load on the machine affects it. */
function checkRecovery(t: Test, tookMs: number, name: string): void {
  if (isLong) t.ok(tookMs < RECOVERY_MS, `${name}: recovered after ${tookMs} ms`)
}

const REFUSED = { status: 429, headers: { 'retry-after': '1' }, body: { error: { code: 'quota_exhausted' } } }

/** Nine of these inputs take more than one PostgreSQL page, even when compressed. */
const large = () => ({ input: hexId(1100) })
const largeSpans = () => Array.from({ length: 9 }, () => span(large()))
const largeBody = () => ingestBody({ spans: largeSpans() })

type Start = ReturnType<typeof startBody>
interface Fresh {
  readonly native: ReturnType<typeof largeBody>
  readonly otlp: string
}

/** Sends writes of more than a page each: new traces, and changes to the existing trace. */
function largeWrites({ call }: TestService, { trace }: Start, { native, otlp }: Fresh): Promise<Answer>[] {
  const path = `/api/v1/traces/${trace.id}`
  const exported = Array.from({ length: 9 }, () => otlpSpan({ traceId: otlp, attributes: large() }))
  return [
    call('POST', '/api/v1/traces', { body: native }),
    call('POST', '/api/v1/otlp/v1/traces', { body: exportOf(...exported) }),
    call('POST', `${path}/spans`, { body: spansBody(...largeSpans()) }),
    call('POST', `${path}/end`, { body: endBody({ spans: largeSpans() }) })
  ]
}

/** Calls the routes that change a trace slightly. */
function smallWrites({ call }: TestService, { trace }: Start): Promise<Answer>[] {
  const path = `/api/v1/traces/${trace.id}`
  return [
    call('PATCH', path, { body: { metadata: { a: 1 } } }),
    call('POST', `${path}/scores`, { body: { name: 'quality', dataType: 'numeric', value: 1 } }),
    call('DELETE', path)
  ]
}

/** Checks that rejected writes have left nothing behind. */
async function checkUntouched(t: Test, name: string, { call }: TestService, { trace }: Start, fresh: Fresh) {
  for (const id of [fresh.native.trace.id, fresh.otlp]) {
    t.equal((await call('GET', `/api/v1/traces/${id}`)).status, 404, `${name}: nothing was stored`)
  }
  const { body } = await call('GET', `/api/v1/traces/${trace.id}`)
  t.match(
    body,
    { trace: { status: 'running', spanCount: 1, metadata: {}, scores: {} } },
    `${name}: nothing was changed`
  )
}

/** Alters the test's database from another database, and ends the service's connections. */
async function administer({ target }: TestDatabase, statement: (name: string) => string): Promise<void> {
  const { target: main } = readTestServer()
  const name = typeof target === 'string' ? new URL(target).pathname.slice(1) : target.database
  await runOn(main, statement(name))
  await runOn(main, `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`)
}

t.test('an unavailable database: cut off, hanging, without connections, read-only', async t => {
  const database = await testDatabase(t)
  const relay = await testRelay(t, database.target)
  const service = await testService(t, { database, view: { connect: relay.connect } })
  await refuseAndReturn(t, 'connections cut', service, { begin: relay.cut, end: relay.mend })
  await refuseAndReturn(t, 'connections that hang', service, { begin: relay.hang, end: relay.mend, mayBeStored: true })
  await refuseAndReturn(t, 'no connection let in', service, {
    begin: () => administer(database, name => `alter database ${name} allow_connections false`),
    end: () => administer(database, name => `alter database ${name} allow_connections true`)
  })
  // In each round, the service notices closed connections, and needs new ones, in a different order.
  for (const _ of rounds(1, 20)) {
    await refuseAndReturn(t, 'read-only, as a standby is', service, {
      readsGoOn: true,
      begin: () => administer(database, name => `alter database ${name} set default_transaction_read_only = on`),
      end: () => administer(database, name => `alter database ${name} reset default_transaction_read_only`)
    })
  }
})

longTest('a database that completes no writes: lock and statement timeouts', async t => {
  const limits: [name: string, limit: ConnectOptions][] = [
    ['lock time-out', { settings: { lock_timeout: '300ms' } }],
    ['statement time-out', { statementTimeoutMs: 500 }]
  ]
  for (const [name, limit] of limits) {
    const database = await testDatabase(t)
    const connect: TestDatabase['connect'] = (options, open) => {
      const settings = { ...options?.settings, ...limit.settings }
      return database.connect({ ...options, ...limit, settings }, open)
    }
    const service = await testService(t, { database, view: { connect } })
    const holder = database.connect({ applicationName: 'holder of locks' })
    t.teardown(() => holder.end({ timeout: 1 }))
    await refuseAndReturn(t, name, service, {
      readsGoOn: true,
      begin: () => holder.unsafe('begin; lock table traces in exclusive mode'),
      end: () => holder.unsafe('rollback')
    })
  }
})

longTest('a PostgreSQL at capacity: connections, disk', async t => {
  const database = await testClusterDatabase(t, { max_connections: '40', autovacuum: 'off' })
  const service = await testService(t, { database })
  const { dataDir, target } = database.cluster
  const holders: Sql[] = []
  t.teardown(() => Promise.all(holders.map(sql => sql.end({ timeout: 1 }))))
  const administrator = database.connect()
  t.teardown(() => administrator.end({ timeout: 1 }))
  const end = () => administrator`
    select pg_terminate_backend(pid) from pg_stat_activity
    where backend_type = 'client backend' and application_name like 'spoor%' and pid <> pg_backend_pid()
      and application_name not like '%holder'`
  await refuseAndReturn(t, 'too many connections (53300)', service, {
    async begin() {
      const states: unknown[] = []
      for (let left = -1; left !== 0; ) {
        await end()
        const one = connectTo(target, { applicationName: 'holder' })
        await one`select`.then(
          () => holders.push(one),
          error => states.push(error.code)
        )
        const [row] = await administrator`
          select count(*) as n from pg_stat_activity
          where application_name like 'spoor%' and application_name not like '%holder' and pid <> pg_backend_pid()`
        left = states.length === 0 ? -1 : row?.n
      }
      t.same(new Set(states), new Set(['53300']))
    },
    end: () => Promise.all(holders.splice(0).map(sql => sql.end({ timeout: 1 })))
  })
  const disk = fullDisk(dataDir, await databasePath(administrator))
  await refuseAndReturn(t, 'full disk (53100)', service, {
    readsGoOn: true,
    takesSmallWrites: true,
    async begin() {
      disk.fill()
      await end()
    },
    async end() {
      disk.free()
      await end()
    }
  })
})

async function databasePath(sql: Sql): Promise<string[]> {
  const rows =
    await sql`select pg_relation_filepath(name::regclass) as path from unnest('{traces,spans,scores}'::text[]) name`
  return rows.map(row => row.path)
}

/**
 * Simulates, with nothing but write access to the data folder, a disk without space for tables. Each table's file is
 * extended (without using space) to the size at which PostgreSQL starts the next file, which cannot be written.
 */
function fullDisk(dataDir: string, paths: readonly string[]) {
  const SEGMENT_BYTES = 1024 ** 3
  const next = paths.map(path => join(dataDir, `${path}.1`))
  return {
    fill() {
      for (const path of paths) truncateSync(join(dataDir, path), SEGMENT_BYTES)
      for (const path of next) symlinkSync('/dev/full', path)
    },
    free() {
      const { uid, gid } = statSync(join(dataDir, paths[0]!))
      for (const path of next) {
        rmSync(path)
        writeFileSync(path, '', { mode: 0o600 })
        execFileSync('chown', [`${uid}:${gid}`, path])
      }
    }
  }
}

longTest('restarting PostgreSQL under load loses nothing', async t => {
  const database = await testClusterDatabase(t)
  const { url, key } = await testService(t, { database })
  const load = startLoad(url, key)
  t.teardown(() => load.stop())
  for (const round of rounds(1, 10)) {
    const before = load.answered()
    await until(() => load.answered() > before + 40)
    await database.cluster.pause()
    await database.cluster.resume()
    const start = performance.now()
    const stopped = load.answered()
    await until(() => load.answered() > stopped + 40)
    const took = performance.now() - start
    checkRecovery(t, took, '40 more answers')
    figure('restarts of PostgreSQL under load; 2xx responses', `${round}; ${load.answered()}`)
    figure('time until 40 more 2xx responses after the last restart, ms', Math.round(took))
  }
  await load.stop()
  await checkLoad(t, url, key, [load])
})

longTest('a PostgreSQL whose log disk is full crashes repeatedly, and loses nothing', async t => {
  const folder = await dataFolder(t)
  const env = { DATA_DIR: folder, LOG_LEVEL: 'silent' }
  const { address, key } = await serve(t, env)
  // The load checks its project's entire content, so other writes go to a separate project.
  await runHere(['project', 'create', 'other', '--json'], env)
  const other = JSON.parse((await runHere(['key', 'create', '--project', 'other', '--json'], env)).out)
  const headers = { authorization: `Bearer ${other.key}` }
  const load = startLoad(address, key!)
  t.teardown(() => load.stop())
  const write = async () => {
    const body = JSON.stringify(largeBody())
    return (await fetch(`${address}/api/v1/traces`, { method: 'POST', headers, body })).status
  }
  const read = async (path: string) => (await fetch(address + path, { headers })).status
  for (const round of rounds(1, 10)) {
    const before = load.answered()
    await until(() => load.answered() > before + 40)
    const log = await fullLog(folder)
    await until(async () => (await write()) === 429)
    const [writes, reads, health] = [new Set<number>(), new Set<number>(), new Set<number>()]
    for (let i = 0; i < 10; i++) {
      writes.add(await write())
      reads.add(await read('/api/v1/traces'))
      health.add(await read('/healthz'))
    }
    // After a restart, the server may find a little space left. Writes that are then accepted are stored.
    t.ok(writes.has(429) && isWithin(writes, [429, 201]), `writes are ${[...writes]}`)
    t.ok(isWithin(reads, [503, 200]), `reads are ${[...reads]}`)
    t.same([...health], [200])
    // The load alone may take minutes to fill the remaining space.
    await until(async () => {
      await write()
      return (await read('/readyz')) === 503
    })
    log.free()
    await until(() => withEmbedded(folder, async sql => (await sql`select 1 as one`).length === 1).catch(() => false))
    const returned = performance.now()
    await until(async () => (await write()) === 201 && (await read('/api/v1/traces')) === 200)
    await until(async () => (await read('/readyz')) === 200)
    const took = performance.now() - returned
    checkRecovery(t, took, 'with room for the log')
    figure('full log disk; writes; reads', `${round}; ${[...writes]}; ${[...reads]}`)
    figure('recovery after PostgreSQL’s return, ms', Math.round(took))
  }
  await load.stop()
  const orphans = await withEmbedded(folder, countOrphans)
  t.same(orphans, NO_ORPHANS)
  await checkLoad(t, address, key!, [load])
})

const isWithin = (statuses: ReadonlySet<number>, allowed: readonly number[]): boolean =>
  [...statuses].every(status => allowed.includes(status))

/**
 * Simulates, with nothing but write access to the data folder, a disk without space for more WAL. The next WAL file
 * cannot be written, and PostgreSQL is made to switch to that file at once.
 */
async function fullLog(folder: string) {
  const pgData = pgDataOf(folder)
  const next = await withEmbedded(folder, async sql => {
    const [row] = await sql`
      select pg_walfile_name(pg_current_wal_insert_lsn() + setting::bigint) as name
      from pg_settings where name = 'wal_segment_size'`
    const path = join(pgData, 'pg_wal', row?.name)
    if (existsSync(path)) renameSync(path, `${path}.spare`)
    symlinkSync('/dev/full', path)
    // The query fails if PostgreSQL shuts down because its WAL is full.
    await sql`select pg_switch_wal()`.catch(() => {})
    return path
  })
  return { free: () => rmSync(next) }
}
