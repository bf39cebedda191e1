import cluster from 'node:cluster'
import { setTimeout as delay } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { linksOf, prepareFirstStart } from '../../lib/admin/first-start.ts'
import { type Config, readConfig } from '../../lib/config.ts'
import { dashboardAddress } from '../../lib/dashboard-address.ts'
import type { Database } from '../../lib/database/database.ts'
import { announceServer, listenAddress, withdrawServer } from '../../lib/health/running-server.ts'
import { Setup } from '../../lib/health/setup.ts'
import type { Logger } from '../../lib/log.ts'
import { type Call, command } from '../command.ts'
import { type Running, serveProcess, startProcesses } from '../server/processes.ts'
import { listenForStop, type Stop } from '../server/stop.ts'
import { welcome } from '../terminal/welcome.ts'

/**
 * Heap growth between two full collections, as a percentage of live data. A server's heap is small, but V8 also counts
 * the memory that bodies and rows use outside the heap. By default, V8 would therefore run a full collection several
 * times a second, which costs a lot of CPU time (test/bench/RESULTS.md, "Growth of the heap").
 */
const HEAP_GROWTH_PERCENT = 150

/**
 * Maximum wait for PostgreSQL to recover before the server starts listening. After that, /readyz reports that the
 * server is not ready.
 */
const RECOVERY_PATIENCE_MS = 500

export default command({
  summary: 'Start the server, with an embedded PostgreSQL unless DATABASE_URL is set',
  details: [
    "Prints the server's address to stdout. The first time it starts, the server also prints a key and a dashboard",
    'sign-in link; after that, it prints a link only on a terminal. The log goes to stderr, one line per request',
    '(JSON, or text on a terminal). After Ctrl-C or SIGTERM, the server finishes the requests in flight and',
    'stops; a second signal stops it immediately. After SIGTERM, for SHUTDOWN_GRACE (3s), /readyz returns 503 and each',
    'response closes its connection, so that clients reconnect elsewhere.'
  ].join('\n'),
  examples: ['serve', 'serve --json 2>spoor.log'],
  async run(call) {
    const config = readConfig(call.env)
    const { createLog } = await import('../../lib/log.ts')
    const format = config.logFormat ?? (process.stderr.isTTY ? 'text' : 'json')
    const { command } = call.started
    const log = createLog(config.logLevel, undefined, { format, requests: config.logRequests, command })
    if (cluster.isWorker) await serveProcess(() => startHere(config, log))
    else await serve(call, config, log)
  }
})

/** Serves until a signal arrives. Then, or after an error, closes everything that was opened, in reverse order. */
async function serve(call: Call, config: Config, log: Logger): Promise<void> {
  const stop = listenForStop(log)
  // The ports are checked before a database is created or recovers.
  const { tryPort } = await import('../../lib/listen-error.ts')
  await tryPort(config.host, config.port)
  if (config.grpcPort !== undefined) await tryPort(config.host, config.grpcPort, 'OTLP_GRPC_PORT')
  const { openDatabase } = await import('../../lib/database/open.ts')
  const opening = openDatabase(config, log, { role: 'serve', patienceMs: RECOVERY_PATIENCE_MS })
  // The service is loaded while PostgreSQL starts, because loading and starting take about the same time.
  if (config.processes === 1) void import('../../lib/service.ts')
  const database = await opening
  try {
    const running =
      config.processes === 1 ? await start(config, log, database) : await startProcesses(config.processes, log)
    try {
      const address = listenAddress(running.host, running.port)
      if (database.embedded) await announceServer(config.dataDir, address)
      const stopped = stop.requested.then(() => false)
      if (await Promise.race([waitForRecovery(config, log, database, address), stopped])) {
        await greet(call, config, database, address)
      }
      if (await stop.requested) await sayGoodbye(running, config.shutdownGraceMs, stop, log)
    } finally {
      await Promise.race([running.close(), stop.forced])
      if (database.embedded) await withdrawServer(config.dataDir)
    }
  } finally {
    await database.close()
  }
  log.info('stopped')
}

/** Gives the server's clients time to switch to another server. A second signal ends the wait. */
async function sayGoodbye(running: Running, graceMs: number, stop: Stop, log: Logger): Promise<void> {
  if (graceMs === 0) return
  running.drain()
  log.info({ ms: graceMs }, 'stopping: /readyz reports it, and responses close their connections')
  await Promise.race([delay(graceMs, undefined, { ref: false }), stop.forced])
}

/** Waits until PostgreSQL has recovered and the schema is either current or cannot be brought up to date. */
async function waitForRecovery(config: Config, log: Logger, database: Database, address: string): Promise<true> {
  if (database.recovery === undefined) return true
  log.info({ address }, 'listening while PostgreSQL recovers')
  await database.recovery
  // Without this check, the service's own Setup would not check the schema until later.
  const setup = new Setup(database, config.autoMigrate, log)
  await setup.start()
  setup.stop()
  return true
}

/** Prints the server's address, and the key if this is the first start. */
async function greet(
  { env, started, print }: Call,
  config: Config,
  database: Database,
  address: string
): Promise<void> {
  const links = linksOf(config, process.stdout.isTTY === true)
  const firstStart = await prepareFirstStart(database, config.keyPrefix, links, config.init)
  const { key = null, link, obstacle = null } = firstStart
  const dashboard = config.dashboard ? dashboardAddress(config.baseUrl ?? address, link) : null
  print(
    { address, database: database.location, key, dashboard, obstacle },
    welcome(address, database.location, { key, obstacle, dashboard, isLink: link !== undefined }, env, started)
  )
}

async function start(config: Config, log: Logger, database: Database) {
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT}`)
  const { startService } = await import('../../lib/service.ts')
  return startService(config, log, database)
}

/** Starts the service in one of several processes. The primary process has already started the embedded database. */
async function startHere(config: Config, log: Logger) {
  const { openDatabase } = await import('../../lib/database/open.ts')
  const database = await openDatabase(config, log, { role: 'command', patienceMs: RECOVERY_PATIENCE_MS })
  const service = await start(config, log, database)
  return {
    ...service,
    metrics: service.app.metrics,
    async close() {
      await service.close()
      await database.close()
    }
  }
}
