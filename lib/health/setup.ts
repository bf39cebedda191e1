/**
 * Checks whether this deployment may serve requests: the digest secret must match the keys, and the schema must match
 * the code. Checks before the first request, and repeatedly after a failure, so that no restart is needed once the
 * database becomes reachable or is migrated by hand.
 *
 * The states are `waiting` (the database has not responded yet), `lacking` (the database has responded, and something
 * is missing) and `ready`.
 */
import type { Sql } from 'postgres'
import { findLeftBehind, migrateSchema } from '../cluster/distribution.ts'
import type { Database } from '../database/database.ts'
import { classifyFailure, isReadOnlyRefusal } from '../database/failure.ts'
import { describeNewer, isBehind, readSchemaState, type SchemaState } from '../database/migrate.ts'
import { findOldServers } from '../database/old-servers.ts'
import { Pool } from '../database/pool.ts'
import { requireSession } from '../database/session/require-session.ts'
import { causeOf } from '../failure-log.ts'
import type { Logger } from '../log.ts'
import { changeSecret, claimSecret, OTHER_SECRET } from '../store/projects/digest-secret.ts'
import { readDatabaseId } from '../store/server/properties.ts'
import { ConfigError } from '../variables.ts'
import { AWAY, describeDenial, isDenial, nameObstacle } from './obstacles.ts'

type State =
  | { readonly is: 'ready' }
  | { readonly is: 'waiting'; readonly why: string; readonly cause: string }
  | { readonly is: 'lacking'; readonly what: string }

/**
 * Databases whose newer schema has already been logged. All Setups share this set, because a process may have two
 * Setups for one database.
 */
const toldNewer = new WeakSet<Database>()

/** Pause between checks. A started or recovered database is noticed within this time. */
const RETRY_MS = 250

export class Setup {
  readonly #database: Database
  readonly #autoMigrate: boolean
  readonly #log: Logger
  readonly #migrations: string | undefined
  #state: State = { is: 'waiting', why: AWAY, cause: '' }
  #timer: NodeJS.Timeout | undefined
  #stopped = false
  #looking = false
  #instance: string | undefined
  #schema: SchemaState | undefined
  /** Time at which this deployment became unable to serve, in ms of performance.now(); undefined while it can serve. */
  #downSince: number | undefined

  /** `migrations` is a folder that replaces sql/ in tests. */
  constructor(database: Database, autoMigrate: boolean, log: Logger, migrations?: string) {
    this.#database = database
    this.#autoMigrate = autoMigrate
    this.#log = log
    this.#migrations = migrations
  }

  /**
   * A description of what is missing; undefined if nothing is missing. An unreachable database does not count as
   * missing.
   */
  get lacking(): string | undefined {
    return this.#state.is === 'lacking' ? this.#state.what : undefined
  }

  /** Id of this deployment; undefined until the database has responded. */
  get instance(): string | undefined {
    return this.#instance
  }

  /** The last known state of the schema; undefined until the database has responded. */
  get schema(): SchemaState | undefined {
    return this.#schema
  }

  /** Why the database has not responded yet; undefined if it has responded. */
  get obstacle(): string | undefined {
    return this.#state.is === 'waiting' ? this.#state.why : undefined
  }

