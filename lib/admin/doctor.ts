/**
 * Implements `spoor doctor`: checks whether a PostgreSQL server is suitable for spoor. Each fault comes with a remedy.
 */
import type { ServerFacts } from '../store/server/facts.ts'

export interface Check {
  readonly name: string
  /** `fail`: spoor cannot work, or data may be lost. `warn`: spoor works, but not well. */
  readonly result: 'ok' | 'warn' | 'fail'
  readonly text: string
}

/** Facts about this machine, the configuration and the schema. */
export interface LocalFacts {
  /** The fault if a pooler assigns connections per transaction. */
  readonly pooler: string | undefined
  /** A sentence about the schema; undefined if it is current. */
  readonly schema: string | undefined
  /** A sentence about a shortage of connections; undefined if there are enough. */
  readonly connections: string | undefined
  /** Major version of the pg_dump in PATH; undefined if there is none. */
  readonly pgDump: number | undefined
  readonly embedded: boolean
  readonly now: number
}

const OLDEST = 15
const MIB = 1024 * 1024
const LEAST_BUFFERS = 256 * MIB
const LEAST_WAL = 1024 * MIB
const MOST_SKEW_MS = 5000
const OLD_TRANSACTIONS = 1_000_000_000
/** Shorter timeouts would interrupt backups, migrations and compaction. */
const LEAST_TIMEOUT_MS = 600_000

export function diagnose(server: ServerFacts, local: LocalFacts): Check[] {
  return [
    judgeVersion(server),
    local.pooler === undefined
      ? ok('pooler', 'Each connection keeps its session.')
      : fail('pooler', `${local.pooler}.`),
    server.encoding === 'UTF8'
      ? ok('encoding', 'The database stores UTF-8.')
      : fail(
          'encoding',
          `The encoding is ${server.encoding}, not UTF-8: recreate the database with ` +
            "`encoding 'UTF8' template template0`."
        ),
    server.isStandby
      ? fail(
          'standby',
          'PostgreSQL is a standby and rejects writes: point DATABASE_URL to the primary, or promote the standby.'
        )
      : ok('standby', 'PostgreSQL accepts writes.'),
    ...judgeRole(server, local),
    local.schema === undefined ? ok('schema', 'The schema is current.') : warn('schema', local.schema),
    judgeSafety(server),
    ...judgeMemory(server, local),
    judgeTimeouts(server),
    local.connections === undefined
      ? ok('connections', 'PostgreSQL allows enough connections for the server.')
      : warn('connections', local.connections),
    judgeTransport(server),
    judgeClock(server, local),
    server.transactionAge < OLD_TRANSACTIONS
      ? ok('transaction ids', `The oldest transaction id is ${millions(server.transactionAge)} transactions old.`)
      : fail(
          'transaction ids',
          'Vacuum is falling behind, and writes will stop: end old transactions, and run `vacuum freeze`.'
        ),
    judgeDump(server, local)
  ]
}

const ok = (name: string, text: string): Check => ({ name, result: 'ok', text })
const warn = (name: string, text: string): Check => ({ name, result: 'warn', text })
const fail = (name: string, text: string): Check => ({ name, result: 'fail', text })

const majorOf = ({ versionNumber }: ServerFacts): number => Math.floor(versionNumber / 10_000)

const judgeVersion = (server: ServerFacts): Check =>
  majorOf(server) < OLDEST
    ? fail('version', `PostgreSQL ${server.version} is too old: spoor needs ${OLDEST} or newer.`)
    : ok('version', `PostgreSQL ${server.version} is supported.`)

