/**
 * Migrates the schema to what this version of the code needs: applies the files of sql/ in the order of their numbers,
 * each exactly once, and forward only. The table schema_migrations says which files have been applied, and has the
 * SHA-256 of each. A file never changes once it has landed; a database that was made from another text is refused.
 *
 * A file is one transaction. `create index concurrently` does not allow that, so a file with it has the first line
 * `--! no-transaction`. Its statements run one by one, each ending in a semicolon at the end of a line. If one fails,
 * the earlier ones stay done, so each must allow to be repeated (`if not exists`). An index that was left half built
 * exists but is not valid, and `if not exists` would take it for the finished one. So it is dropped and made again.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Sql } from 'postgres'
import { ConfigError } from '../config.ts'
import type { Logger } from '../log.ts'
import { ADVISORY_LOCK } from './advisory-locks.ts'
import type { Database } from './database.ts'
import { SQLSTATE } from './failure.ts'
import { Pool } from './pool.ts'
import { requireSession } from './session/require-session.ts'

export interface Migration {
  readonly version: number
  readonly name: string
  readonly text: string
  /** The SHA-256 of the text, as 64 hexadecimal digits. */
  readonly sha256: string
  readonly transactional: boolean
}

/** Runs the text of a migration, and what belongs to it. */
type Around = (sql: Sql, text: string) => Promise<unknown>

/** The schema compared with the code. `missing`: no migration was ever applied. */
export interface SchemaState {
  readonly state: 'current' | 'missing' | 'older' | 'newer'
  /** The newest migration that was applied; 0 if none was. */
  readonly version: number
  /** The newest migration that the code knows. */
  readonly latest: number
}

const LEAST_SERVER_VERSION = 15
const FILE_NAME = /^(\d{4})-([a-z0-9-]+)\.sql$/
const NO_TRANSACTION = '--! no-transaction'
const LOCK_POLL_MS = 200
/**
 * A migration that waits for a lock makes every writer behind it wait as well. So it waits for no longer than this,
 * lets the writers go on for LOCK_PAUSE_MS, and tries again.
 */
const LOCK_TIMEOUT_MS = 1000
const LOCK_PAUSE_MS = 2000
const LOCK_ATTEMPTS = 100

/**
 * Applies the migrations that are missing, and returns their versions. Several processes may call this at once. Throws
 * a ConfigError if the server is too old, or if the database was made from other files than these. `around` runs a migration
 * that is a transaction, within that transaction, with what belongs to it.
 */
export async function migrate(
  database: Database,
  log: Logger,
  folder?: string,
  around: Around = (sql, text) => sql.unsafe(text)
): Promise<number[]> {
  const migrations = await readMigrations(folder)
  // One connection holds the lock while the other migrates. If the first is lost, the primary key of
  // schema_migrations still keeps a migration from being applied twice.
  const connect = (onClose: () => void) => database.connect({ applicationName: 'migrate', onClose })
  const { limit } = database
  const [holder, pool] = [new Pool(connect, { size: 1, limit }), new Pool(connect, { size: 1, limit })]
  try {
    return await holder.run(async lock => {
      await requireSession(lock, pool)
      await checkServerVersion(lock)
      await acquireLock(lock, log)
      await createHistory(lock)
      const applied = new Set(await readAppliedVersions(lock, migrations))
      const missing = migrations.filter(migration => !applied.has(migration.version))
      for (const migration of missing) {
        await applyPatiently(pool, migration, { log, around })
        log.info({ version: migration.version, name: migration.name }, 'migration applied')
      }
      return missing.map(migration => migration.version)
    })
  } finally {
    await pool.end()
    // The lock ends with its connection.
    await holder.end()
  }
}

/** Compares the schema with the code. Throws a ConfigError if the schema was made from other files than these. */
export async function readSchemaState(sql: Sql, folder?: string): Promise<SchemaState> {
  const migrations = await readMigrations(folder)
  const latest = migrations.length
  const [history] = await sql`select to_regclass('schema_migrations') is not null as present`
  const version = history?.present ? Math.max(0, ...(await readAppliedVersions(sql, migrations))) : 0
  if (version === latest) return { state: 'current', version, latest }
  if (version === 0) return { state: 'missing', version, latest }
  return { state: version < latest ? 'older' : 'newer', version, latest }
}

/** Whether the code must wait for migrations. It can use a newer schema, because migrations only add. */
export function isBehind({ state }: SchemaState): boolean {
  return state === 'missing' || state === 'older'
}

/** That a newer spoor has migrated the database, as the log, `status` and `migrate` say it. */
export const describeNewer = ({ version, latest }: SchemaState): string =>
  `the schema is at version ${version}, newer than the ${latest} that this spoor knows: it is served all the same. ` +
  'Update spoor on this machine'

/** Reads the files of `folder` (by default sql/ of this package). Throws if a number is missing or repeated. */
export async function readMigrations(folder: string = findMigrations()): Promise<Migration[]> {
  const names = (await readdir(folder)).filter(name => name.endsWith('.sql')).sort()
  return Promise.all(names.map((name, index) => readMigration(folder, name, index + 1)))
}

async function readMigration(folder: string, fileName: string, expected: number): Promise<Migration> {
  const [, digits, name] = FILE_NAME.exec(fileName) ?? []
  const version = Number(digits)
  if (name === undefined || version !== expected) {
    throw new Error(`sql/${fileName} stands where a file numbered ${String(expected).padStart(4, '0')} should`)
  }
  const text = await readFile(join(folder, fileName), 'utf8')
  const sha256 = createHash('sha256').update(text).digest('hex')
  return { version, name, text, sha256, transactional: !text.startsWith(NO_TRANSACTION) }
}