  /** Starts another check, because something may have changed. */
  lookAgain(): void {
    if (this.#state.is === 'ready' && !this.#looking) void this.start()
  }

  /** Checks once, then repeats the check in the background until it succeeds. */
  async start(): Promise<void> {
    this.#looking = true
    const state = await this.#look()
    this.#looking = false
    this.#enter(state)
    if (state.is !== 'ready' && !this.#stopped) {
      this.#timer = setTimeout(() => void this.start(), RETRY_MS)
    }
  }

  stop(): void {
    this.#stopped = true
    clearTimeout(this.#timer)
  }

  async #look(): Promise<State> {
    const { digestSecret, previousSecret } = this.#database
    if (digestSecret === undefined) return { is: 'lacking', what: 'KEY_DIGEST_SECRET is not set' }
    try {
      const { schema, leftBehind, old } = await this.#ask(async (sql, other) => {
        await requireSession(sql, other)
        this.#instance = await readDatabaseId(sql)
        const leftBehind = await findLeftBehind(sql)
        const old = await findOldServers(sql)
        return { schema: await readSchemaState(sql, this.#migrations), leftBehind, old }
      })
      this.#schema = schema
      if (old !== undefined) return { is: 'lacking', what: old }
      if (isBehind(schema)) {
        if (!this.#autoMigrate) return { is: 'lacking', what: `${describe(schema)}: run \`spoor migrate\`` }
        await this.#migrate(schema)
        this.#schema = { ...schema, state: 'current', version: schema.latest }
      }
      if (leftBehind !== undefined) return { is: 'lacking', what: leftBehind }
      return (await this.#claimSecret(digestSecret, previousSecret))
        ? { is: 'ready' }
        : { is: 'lacking', what: OTHER_SECRET }
    } catch (error) {
      // Only a grant resolves a missing privilege.
      if (isDenial(error)) return { is: 'lacking', what: describeDenial(error) }
      const failure = classifyFailure(error)
      if (failure === 'lost' || failure === 'refused') {
        return { is: 'waiting', why: nameObstacle(error), cause: causeOf(error) }
      }
      const { message } = error as Error
      return {
        is: 'lacking',
        what: error instanceof ConfigError ? message : `the schema cannot be applied: ${message}`
      }
    }
  }

  async #migrate(schema: SchemaState): Promise<void> {
    try {
      await migrateSchema(this.#database, this.#log, this.#migrations)
    } catch (error) {
      // With this schema, the stored fingerprint cannot be read.
      if (isReadOnlyRefusal(error))
        throw new ConfigError(`${describe(schema)}, but the database does not accept writes`)
      throw error
    }
  }

  /** Claims the secret. On a standby, the secret counts as claimed, because no keys can be created there. */
  async #claimSecret(secret: string, previous: string | undefined): Promise<boolean> {
    return this.#ask(sql =>
      previous === undefined ? claimSecret(sql, secret) : changeSecret(sql, secret, previous)
    ).catch(error => {
      if (!isReadOnlyRefusal(error)) throw error
      return true
    })
  }

  async #ask<T>(work: (sql: Sql, other: Pool) => Promise<T>): Promise<T> {
    const { connect, limit } = this.#database
    const open = () => new Pool(onClose => connect({ applicationName: 'setup', onClose }), { size: 1, limit })
    const [pool, other] = [open(), open()]
    try {
      return await pool.run(sql => work(sql, other))
    } finally {
      await Promise.all([pool.end(), other.end()])
    }
  }

  /** Enters a state, and logs the state if it differs from the previous state. */
  #enter(state: State): void {
    const before = this.#state
    this.#state = state
    if (state.is !== 'ready') this.#downSince ??= performance.now()
    if (state.is === 'lacking') {
      if (before.is !== 'lacking' || before.what !== state.what) this.#log.error(`not configured: ${state.what}`)
    } else if (state.is === 'waiting') {
      const { why, cause } = state
      const isNews = this.#timer === undefined || before.is !== 'waiting' || before.why !== why
      if (isNews) this.#log.warn({ database: this.#database.location, cause }, `${why}; trying again`)
    } else {
      if (this.#downSince !== undefined) {
        const ms = Math.round(performance.now() - this.#downSince)
        this.#log.info({ ms }, 'ready: the database is reachable and configured')
      }
      this.#downSince = undefined
      this.#tellNewer()
    }
  }

  #tellNewer(): void {
    if (this.#schema?.state !== 'newer' || toldNewer.has(this.#database)) return
    toldNewer.add(this.#database)
    this.#log.warn(describeNewer(this.#schema))
  }
}

function describe({ state, version, latest }: SchemaState): string {
  return state === 'missing'
    ? 'the database has no schema yet'
    : `the schema is at ${version}, but ${latest} is required`
}
