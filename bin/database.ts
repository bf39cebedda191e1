/** Opens the database for one command, with the server's configuration. */
import { existsSync } from 'node:fs'
import { userInfo } from 'node:os'
import type { Sql } from 'postgres'
import type { KeyMaking } from '../lib/admin/keys.ts'
import { AdminError } from '../lib/admin-error.ts'
import { type Config, readConfig } from '../lib/config.ts'
import type { Database } from '../lib/database/database.ts'
import { classifyFailure } from '../lib/database/failure.ts'
import { describeDenial, isDenial } from '../lib/health/obstacles.ts'
import type { Logger } from '../lib/log.ts'

/**
 * Heap size, in MiB, of threads that read export lines. A line contains a whole trace, which can be far larger than any
 * request.
 */
export const RESTORE_HEAP_MIB = 4096

export interface DatabaseSession {
  readonly config: Config
  readonly database: Database
  readonly sql: Sql
  readonly log: Logger
  /** The operating-system user who ran the command. */
  readonly systemUser: string
  readonly making: KeyMaking
}

/**
 * Runs the `work` callback on one connection to a database whose schema has everything this version needs. A newer
 * schema is accepted, because migrations only add to the schema.
 */
export async function withDatabase<T>(env: NodeJS.ProcessEnv, work: (session: DatabaseSession) => Promise<T>) {
  return withAnyDatabase(env, async session => {
    await requireSchema(session.sql)
    return work(session)
  })
}

/**
 * Like withDatabase, but rejects a newer schema. For commands that copy or delete all tables and therefore must know
 * every table.
 */
export async function withKnownSchema<T>(env: NodeJS.ProcessEnv, work: (session: DatabaseSession) => Promise<T>) {
  return withAnyDatabase(env, async session => {
    await requireSchema(session.sql)
    await refuseNewer(session.sql)
    return work(session)
  })
}

/** Like withDatabase, but accepts any schema. Rejects an embedded database that was never started. */
export async function withAnyDatabase<T>(
  env: NodeJS.ProcessEnv,
  work: (session: DatabaseSession) => Promise<T>,
  patienceMs?: number
): Promise<T> {
  const config = readConfig(env)
  if (config.databaseUrl === undefined && !existsSync(config.dataDir)) {
    const advice = 'start a server with `spoor serve`, or set DATA_DIR or DATABASE_URL'
    throw new AdminError(`there is no database in ${config.dataDir}: ${advice}`)
  }
  return openFor(config, connected(config, work), patienceMs)
}

/** Like withKnownSchema, but creates the embedded database and the schema if they are missing. */
export async function withNewDatabase<T>(env: NodeJS.ProcessEnv, work: (session: DatabaseSession) => Promise<T>) {
  const config = readConfig(env)
  return openFor(config, async (database, log) => {
    const { migrate, readSchemaState } = await import('../lib/database/migrate.ts')
    return connected(config, async session => {
      if ((await readSchemaState(session.sql)).state === 'missing') await migrate(database, log)
      await requireSchema(session.sql)
      await refuseNewer(session.sql)
      return work(session)
    })(database, log)
  })
}

function connected<T>(config: Config, work: (session: DatabaseSession) => Promise<T>) {
  return async (database: Database, log: Logger): Promise<T> => {
    const { noteSystemUser } = await import('../lib/store/audit.ts')
    const sql = database.connect({ applicationName: 'command' })
    try {
      const systemUser = readSystemUser()
      // If the database is unreachable, the `work` callback reports the failure.
      await noteSystemUser(sql, systemUser).catch(() => {})
      const { digestSecret, previousSecret } = database
      const making = { keyPrefix: config.keyPrefix, digestSecret, previousSecret }
      return await work({ config, database, sql, log, systemUser, making })
    } finally {
      // Without a time limit, this call would never return if the connection were lost.
      await sql.end({ timeout: 1 })
    }
  }
}

/** Returns the operating-system user to name in the audit log, or the user's id if the user has no name. */
export function readSystemUser(): string {
  try {
    return userInfo().username
  } catch {
    // A container may run under a user id without a name.
    return String(process.getuid?.() ?? '')
  }
}

/**
 * Opens the database for the `work` callback, and creates the database if necessary. If an embedded PostgreSQL needs
 * longer than `patienceMs` to recover, the callback starts before the recovery ends. The driver is loaded here because
 * `--help` does not need it.
 */
export async function openFor<T>(
  config: Config,
  work: (database: Database, log: Logger) => Promise<T>,
  patienceMs?: number
): Promise<T> {
  const [{ openDatabase }, { createLog }] = await Promise.all([
    import('../lib/database/open.ts'),
    import('../lib/log.ts')
  ])
  const log = createLog('silent')
  const database = await openDatabase(config, log, { role: 'command', ...(patienceMs !== undefined && { patienceMs }) })
  try {
    return await work(database, log)
  } catch (error) {
    throw explainFailure(error, database)
  } finally {
    await database.close()
  }
}

/**
 * Returns an error that names the database if `error` means that the database is unusable; otherwise returns `error`.
 */
function explainFailure(error: unknown, { location, embedded }: Database): unknown {
  if (!['lost', 'refused'].includes(classifyFailure(error))) return error
  if (isDenial(error)) return Object.assign(new AdminError(describeDenial(error)), { cause: error })
  const { message, code } = (error instanceof AggregateError ? error.errors[0] : error) as Error & { code?: string }
  const advice = embedded ? '' : ': check that it is running, and that DATABASE_URL is correct'
  return Object.assign(new AdminError(`${location} cannot be used (${message || code})${advice}`), { cause: error })
}

/** Rejects a schema that is newer than this version of the code. */
export async function refuseNewer(sql: Sql): Promise<void> {
  const { readSchemaState } = await import('../lib/database/migrate.ts')
  const { state, version, latest } = await readSchemaState(sql)
  if (state !== 'newer') return
  const why = 'this command would miss the newer tables'
  const advice = 'Use the newer version of spoor for this command; it works alongside servers that run this version'
  throw new AdminError(
    `the schema is at version ${version}, but this version of spoor supports up to ${latest}: ${why}. ${advice}`
  )
}

async function requireSchema(sql: Sql): Promise<void> {
  const { isBehind, readSchemaState } = await import('../lib/database/migrate.ts')
  const schema = await readSchemaState(sql)
  if (!isBehind(schema)) return
  const { state, version, latest } = schema
  const what =
    state === 'missing' ? 'the database has no schema yet' : `the schema is at version ${version} of ${latest}`
  throw new AdminError(`${what}: run \`spoor migrate\``)
}
