/** Puts the parts of the service together in one process, and starts and stops them in order. */
import { plugins } from '../plugins/index.ts'
import { KeyRing } from './access/auth.ts'
import { listenForKeyChanges } from './access/key-notices.ts'
import type { App, Plugin } from './app.ts'
import type { Config } from './config.ts'
import type { ConnectOptions, Database } from './database/database.ts'
import { Pool } from './database/pool.ts'
import { READER_SETTINGS } from './database/reader-settings.ts'
import type { SqlAccess } from './database/sql-access.ts'
import { createSqlAccess } from './database/sql-access.ts'
import type { GrpcServer } from './grpc/server.ts'
import { describeShortage } from './health/connection-room.ts'
import { Readiness } from './health/readiness.ts'
import { Setup } from './health/setup.ts'
import type { Route } from './http/route.ts'
import { RouteTable } from './http/route-table.ts'
import { HttpServer } from './http/server.ts'
import { WritePath } from './ingest/write-path.ts'
import { parallelismOf } from './limits/parallelism.ts'
import type { Logger } from './log.ts'
import { Metrics } from './metrics.ts'
import { measureDatabase } from './store/server/database-size.ts'

export interface Service {
  /** The address at which it listens: `http://<host>:<port>`. */
  readonly url: string
  readonly host: string
  readonly port: number
  /** The port of OTLP over gRPC; undefined if it is off. */
  readonly grpcPort: number | undefined
  readonly app: App
  /**
   * Answers the requests under way, writes what is queued, and closes its connections. The caller closes the database.
   */
  close(): Promise<void>
}

/** Parts that a test can replace. */
export interface ServiceParts {
  readonly plugins?: readonly Plugin[]
  /** A folder of migrations in place of sql/, such as the next version will have. */
  readonly migrations?: string | undefined
}

/** How requests read, and how small writes are done. */
const READERS: ConnectOptions = { applicationName: 'reader', statementTimeoutMs: 15_000, settings: READER_SETTINGS }
const WRITERS: ConnectOptions = { applicationName: 'small writer', statementTimeoutMs: 15_000 }
/** Keys have a connection of their own, so that authentication never waits behind the queries of requests. */
const KEY_READERS: ConnectOptions = { applicationName: 'keys', statementTimeoutMs: 5000 }
/** How long the requests under way may take when the service closes, and again as long the write queue. */
const GRACE_MS = 10_000

/**
 * Starts the service. It starts even if the database is away or the deployment is not configured, and answers requests
 * with that error until it has changed. Throws a ConfigError if it cannot listen.
 */
export async function startService(
  config: Config,
  log: Logger,
  database: Database,
  { plugins: list = plugins, migrations }: ServiceParts = {}
): Promise<Service> {
  const parallelism = parallelismOf(undefined, config.databaseConnections)
  const readers = openPool(database, READERS, parallelism.readers)
  const writers = openPool(database, WRITERS, parallelism.writers)
  const sql = createSqlAccess(readers, writers)
  const metrics = new Metrics()
  metrics.watch(
    'spoor_pool_waiting',
    'Work that waits for a connection to the database.',
    () => readers.waiting + writers.waiting
  )
  metrics.watch(
    'spoor_database_bytes',
    'Size of the database; 0 while it is away.',
    rarely(() => readDatabaseSize(sql))
  )
  const ingest = new WritePath(database, { ...config, lanes: parallelism.lanes }, log, metrics)
  const keyReaders = openPool(database, KEY_READERS, 1)
  const keys = new KeyRing({
    sql: createSqlAccess(keyReaders, writers),
    log,
    keyPrefix: config.keyPrefix,
    digestSecret: database.digestSecret ?? ''
  })
  const setup = new Setup(database, config.autoMigrate, log, migrations)
  const notices = listenForKeyChanges(
    database,
    () => keys.forget(),
    () => setup.lookAgain()
  )
  const readiness = new Readiness(setup, sql, ingest)
  const routes = new RouteTable()
  const app: App = {
    config,
    log,
    sql,
    ingest,
    metrics,
    routes: routes.routes,
    route: route => routes.add(route as unknown as Route),
    readiness: () => readiness.findObstacles(),
    lacks: () => describeShortage(database.limit.shortage)
  }
  const shared = { keys, ingest, log, metrics, notConfigured: () => setup.lacking }
  const server = new HttpServer({ ...shared, routes, readiness, baseUrl: config.baseUrl })
  let grpc: GrpcServer | undefined
  const close = once(async () => {
    setup.stop()
    await Promise.all([server.close(GRACE_MS), grpc?.close(GRACE_MS)])
    await within(GRACE_MS, ingest.close())
    await Promise.all([notices.close(), keyReaders.end(), readers.end(), writers.end()])
  })

  async function listenGrpc(): Promise<number | undefined> {
    if (config.grpcPort === undefined) return undefined
    // A process that does not serve gRPC does not load its library, which takes 50 ms.
    const { GrpcServer } = await import('./grpc/server.ts')
    grpc = new GrpcServer({ ...shared, routes: routes.routes, tls: config.grpcTls })
    const port = await grpc.listen(config.host, config.grpcPort)
    log.info({ host: config.host, port, tls: config.grpcTls !== undefined }, 'OTLP over gRPC is served')
    return port
  }

  try {
    const { location, transport } = database
    log.info({ database: location, transport }, 'writes go to the database by COPY')
    for (const plugin of list) await plugin(app)
    await setup.start()
    const grpcPort = await listenGrpc()
    const { address, port } = await server.listen(config.host, config.port)
    const host = address.includes(':') ? `[${address}]` : address
    return { url: `http://${host}:${port}`, host: address, port, grpcPort, app, close }
  } catch (error) {
    await close()
    throw error
  }
}

function openPool({ connect, limit }: Database, options: ConnectOptions, size: number): Pool {
  const { statementTimeoutMs } = options
  return new Pool(onClose => connect({ ...options, onClose }), { size, statementTimeoutMs, limit })
}

/** The size of the database is measured no more often than this, because PostgreSQL looks at every file for it. */
const SIZE_INTERVAL_MS = 60_000

/** Reads a value, and gives it again for SIZE_INTERVAL_MS. */
function rarely<T>(read: () => Promise<T>): () => Promise<T> {
  let value: Promise<T> | undefined
  let readAt = 0
  return () => {
    if (value === undefined || performance.now() - readAt > SIZE_INTERVAL_MS) {
      value = read()
      readAt = performance.now()
    }
    return value
  }
}

async function readDatabaseSize(access: SqlAccess): Promise<number | undefined> {
  return access.read(measureDatabase).catch(() => undefined)
}

/** Does the work once. Later calls get the promise of the first. */
function once(work: () => Promise<void>): () => Promise<void> {
  let result: Promise<void> | undefined
  return () => {
    result ??= work()
    return result
  }
}

/** Waits for `promise`, but no longer than `ms`. */
async function within(ms: number, promise: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>(resolve => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([promise, late])
  clearTimeout(timer)
}
