/**
 * Migrates the schema to the version that this code requires. Applies the files of sql/ in numeric order, each exactly
 * once, and only forward. The table schema_migrations records each applied file and its SHA-256. A released file never
 * changes; a database created from different files is rejected.
 *
 * Each file is one transaction, unless the file starts with `--! no-transaction`. Files that contain `create index
 * concurrently` require that directive. The statements of such a file run one by one; each statement must end in a
 * semicolon at the end of a line. If a statement fails, earlier statements remain applied, so each statement must be
 * repeatable (`if not exists`). A half-built index is invalid, but `if not exists` would accept it as complete, so the
 * index is dropped and created again.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Sql } from 'postgres'
import type { Logger } from '../log.ts'
import { ConfigError } from '../variables.ts'
import { ADVISORY_LOCK } from './advisory-locks.ts'
import type { Database } from './database.ts'
import { SQLSTATE } from './failure.ts'
import { findOldServers } from './old-servers.ts'
import { Pool } from './pool.ts'
import { requireSession } from './session/require-session.ts'

export interface Migration {
  readonly version: number
  readonly name: string
  readonly text: string
  /** SHA-256 of the text, as 64 hexadecimal digits. */
  readonly sha256: string
  readonly transactional: boolean
}

/** Runs a migration's SQL, and whatever must run before and after the SQL. */
type Around = (sql: Sql, text: string) => Promise<unknown>

/** Result of comparing the schema with the code. `missing` means that no migration was ever applied. */
export interface SchemaState {
  readonly state: 'current' | 'missing' | 'older' | 'newer'
  /** The newest applied migration; 0 if none was applied. */
  readonly version: number
  /** The newest migration that this code includes. */
  readonly latest: number
}

const LEAST_SERVER_VERSION = 15
const FILE_NAME = /^(\d{4})-([a-z0-9-]+)\.sql$/
const NO_TRANSACTION = '--! no-transaction'
const LOCK_POLL_MS = 200
/**
 * Lock timeout. A migration that is waiting for a lock blocks all later writers. The migration therefore times out,
 * lets the writers proceed for LOCK_PAUSE_MS, and retries.
 */
const LOCK_TIMEOUT_MS = 1000
const LOCK_PAUSE_MS = 2000
const LOCK_ATTEMPTS = 100

/**
 * Applies the pending migrations and returns their versions. Several processes may call this function concurrently.
 * Throws a ConfigError if the server is too old, or if the database was created from different files. `around` runs the
 * text of a transactional migration, and anything that must run before and after it, within the transaction.
 */