/** Looks for sql/ in this folder and those above it: compiled code lies deeper than its sources. */
function findMigrations(): string {
  let folder = dirname(fileURLToPath(import.meta.url))
  while (!existsSync(join(folder, 'sql')) && folder !== dirname(folder)) folder = dirname(folder)
  return join(folder, 'sql')
}

async function checkServerVersion(sql: Sql): Promise<void> {
  const [row] = await sql`select current_setting('server_version') as version`
  const version = String(row?.version)
  if (Number.parseInt(version, 10) < LEAST_SERVER_VERSION) {
    throw new ConfigError(
      `DATABASE_URL must lead to PostgreSQL ${LEAST_SERVER_VERSION} or newer, but leads to ${version}`
    )
  }
}

/**
 * Takes the lock, which ends with the connection: a server that starts meanwhile waits for it. Asks again and again, since
 * waiting in pg_advisory_lock deadlocks with `create index concurrently`.
 */
export async function acquireLock(sql: Sql, log: Logger): Promise<void> {
  for (let polls = 0; ; polls++) {
    const [row] = await sql`select pg_try_advisory_lock(${ADVISORY_LOCK.migration}) as held`
    if (row?.held) return
    if (polls === 0) log.info('waiting for another process that migrates the database')
    await delay(LOCK_POLL_MS)
  }
}

async function createHistory(sql: Sql): Promise<void> {
  await sql`
    create table if not exists schema_migrations (
      version    int constraint schema_migrations_pkey primary key,
      name       text not null,
      sha256     text not null,
      applied_at timestamptz not null default now()
    )`
}

/** Reads the hash by way of JSON, because the first builds had no such column. */
async function readAppliedVersions(sql: Sql, migrations: readonly Migration[]): Promise<number[]> {
  const rows = await sql<{ version: number; sha256: string | null }[]>`
    select version, to_jsonb(m) ->> 'sha256' as sha256 from schema_migrations m order by version`
  for (const { version, sha256 } of rows) {
    const known = migrations[version - 1]
    if (known === undefined || known.sha256 === sha256) continue
    throw new ConfigError(
      `the database was made by an unreleased build, whose migration ${version} was another: export with that build, ` +
        'import with this one into a new database'
    )
  }
  return rows.map(row => row.version)
}

async function applyPatiently(
  pool: Pool,
  migration: Migration,
  { log, around }: { readonly log: Logger; readonly around: Around }
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await apply(pool, migration, around)
      return
    } catch (error) {
      const isLocked = (error as { code?: unknown }).code === SQLSTATE.lockNotAvailable
      if (!isLocked || attempt === LOCK_ATTEMPTS) throw error
      if (attempt === 1)
        log.info({ version: migration.version }, 'a migration waits for a moment without long transactions')
    }
    await delay(LOCK_PAUSE_MS)
  }
}

async function apply(pool: Pool, migration: Migration, around: Around): Promise<void> {
  if (migration.transactional) {
    await pool.transaction(async sql => {
      await sql.unsafe(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`)
      await recordApplied(sql, migration)
      await around(sql, migration.text)
    })
    return
  }
  await pool.run(async sql => {
    for (const statement of statementsOf(migration.text)) await runAlone(sql, statement)
    await recordApplied(sql, migration)
  })
}

/** The statements of a file, each of which ends in a semicolon at the end of a line. Lines that are comments are left out. */
export const statementsOf = (text: string): string[] =>
  text
    .replace(/^[ \t]*--.*$/gm, '')
    .split(/;[ \t]*(?:\n|$)/)
    .filter(statement => statement.trim() !== '')

const CONCURRENTLY = /^\s*(?:create(?: unique)?|drop) index concurrently\b/im
const CREATED_INDEX = /^\s*create(?: unique)? index concurrently (?:if not exists )?(\w+)/im

/**
 * Runs a statement. Only a `concurrently` statement may wait for others without limit, because nobody waits behind it.
 */
async function runAlone(sql: Sql, statement: string): Promise<void> {
  const index = CREATED_INDEX.exec(statement)?.[1]
  if (index !== undefined) await dropHalfBuilt(sql, index)
  await sql.unsafe(`set lock_timeout = ${CONCURRENTLY.test(statement) ? 0 : LOCK_TIMEOUT_MS}`)
  await sql.unsafe(statement)
}

/**
 * Drops an index that an interrupted attempt has left half built. The backend of that attempt may go on for a while
 * after its client was killed. A statement that waits behind it would deadlock with it, so this function polls until
 * it is done.
 */
async function dropHalfBuilt(sql: Sql, name: string): Promise<void> {
  for (;;) {
    const [index] = await sql`
      select exists (select from pg_stat_progress_create_index p where p.index_relid = i.indexrelid) as building
      from pg_index i where i.indexrelid = to_regclass(${name}) and not i.indisvalid`
    if (index === undefined) return
    if (!index.building) {
      await sql.unsafe(`drop index concurrently if exists ${name}`)
      return
    }
    await delay(LOCK_POLL_MS)
  }
}

async function recordApplied(sql: Sql, { version, name, sha256 }: Migration): Promise<void> {
  await sql`insert into schema_migrations (version, name, sha256) values (${version}, ${name}, ${sha256})`
}