function judgeRole(
  { role, isSuperuser, mayCreate, schema, deniedTables }: ServerFacts,
  { embedded }: LocalFacts
): Check[] {
  const denied =
    deniedTables.length === 0
      ? ok('rights', `The role ${role} can read and write spoor's tables.`)
      : fail(
          'rights',
          `The role ${role} cannot read and write ${deniedTables.join(', ')}: grant select, insert, update and delete.`
        )
  const create =
    schema === null
      ? fail('migrations', `The search_path of role ${role} has no existing schema: create one, or set search_path.`)
      : mayCreate
        ? ok('migrations', `The role ${role} can create tables in the schema ${schema}.`)
        : warn('migrations', `The role ${role} cannot create tables in the schema ${schema}: ${ELSEWHERE}`)
  const power =
    isSuperuser && !embedded
      ? [
          warn(
            'superuser',
            `The role ${role} is a superuser, but spoor does not need one: use a role that owns only its schema.`
          )
        ]
      : []
  return [denied, create, ...power]
}

const ELSEWHERE = 'run `spoor migrate` as its owner, and set AUTO_MIGRATE=false.'

function judgeSafety({ careless }: ServerFacts): Check {
  if (careless.length === 0) return ok('safety', 'Commits are durable, and autovacuum is on.')
  return fail(
    'safety',
    `PostgreSQL is running with ${careless.join(', ')} = off: turn each on, or a crash can lose data.`
  )
}

function judgeMemory({ settings }: ServerFacts, { embedded }: LocalFacts): Check[] {
  // The embedded server's settings follow the machine's memory and disk.
  if (embedded) return []
  const { shared_buffers: buffers = 0, max_wal_size: wal = 0 } = settings
  return [
    buffers < LEAST_BUFFERS
      ? warn(
          'shared_buffers',
          `shared_buffers is ${mib(buffers)}: set it to between 1/8 and 1/4 of the machine's memory.`
        )
      : ok('shared_buffers', `shared_buffers is ${mib(buffers)}.`),
    wal < LEAST_WAL
      ? warn('max_wal_size', `max_wal_size is ${mib(wal)}, so checkpoints are frequent: set it to between 1GB and 4GB.`)
      : ok('max_wal_size', `max_wal_size is ${mib(wal)}.`)
  ]
}

function judgeTimeouts({ settings, role }: ServerFacts): Check {
  const short = Object.entries(settings).filter(
    ([name, ms]) => name.endsWith('_timeout') && ms > 0 && ms < LEAST_TIMEOUT_MS
  )
  if (short.length === 0) return ok('timeouts', 'No timeout interrupts long statements or closes idle connections.')
  const named = short.map(([name, ms]) => `${name} = ${ms / 1000}s`).join(', ')
  const statements = short.map(([name]) => `\`alter role ${role} set ${name} = 0\``)
  return warn(
    'timeouts',
    `Long statements may be interrupted or idle connections closed (${named}): run ${statements.join(' and ')}.`
  )
}

const judgeTransport = ({ isEncrypted, isLocal }: ServerFacts): Check =>
  isEncrypted || isLocal
    ? ok('transport', isEncrypted ? 'The connection uses TLS.' : 'The connection does not leave the machine.')
    : warn(
        'transport',
        'Passwords and traces are sent over the network without TLS: add ?sslmode=verify-full to DATABASE_URL.'
      )

function judgeClock({ clockMs }: ServerFacts, { now }: LocalFacts): Check {
  const skew = Math.round(clockMs - now)
  if (Math.abs(skew) <= MOST_SKEW_MS) return ok('clock', 'The clocks of PostgreSQL and this machine agree.')
  return warn(
    'clock',
    `The clocks of PostgreSQL and this machine differ by ${Math.round(skew / 1000)} s: use NTP on both.`
  )
}

/** `spoor backup` needs no other program; pg_dump is checked for operators who also use it. */
function judgeDump(server: ServerFacts, { pgDump, embedded }: LocalFacts): Check {
  const major = majorOf(server)
  if (pgDump === undefined || embedded || pgDump >= major) return ok('pg_dump', '`spoor backup` needs no pg_dump.')
  return warn(
    'pg_dump',
    `pg_dump ${pgDump} cannot dump PostgreSQL ${major}: use \`spoor backup\`, or install pg_dump ${major}.`
  )
}

const mib = (bytes: number): string => `${Math.round(bytes / MIB)} MiB`
const millions = (count: number): string => (count < 1e6 ? String(count) : `${Math.round(count / 1e6)} million`)