export async function migrate(
  database: Database,
  log: Logger,
  folder?: string,
  around: Around = (sql, text) => sql.unsafe(text)
): Promise<number[]> {
  const migrations = await readMigrations(folder)
  // One connection holds the lock while the other connection runs the migrations. If the first connection is lost, the
  // primary key of schema_migrations still prevents a migration from being applied twice.
  const connect = (onClose: () => void) => database.connect({ applicationName: 'migrate', onClose })
  const { limit } = database
  const [holder, pool] = [new Pool(connect, { size: 1, limit }), new Pool(connect, { size: 1, limit })]
  try {
    return await holder.run(async lock => {
      await requireSession(lock, pool)
      await checkServerVersion(lock)
      const old = await findOldServers(lock)
      if (old !== undefined) throw new ConfigError(old)
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
    // Closing the connection releases the lock.
    await holder.end()
  }
}

/** Compares the schema with the code. Throws a ConfigError if the schema was created from different files. */
export async function readSchemaState(sql: Sql, folder?: string): Promise<SchemaState> {
  const migrations = await readMigrations(folder)
  const latest = migrations.length
  const [history] = await sql`select to_regclass('schema_migrations') is not null as present`
  const version = history?.present ? Math.max(0, ...(await readAppliedVersions(sql, migrations))) : 0
  if (version === latest) return { state: 'current', version, latest }
  if (version === 0) return { state: 'missing', version, latest }
  return { state: version < latest ? 'older' : 'newer', version, latest }
}

/**
 * Returns whether the code must wait for migrations. Newer schemas are compatible, because migrations never remove
 * tables or columns.
 */
export function isBehind({ state }: SchemaState): boolean {
  return state === 'missing' || state === 'older'
}

/** Describes a database migrated by a newer version of spoor, for the log and the commands `status` and `migrate`. */
export const describeNewer = ({ version, latest }: SchemaState): string =>
  `the schema is at version ${version}, but this version of spoor supports up to ${latest}; continuing. Update spoor ` +
  'on this machine'

/** Reads the files of `folder` (by default sql/ of this package). Throws if a number is missing or repeated. */
export async function readMigrations(folder: string = findMigrations()): Promise<Migration[]> {
  const names = (await readdir(folder)).filter(name => name.endsWith('.sql')).sort()
  return Promise.all(names.map((name, index) => readMigration(folder, name, index + 1)))
}

async function readMigration(folder: string, fileName: string, expected: number): Promise<Migration> {
  const [, digits, name] = FILE_NAME.exec(fileName) ?? []
  const version = Number(digits)
  if (name === undefined || version !== expected) {
    throw new Error(`sql/${fileName} must be named ${String(expected).padStart(4, '0')}-lower-case-words.sql`)
  }
  const text = await readFile(join(folder, fileName), 'utf8')
  const sha256 = createHash('sha256').update(text).digest('hex')
  return { version, name, text, sha256, transactional: !text.startsWith(NO_TRANSACTION) }
}

/** Searches this folder and its parents for sql/, because compiled code is nested deeper than its sources. */
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
      `DATABASE_URL must point to PostgreSQL ${LEAST_SERVER_VERSION} or newer, but points to ${version}`
    )
  }
}

/**
 * Takes the lock, which is held until the connection closes. A server that starts in the meantime waits for the lock.
 * Polls, because waiting in pg_advisory_lock deadlocks with `create index concurrently`.
 */
export async function acquireLock(sql: Sql, log: Logger): Promise<void> {
  for (let polls = 0; ; polls++) {
    const [row] = await sql`select pg_try_advisory_lock(${ADVISORY_LOCK.migration}) as held`
    if (row?.held) return
    if (polls === 0) log.info('waiting for another process that is migrating the database')
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

/** Reads the hash through JSON, because early builds had no sha256 column. */
async function readAppliedVersions(sql: Sql, migrations: readonly Migration[]): Promise<number[]> {
  const rows = await sql<{ version: number; sha256: string | null }[]>`
    select version, to_jsonb(m) ->> 'sha256' as sha256 from schema_migrations m order by version`
  for (const { version, sha256 } of rows) {
    const known = migrations[version - 1]
    if (known === undefined || known.sha256 === sha256) continue
    throw new ConfigError(
      `this database was created by an unreleased build with a different migration ${version}: export it with that ` +
        'build and import it into a new database with this one'
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
        log.info({ version: migration.version }, 'a migration is waiting for long transactions to finish')
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

/** Splits a file into statements, each ending in a semicolon at the end of a line. Omits comment lines. */
export const statementsOf = (text: string): string[] =>
  text
    .replace(/^[ \t]*--.*$/gm, '')
    .split(/;[ \t]*(?:\n|$)/)
    .filter(statement => statement.trim() !== '')

const CONCURRENTLY = /^\s*(?:create(?: unique)?|drop) index concurrently\b/im
const CREATED_INDEX = /^\s*create(?: unique)? index concurrently (?:if not exists )?(\w+)/im

/**
 * Runs a statement. Only a `concurrently` statement may wait indefinitely, because a waiting `concurrently` statement
 * blocks no other statement.
 */
async function runAlone(sql: Sql, statement: string): Promise<void> {
  const index = CREATED_INDEX.exec(statement)?.[1]
  if (index !== undefined) await dropHalfBuilt(sql, index)
  await sql.unsafe(`set lock_timeout = ${CONCURRENTLY.test(statement) ? 0 : LOCK_TIMEOUT_MS}`)
  await sql.unsafe(statement)
}

/**
 * Drops a half-built index left by an interrupted attempt. The attempt's backend may keep running after its client was
 * killed. Polls until that backend is done, because a statement that waits for that backend would cause a deadlock.
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
