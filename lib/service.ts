/** Assembles the parts of the service in one process, and starts and stops the parts in order. */
import type { Sql } from 'postgres'
import dashboard from '../plugins/dashboard/index.ts'
import docs from '../plugins/docs.ts'
import health from '../plugins/health.ts'
import { plugins } from '../plugins/index.ts'
import mcp from '../plugins/mcp/index.ts'
import meta from '../plugins/meta.ts'
import metricsRoute from '../plugins/metrics.ts'
import openapi from '../plugins/openapi.ts'
import otlp from '../plugins/otlp/index.ts'
import { KeyRing } from './access/auth.ts'
import { listenForKeyChanges } from './access/key-notices.ts'
import type { App, Plugin } from './app.ts'
import { ChangeLog } from './background/change-log.ts'
import { Folding } from './background/folding.ts'
import { IdleTraces } from './background/idle-traces.ts'
import { OldRuns } from './background/old-runs.ts'
import { PriceBook } from './background/price-book.ts'
import { Repacking } from './background/repacking.ts'
import { SearchIndex } from './background/search-index.ts'
import { UnkeptRecords } from './background/unkept-records.ts'
import { WaitingMessages } from './background/waiting-messages.ts'
import { NearReads } from './cluster/near-reads.ts'
import type { Config } from './config.ts'
import type { ConnectOptions, Database } from './database/database.ts'
import { Pool } from './database/pool.ts'
import { READER_SETTINGS } from './database/reader-settings.ts'
import { createSqlAccess, type SqlAccess } from './database/sql-access.ts'
import type { GrpcServer } from './grpc/server.ts'
import { describeLags, describeShortage } from './health/lacks.ts'
import { Readiness } from './health/readiness.ts'
import { Setup } from './health/setup.ts'
import { watchStore } from './health/store-metrics.ts'
import { describeUpkeep, UpkeepWatch } from './health/upkeep.ts'
import { callRoute } from './http/local-call.ts'
import { sessionCookie } from './http/people/cookie.ts'
import { vouchingOf } from './http/people/trusted-proxy.ts'
import type { Route } from './http/route.ts'
import { RouteTable } from './http/route-table.ts'
import { HttpServer } from './http/server.ts'
import { WritePath } from './ingest/write-path.ts'
import type { ArrivalBounds } from './limits/arrival.ts'
import { LARGE_READS, STREAMS } from './limits/large-reads.ts'
import { parallelismOf } from './limits/parallelism.ts'
import { SharedGate } from './limits/shared-gate.ts'
import type { Logger } from './log.ts'
import { Metrics } from './metrics.ts'
import { readNetworks } from './network-list.ts'
import { Visitors } from './people/visitors.ts'
import type { Principal } from './schema/principal.ts'
import { SCOPES } from './schema/scopes.ts'
import { Bodies } from './threads/bodies.ts'
import { parse } from './threads/parsing.ts'
import { within } from './within.ts'

export interface Service {
  /** The URL at which the service listens: `http://<host>:<port>`. */
  readonly url: string
  readonly host: string
  readonly port: number
  /** The port for OTLP over gRPC; undefined if gRPC is off. */
  readonly grpcPort: number | undefined
  readonly app: App
  /**
   * Announces the shutdown. From then on, the service reports that it is not ready and closes each connection after its
   * next response, but still accepts requests.
   */
  drain(): void
  /** Answers requests in flight, writes queued operations, and closes connections. The caller closes the database. */
  close(): Promise<void>
}

/** Parts that a test can replace. */
export interface ServiceParts {
  readonly plugins?: readonly Plugin[]
  /** A folder of migrations to use instead of sql/, such as a future version's folder. */
  readonly migrations?: string | undefined
  /** Time that messages from log records wait for their span. */
  readonly messagesWaitMs?: number | undefined
  /** Minimum pace of arriving request bodies, and maximum waiting times. */
  readonly arrival?: Partial<ArrivalBounds> | undefined
}

/** Connections for requests that read, and for small writes. */
const READERS: ConnectOptions = { applicationName: 'reader', statementTimeoutMs: 15_000, settings: READER_SETTINGS }
const WRITERS: ConnectOptions = { applicationName: 'small writer', statementTimeoutMs: 15_000 }
/** Key and session lookups have their own connection, so that authentication never waits behind request queries. */
const KEY_READERS: ConnectOptions = { applicationName: 'keys', statementTimeoutMs: 5000 }
/** Time limit for requests in flight when the service closes, and again for the write queue. */
const GRACE_MS = 10_000

