/** Metrics of the database, its disk and its schema, read at every scrape. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Config } from '../config.ts'
import type { Database } from '../database/database.ts'
import { readDisk } from '../database/embedded/free-disk.ts'
import type { Pool } from '../database/pool.ts'
import type { SqlAccess } from '../database/sql-access.ts'
import type { Metrics } from '../metrics.ts'
import { measureDatabase } from '../store/server/properties.ts'
import type { Readiness } from './readiness.ts'
import type { Setup } from './setup.ts'
import type { UpkeepWatch } from './upkeep.ts'

interface Watched {
  readonly config: Pick<Config, 'dataDir'>
  readonly database: Pick<Database, 'embedded'>
  readonly sql: SqlAccess
  /** All pools and queues in which work waits for a connection. */
  readonly pools: readonly Pick<Pool, 'waiting'>[]
  readonly setup: Pick<Setup, 'schema'>
  readonly readiness: Pick<Readiness, 'findObstacles'>
  readonly upkeep: UpkeepWatch
  /** When the gRPC certificate expires; undefined without one. */
  readonly certificateExpiry: () => Date | undefined
}

/** Minimum interval between measurements of the database size, for which PostgreSQL inspects every file. */
const SIZE_INTERVAL_MS = 60_000
/** Maximum time that a scrape waits for an unresponsive database. */
const MOST_MS = 2000

export function watchStore(metrics: Metrics, watched: Watched): void {
  const { config, database, sql, pools, setup, readiness } = watched
  watchUpkeep(metrics, watched)
  metrics.watch(
    'spoor_pool_waiting',
    'Work that is waiting for a database connection, or for its project’s turn.',
    () => pools.reduce((sum, { waiting }) => sum + waiting, 0)
  )
  const isReady = async () => ((await readiness.findObstacles()).length === 0 ? 1 : 0)
  metrics.watch('spoor_ready', '1 if writes are accepted, as /readyz reports.', isReady, 'min')
  const size = rarely(() => Promise.race([readSize(sql), delay(MOST_MS, undefined, { ref: false })]))
  metrics.watch('spoor_database_bytes', 'Size of the database; absent while the database is unreachable.', size, 'max')
  metrics.watch(
    'spoor_schema_version',
    'The latest migration applied to the database.',
    () => setup.schema?.version,
    'min'
  )
  metrics.watch(
    'spoor_schema_expected_version',
    'The latest migration in this version.',
    () => setup.schema?.latest,
    'max'
  )
  if (!database.embedded) return
  const free = async () => (await readDisk(config.dataDir))?.freeBytes
  metrics.watch('spoor_disk_free_bytes', "Free space on the embedded database's disk.", free, 'min')
}

function watchUpkeep(metrics: Metrics, { upkeep, certificateExpiry }: Watched): void {
  const soon = () => Promise.race([upkeep.refresh(), delay(MOST_MS, undefined, { ref: false })])
  const until = (at: string | Date | undefined) => at && (new Date(at).getTime() - Date.now()) / 1000
  metrics.watch(
    'spoor_backup_age_seconds',
    'Time since `spoor backup` last completed; absent if it never has.',
    async () => {
      const at = (await soon())?.lastBackupAt
      return at == null ? undefined : -(until(at) as number)
    },
    'min'
  )
  metrics.watch(
    'spoor_key_expiry_seconds',
    'Time until the next active key expires; absent if none expires within 14 days.',
    async () => until((await soon())?.expiringKeys[0]?.expiresAt) as number | undefined,
    'min'
  )
  metrics.watch(
    'spoor_certificate_expiry_seconds',
    'Time until the gRPC certificate expires; absent without one.',
    () => until(certificateExpiry()) as number | undefined,
    'min'
  )
  metrics.watch(
    'spoor_storage_used_ratio',
    'The highest share of its storage limit used by any project.',
    async () => (await soon())?.storageUsed,
    'max'
  )
  metrics.watch(
    'spoor_unsafe_settings',
    'Number of PostgreSQL settings that are off but must be on, such as fsync.',
    async () => (await soon())?.careless.length,
    'max'
  )
  metrics.watch(
    'spoor_transaction_age',
    'Age of the oldest transaction id. PostgreSQL stops writes at 2.1 billion.',
    async () => (await soon())?.transactionAge,
    'max'
  )
}

const readSize = (sql: SqlAccess): Promise<number | undefined> => sql.read(measureDatabase).catch(() => undefined)

/** Caches a value for SIZE_INTERVAL_MS. Retries a failed read at the next call. */
function rarely(read: () => Promise<number | undefined>): () => Promise<number | undefined> {
  let value: number | undefined
  let readAt = Number.NEGATIVE_INFINITY
  return async () => {
    if (value === undefined || performance.now() - readAt > SIZE_INTERVAL_MS) {
      readAt = performance.now()
      value = await read()
    }
    return value
  }
}
