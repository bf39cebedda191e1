/**
 * Finds problems that operators must fix before these cause an outage. `status` reports problems with remedies, GET
 * /readyz in a few words, and the metrics as numbers.
 */
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { SqlAccess } from '../database/sql-access.ts'
import { EXPIRY_DAYS, readUpkeep, type Upkeep } from '../store/server/upkeep.ts'

/** Age at which the last backup is reported. A weekly backup may take a day. */
const OLD_BACKUP_DAYS = 8
/**
 * Age at which the oldest transaction id is reported: half of what PostgreSQL allows. By default, autovacuum acts at
 * 200 million.
 */
const OLD_TRANSACTIONS = 1_000_000_000
/** Share of a storage limit at which usage is reported: the level `warning` begins there. */
const MUCH_STORAGE = 0.8
const DAY_MS = 86_400_000

/** Returns full sentences with remedies, for `spoor status`. Storage is not included, as status names each project. */
export function upkeepProblems(
  { careless, transactionAge, lastBackupAt, expiringKeys }: Upkeep,
  now: number
): string[] {
  const age = backupDays(lastBackupAt, now)
  return [
    ...careless.map(describeCareless),
    ...(transactionAge < OLD_TRANSACTIONS ? [] : [describeTransactions(transactionAge)]),
    ...(age < OLD_BACKUP_DAYS
      ? []
      : [`The last backup is ${age} days old: find out why \`spoor backup\` no longer runs.`]),
    ...expiringKeys.map(
      ({ id, label, project, expiresAt }) =>
        `Key ${id}${label === '' ? '' : ` (${label})`} of project ${project} is in use and expires in ` +
        `${inDays(Date.parse(expiresAt) - now)}: run \`spoor key rotate ${id}\`, or create another key.`
    )
  ]
}

const describeCareless = (name: string): string =>
  name === 'autovacuum'
    ? 'PostgreSQL is running with autovacuum = off: tables grow without limit, and writes eventually stop. Turn it on.'
    : `PostgreSQL is running with ${name} = off: a crash can lose acknowledged writes. Turn it on.`

const describeTransactions = (age: number): string =>
  `The oldest transaction id is ${age} transactions old, and PostgreSQL stops writes at 2.1 billion: find what is ` +
  'blocking vacuum (a long transaction, a replication slot), and run `vacuum freeze`.'

/** Returns when the first certificate in a PEM file's bytes expires. */
export const expiryOf = (pem: Buffer): Date => new Date(new X509Certificate(pem).validTo)

/** Returns when the certificate in a PEM file expires; undefined if the file has no readable certificate. */
export function readExpiry(path: string): Date | undefined {
  try {
    return expiryOf(readFileSync(path))
  } catch {
    return undefined
  }
}

/** Describes a certificate that expires soon or has expired, for `status`. */
export function certificateProblems(name: string, expiresAt: Date | undefined, now: number): string[] {
  if (expiresAt === undefined) return []
  const ms = expiresAt.getTime() - now
  if (ms <= 0)
    return [`The ${name} certificate has expired, so every client rejects it. Renew it; no restart is needed.`]
  if (ms > EXPIRY_DAYS * DAY_MS) return []
  return [`The ${name} certificate expires in ${inDays(ms)}: renew it. No restart is needed.`]
}

/** Returns what GET /readyz lists under `lacks`. The endpoint is public, so no names appear. */
export function describeUpkeep(upkeep: Upkeep | undefined, certificate: Date | undefined, now: number): string[] {
  const certificates =
    certificateProblems('gRPC', certificate, now).length === 0
      ? []
      : ['a valid certificate: the gRPC certificate expires soon or has expired']
  if (upkeep === undefined) return certificates
  const { careless, transactionAge, lastBackupAt, expiringKeys, storageUsed } = upkeep
  const age = backupDays(lastBackupAt, now)
  return [
    ...certificates,
    ...(careless.length === 0 ? [] : [`safe PostgreSQL settings: ${careless.join(', ')} off`]),
    ...(transactionAge < OLD_TRANSACTIONS ? [] : ['transaction ids: vacuum is falling behind']),
    ...(age < OLD_BACKUP_DAYS ? [] : [`a recent backup: the last one is ${age} days old`]),
    ...(expiringKeys.length === 0 ? [] : ['valid keys: an active key expires soon']),
    ...(storageUsed < MUCH_STORAGE ? [] : ['storage: a project is close to its limit'])
  ]
}

const UPKEEP_LACK =
  /^(?:a valid certificate|safe PostgreSQL settings|transaction ids|a recent backup|valid keys|storage)\b/

/** Whether an item of `lacks` comes from `describeUpkeep`. */
export const isUpkeepLack = (lack: string): boolean => UPKEEP_LACK.test(lack)

/** Age of the last backup in days; 0 if `spoor backup` was never used, because other tools may make the backups. */
const backupDays = (at: string | null, now: number): number =>
  at === null ? 0 : Math.floor((now - Date.parse(at)) / DAY_MS)

function inDays(ms: number): string {
  const days = Math.floor(ms / DAY_MS)
  return days < 1 ? 'less than a day' : `${days} ${days === 1 ? 'day' : 'days'}`
}

/** Minimum interval between reads of the upkeep, regardless of the number of requests. */
const INTERVAL_MS = 60_000

/** Remembers the upkeep for a minute, so that health checks and scrapes cost the database little. */
export class UpkeepWatch {
  readonly #sql: Pick<SqlAccess, 'read'>
  readonly #defaultLimitBytes: number
  #value: Upkeep | undefined
  #reading: Promise<void> | undefined
  #readAt = Number.NEGATIVE_INFINITY

  constructor(sql: Pick<SqlAccess, 'read'>, defaultLimitBytes: number) {
    this.#sql = sql
    this.#defaultLimitBytes = defaultLimitBytes
  }

  /** Returns the last known value, and reads a new one in the background if the value is old. */
  get latest(): Upkeep | undefined {
    void this.refresh()
    return this.#value
  }

  /** Returns a value that is at most a minute old; undefined if the database cannot be read. */
  async refresh(): Promise<Upkeep | undefined> {
    if (this.#reading === undefined && performance.now() - this.#readAt >= INTERVAL_MS) {
      this.#readAt = performance.now()
      this.#reading = this.#sql
        .read(sql => readUpkeep(sql, this.#defaultLimitBytes))
        .then(
          value => {
            this.#value = value
          },
          () => {
            this.#value = undefined
          }
        )
        .finally(() => {
          this.#reading = undefined
        })
    }
    await this.#reading
    return this.#value
  }
}