/**
 * Starts the service, even if the database is unreachable or the deployment is not configured. Until the problem is
 * solved, requests are then answered with an error. Throws a ConfigError if the service cannot listen on its ports.
 */
export async function startService(
  config: Config,
  log: Logger,
  database: Database,
  { plugins: list = plugins, migrations, messagesWaitMs, arrival }: ServiceParts = {}
): Promise<Service> {
  const parallelism = parallelismOf(undefined, config.databaseConnections)
  const readers = openPool(database, READERS, parallelism.readers)
  const writers = openPool(database, WRITERS, parallelism.writers)
  const metrics = new Metrics({ projects: config.metricsProjects })
  const keyReaders = openPool(database, KEY_READERS, 1)
  const identities = createSqlAccess(keyReaders, writers)
  const health = {
    isSetUp: () => setup.lacking === undefined && setup.obstacle === undefined,
    isReady: async () => (await readiness.findObstacles()).length === 0
  }
  const prices = config.computesCosts ? new PriceBook({ sql: identities, log, health, metrics }) : undefined
  const options = { ...config, lanes: parallelism.lanes, ...(prices && { prices }) }
  const ingest = new WritePath(database, options, log, metrics)
  ingest.threads.watch(metrics)
  const near = new NearReads(database.node, ingest.routes, { connection: READERS, size: parallelism.readers })
  const turns = new SharedGate({ share: parallelism.readersOfOne })
  const largeReads = new SharedGate(LARGE_READS)
  const streams = new SharedGate(STREAMS)
  const sql = createSqlAccess(readers, writers, near, turns)
  const visitors = new Visitors({ sql: identities, log, roleOfUnknown: config.authProxy?.role })
  const keys = new KeyRing({
    sql: identities,
    log,
    keyPrefix: config.keyPrefix,
    digestSecret: database.digestSecret ?? '',
    previousSecret: database.previousSecret
  })
  const setup = new Setup(database, config.autoMigrate, log, migrations)
  const forget = () => {
    keys.forget()
    visitors.forget()
  }
  const onChange = () => {
    forget()
    void prices?.refresh()
  }
  const notices = listenForKeyChanges(database, onChange, () => setup.lookAgain())
  const readiness = new Readiness({ setup, sql, ingest, log })
  const idle = new IdleTraces({ sql, ingest, log, health, metrics, afterMs: config.idleCompleteMs })
  const unkept = new UnkeptRecords({ sql, log, health })
  const waiting = new WaitingMessages({ sql, log, health, metrics, unkept, waitMs: messagesWaitMs })
  const oldRuns = new OldRuns({ sql, log, health })
  const folding = new Folding({ sql, database, log, health, metrics })
  const changeLog = new ChangeLog({ sql, log, health })
  const isCalm = () => ingest.isCalm
  const index = new SearchIndex({ sql, database, log, health, metrics, isCalm })
  const repacking = new Repacking({ sql, database, log, health, metrics, isCalm, afterMs: config.repackAfterMs })
  let grpc: GrpcServer | undefined
  const upkeep = new UpkeepWatch(sql, config.storageLimitBytes)
  watchStore(metrics, {
    config,
    database,
    sql,
    pools: [readers, writers, turns, largeReads, streams],
    setup,
    readiness,
    upkeep,
    certificateExpiry: () => grpc?.certificateExpiresAt
  })
  const routes = new RouteTable()
  const { digestSecret, previousSecret } = database
  const secrets = { baseUrl: config.baseUrl, digestSecret, previousSecret }
  const app: App = {
    config,
    log,
    sql,
    largeReads,
    streams,
    ingest,
    bodies: new Bodies(ingest.threads),
    metrics,
    unkept,
    cookie: sessionCookie(secrets),
    secrets,
    routes: routes.routes,
    route: route => routes.add(route as unknown as Route),
    readiness: () => readiness.findObstacles(),
    instance: () => setup.instance,
    forget,
    lacks: () => [
      ...describeShortage(database.limit.shortage),
      ...describeLags({ charts: folding.lagMs, search: index.lagMs, repacking: repacking.lagMs }),
      ...describeUpkeep(upkeep.latest, grpc?.certificateExpiresAt, Date.now())
    ]
  }
  const shared = { keys, ingest, readiness, log, metrics, notConfigured: () => setup.lacking }
  const people = { visitors, cookie: app.cookie, vouching: vouchingOf(config.authProxy) }
  const trusted = config.trustProxy.length === 0 ? undefined : readNetworks(config.trustProxy)
  const { baseUrl, command } = config
  const server = new HttpServer({ ...shared, ...people, routes, trusted, baseUrl, command, arrival })
  const drain = () => {
    readiness.noteStop()
    server.drain()
    grpc?.drain()
  }
  const close = once(async () => {
    readiness.noteStop()
    setup.stop()
    for (const round of [idle, waiting, oldRuns, folding, changeLog, index, repacking]) round.close()
    await Promise.all([server.close(GRACE_MS), grpc?.close(GRACE_MS)])
    await within(GRACE_MS, Promise.all([ingest.close(), unkept.close()]))
    await prices?.close()
    await Promise.all([notices.close(), ...[keyReaders, readers, writers, near].map(each => each.end())])
  })

  async function listenGrpc(): Promise<number | undefined> {
    if (config.grpcPort === undefined) return undefined
    // Loaded only if gRPC is on, because loading the library takes 50 ms.
    const { GrpcServer } = await import('./grpc/server.ts')
    grpc = new GrpcServer({ ...shared, routes: routes.routes, tls: config.grpcTls, arrival })
    const port = await grpc.listen(config.host, config.grpcPort)
    log.info({ host: config.host, port, tls: config.grpcTls !== undefined }, 'OTLP over gRPC is served')
    return port
  }

  try {
    const { location, transport } = database
    log.info({ database: location, transport }, 'writing to the database with COPY')
    for (const plugin of list) await plugin(app)
    await setup.start()
    await prices?.refresh()
    const grpcPort = await listenGrpc()
    const { address, port } = await server.listen(config.host, config.port)
    const host = address.includes(':') ? `[${address}]` : address
    return { url: `http://${host}:${port}`, host: address, port, grpcPort, app, drain, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** The API's routes for one project, without a server. */
export interface LocalRoutes {
  /** Returns the response's body as text. Throws a Refusal if the request is rejected. */
  call(method: string, url: string, body?: object): Promise<string>
  close(): Promise<void>
}

export interface LocalOptions {
  readonly projectId: number
  /** Called with a connection before each write. */
  onWriter(sql: Sql): Promise<void>
}

/** Plugins whose routes are not called locally. They need more of the App than other routes do. */
const ONLY_SERVED: readonly Plugin[] = [meta, openapi, otlp, mcp, docs, dashboard, health, metricsRoute]
const LOCAL_CONNECTIONS = 2

/**
 * Opens the routes that read and change recorded data, with all scopes, for a process that uses the database directly.
 * A request is validated and handled by the same route objects as over HTTP. Nothing else of the service is started, so
 * the routes that record traces do not work.
 */
export async function openRoutes(
  config: Config,
  log: Logger,
  database: Database,
  { projectId, onWriter }: LocalOptions
): Promise<LocalRoutes> {
  const [readers, writers] = [READERS, WRITERS].map(options => openPool(database, options, LOCAL_CONNECTIONS)) as [
    Pool,
    Pool
  ]
  const access = createSqlAccess(readers, writers)
  const write: SqlAccess['write'] = work =>
    access.write(async (sql, attempts) => {
      await onWriter(sql)
      return work(sql, attempts)
    })
  const routes = new RouteTable()
  const atOnce = { run: <T>(_party: number, work: () => Promise<T>) => work() }
  const app: Partial<App> = {
    config,
    log,
    sql: { ...access, write },
    largeReads: atOnce,
    streams: atOnce,
    bodies: { parse: async (name, body) => parse(name, body) },
    routes: routes.routes,
    route: route => routes.add(route as unknown as Route)
  }
  for (const plugin of plugins.filter(each => !ONLY_SERVED.includes(each))) await plugin(app as App)
  const key: Principal = {
    // No key made the request. The audit log omits an id that is undefined.
    keyId: undefined as never,
    label: '',
    projectId,
    scopes: SCOPES,
    environment: null,
    trialAccountId: null,
    expiresAt: null,
    lastUsedAt: new Date().toISOString()
  }
  return {
    call: (method, url, body) => callRoute(routes, key, { method, url, body }),
    async close() {
      await Promise.all([readers.end(), writers.end()])
    }
  }
}

function openPool({ connect, limit }: Database, options: ConnectOptions, size: number): Pool {
  const { statementTimeoutMs } = options
  return new Pool(onClose => connect({ ...options, onClose }), { size, statementTimeoutMs, limit })
}

/** Runs the work once. Later calls return the first call's promise. */
function once(work: () => Promise<void>): () => Promise<void> {
  let result: Promise<void> | undefined
  return () => {
    result ??= work()
    return result
  }
}
