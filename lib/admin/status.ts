/** Implements `spoor status`, which shows an instance's state, its problems, and their remedies. */
import type { Sql } from 'postgres'
import { findLeftBehind } from '../cluster/distribution.ts'
import { type NodePlacement, nodeProblems, readPlacement } from '../cluster/placement.ts'
import type { Config } from '../config.ts'
import type { Database } from '../database/database.ts'
import { type Disk, LITTLE_DISK_BYTES, readDisk } from '../database/embedded/free-disk.ts'
import { classifyFailure } from '../database/failure.ts'
import { describeNewer, isBehind, readSchemaState, type SchemaState } from '../database/migrate.ts'
import { Pool } from '../database/pool.ts'
import { requireSession } from '../database/session/require-session.ts'
import { causeOf } from '../failure-log.ts'
import { findShortage } from '../health/lacks.ts'
import { describeDenial, isDenial, nameObstacle } from '../health/obstacles.ts'
import { type FoundServer, lookForServer, type RunningServer } from '../health/running-server.ts'
import { serverProblems } from '../health/server-problems.ts'
import { certificateProblems, readExpiry, upkeepProblems } from '../health/upkeep.ts'
import { countDeltas } from '../store/analytics/rollups/deltas.ts'
import { countSessions } from '../store/people/sessions.ts'
import { isOtherSecret, OTHER_SECRET, readKeysToMove } from '../store/projects/digest-secret.ts'
import { readRepackBacklog } from '../store/repacking/progress.ts'
import { readSearchState, type SearchState } from '../store/search/state.ts'
import { measureDatabase, readConnectionRoom, readDatabaseId } from '../store/server/properties.ts'
import { readUpkeep, type Upkeep } from '../store/server/upkeep.ts'
import type { Totals } from '../store/write/totals.ts'
import { ConfigError } from '../variables.ts'
import { VERSION } from '../version.ts'
import { listAccounts } from './accounts.ts'
import { type DescribedUnpriced, listPrices } from './prices.ts'
import { type DescribedProject, listProjects } from './projects.ts'
import { type DescribedUnkept, listUnkept } from './unkept-records.ts'
import { areSumsRight, recountProject } from './upkeep/recount.ts'

export interface InstanceStatus {
  readonly version: string
  readonly server: RunningServer | null
  readonly database: {
    readonly location: string
    readonly embedded: boolean
    /** `serverVersion`, `isStandby` and `bytes` are null if the database cannot be queried. */
    readonly serverVersion: string | null
    readonly isStandby: boolean | null
    readonly bytes: number | null
    /** The disk that holds an embedded database; null for an external database. */
    readonly disk: Disk | null
  }
  /** A cluster's nodes and their contents; empty for a single PostgreSQL server. */
  readonly nodes: readonly NodePlacement[]
  /** State of the schema; null if the database cannot be queried. */
  readonly schema: SchemaState | null
  /** All projects; empty if the schema lacks migrations. */
  readonly projects: readonly DescribedProject[]
  /** Indexing progress of projects with word search. */
  readonly search: readonly (SearchState & { readonly project: string })[]
  /** Projects with idle traces that have not been checked for repacking yet. */
  readonly repacking: readonly { readonly project: string; readonly waiting: number }[]
  /** Log records and metrics that were received but not kept, by project, signal and name. */
  readonly unkept: readonly DescribedUnkept[]
  readonly totals: Totals
  /** Number of delta rows not yet folded into rollups. Charts add these rows at query time. */
  readonly news: number
  /** Numbers of dashboard users and of their sessions. */
  readonly people: { readonly users: number; readonly sessions: number }
  /** Models whose calls have no cost because no price is known. */
  readonly unpriced: readonly DescribedUnpriced[]
  /** When `spoor backup` last completed; null if it never did. */
  readonly lastBackupAt: string | null
  /** Problems, as sentences that include the remedy; empty if there are none. */
  readonly problems: readonly string[]
}

/** The part of a status that comes from the database. */
type Inside = Omit<InstanceStatus, 'version' | 'server' | 'database'> &
  Pick<InstanceStatus['database'], 'serverVersion' | 'isStandby' | 'bytes'> & { readonly found: FoundServer }

export interface StatusOptions {
  /** Whether a missing server is a problem. */
  readonly expectsServer?: boolean
  /** Whether to recount the totals of projects of moderate size, which reads all of their traces. */
  readonly recounts?: boolean
}

/** Reads the status. Without `recounts`, this is light enough for a check every minute. */
export async function readStatus(
  config: Config,
  database: Database,
  sql: Sql,
  { expectsServer = true, recounts = false }: StatusOptions = {}
): Promise<InstanceStatus> {
  const inside = await lookInside(config, database, sql, recounts).catch(error =>
    lookFromOutside(config, database, error)
  )
  const { found, serverVersion, isStandby, bytes, problems, ...parts } = inside
  const disk = database.embedded ? ((await readDisk(config.dataDir)) ?? null) : null
  const { location, embedded } = database
  return {
    version: VERSION,
    server: 'server' in found ? found.server : null,
    database: { location, embedded, serverVersion, isStandby, bytes, disk },
    ...parts,
    problems: [
      ...problems,
      ...serverProblems(found, expectsServer),
      ...diskProblems(config, disk),
      ...certificateProblems('gRPC', config.grpcTls && readExpiry(config.grpcTls.cert), Date.now())
    ]
  }
}

async function lookInside(config: Config, database: Database, sql: Sql, recounts: boolean): Promise<Inside> {
  await requireOwnSession(database, sql)
  const denials: string[] = []
  /**
   * Reads one part of the status. If the role lacks a privilege, reports a problem, so that the other parts can still
   * be read.
   */
  const allowed = async <T>(read: () => Promise<T>, otherwise: T): Promise<T> => {
    try {
      return await read()
    } catch (error) {
      if (!isDenial(error)) throw error
      const denial = `${describeDenial(error).replace(/^./, first => first.toUpperCase())}.`
      if (!denials.includes(denial)) denials.push(denial)
      return otherwise
    }
  }
  const schema = await allowed(() => readSchemaState(sql), null)
  const { serverVersion, isStandby } = await readSettings(sql)
  const isUsable = schema !== null && !isBehind(schema)
  /** Like `allowed`, but for a part of the status that can be read only with a usable schema. */
  const ifUsable = <T>(read: () => Promise<T>, otherwise: T) => (isUsable ? allowed(read, otherwise) : otherwise)
  const projects = await ifUsable<readonly DescribedProject[] | null>(
    () => listProjects(sql, config.storageLimitBytes),
    null
  )
  const known = projects ?? []
  const nodes = (await ifUsable(() => readPlacement(sql), undefined)) ?? []
  const news = await ifUsable(() => countDeltas(sql), 0)
  const accounts = await ifUsable(() => listAccounts(sql), [])
  const hasTrials = accounts.some(account => account.kind === 'trial')
  const search = await allowed(() => readSearch(sql, known), [])
  const repacking = await ifUsable(() => readRepacking(sql, known, config.repackAfterMs), [])
  const unkept = await ifUsable(() => listUnkept(sql, known), [])
  const people = await ifUsable(() => countSessions(sql), { users: 0, sessions: 0 })
  const unpriced = await ifUsable(async () => (await listPrices(sql)).unpriced, [])
  const leftBehind = await allowed(() => findLeftBehind(sql), undefined)
  const upkeep = await ifUsable<Upkeep | undefined>(() => readUpkeep(sql, config.storageLimitBytes), undefined)
  const wrongTotals = isStandby || !recounts ? [] : await allowed(() => totalsProblems(sql, known), [])
  const secret = await allowed(() => secretProblems(sql, database, isUsable), [])
  return {
    found: await lookForServer(config, await readDatabaseId(sql)),
    nodes,
    schema,
    projects: known,
    search,
    repacking,
    unkept,
    totals: sumOf(known),
    news,
    people,
    unpriced,
    serverVersion,
    isStandby,
    lastBackupAt: upkeep?.lastBackupAt ?? null,
    bytes: (await allowed(() => measureDatabase(sql), undefined)) ?? null,
    problems: [
      ...denials,
      ...(schema === null ? [] : schemaProblems(schema)),
      ...nodeProblems(nodes),
      ...(leftBehind === undefined ? [] : [`${leftBehind.replace(/^t/, 'T')}.`]),
      ...(projects === null ? [] : projectProblems(projects)),
      ...wrongTotals,
      ...newsProblems(news),
      ...secret,
      ...(hasTrials && config.trialTraces === undefined
        ? ['There are trial accounts, but TRIAL_TRACES is not set, so they are not limited. Set it on the server.']
        : []),
      ...findShortage(await readConnectionRoom(sql), config.processes, config.databaseConnections),
      ...(isStandby ? ['PostgreSQL is a standby: it accepts reads, but rejects writes until it is promoted.'] : []),
      ...(upkeep === undefined ? [] : upkeepProblems(upkeep, Date.now()))
    ]
  }
}

/**
 * Throws a ConfigError if a pooler shares connections, because queries may then fail or run in another client's
 * session.
 */
async function requireOwnSession({ connect, embedded }: Database, sql: Sql): Promise<void> {
  if (embedded) return
  const other = new Pool(onClose => connect({ applicationName: 'command', onClose }), { size: 1 })
  try {
    await requireSession(sql, other)
  } finally {
    await other.end()
  }
}

/** Returns the part of a status that does not depend on the database. */
async function lookFromOutside(config: Config, database: Database, error: unknown): Promise<Inside> {
  const isAway = ['lost', 'refused'].includes(classifyFailure(error))
  if (!isAway && !(error instanceof ConfigError)) throw error
  const problem = isAway
    ? `${database.location}: ${nameObstacle(error)} (${causeOf(error)}).`
    : `${(error as ConfigError).message}.`
  return {
    found: await lookForServer(config, undefined),
    nodes: [],
    schema: null,
    projects: [],
    search: [],
    repacking: [],
    unkept: [],
    totals: sumOf([]),
    news: 0,
    people: { users: 0, sessions: 0 },
    unpriced: [],
    lastBackupAt: null,
    serverVersion: null,
    isStandby: null,
    bytes: null,
    problems: [problem]
  }
}

async function readSearch(sql: Sql, projects: readonly DescribedProject[]): Promise<InstanceStatus['search']> {
  const states: InstanceStatus['search'][number][] = []
  for (const { id, slug, search } of projects) {
    if (search) states.push({ project: slug, ...(await readSearchState(sql, Number(id))) })
  }
  return states
}

async function readRepacking(
  sql: Sql,
  projects: readonly DescribedProject[],
  afterMs: number | undefined
): Promise<InstanceStatus['repacking']> {
  if (afterMs === undefined) return []
  const slugs = new Map(projects.map(({ id, slug }) => [Number(id), slug]))
  return (await readRepackBacklog(sql, afterMs)).flatMap(({ projectId, waiting }) => {
    const project = slugs.get(projectId)
    return project === undefined || waiting === 0 ? [] : [{ project, waiting }]
  })
}

function diskProblems({ dataDir }: Config, disk: Disk | null): string[] {
  if (disk === null || disk.freeBytes >= LITTLE_DISK_BYTES) return []
  const megabytes = Math.floor(disk.freeBytes / 1e6)
  return [`The disk of ${dataDir} has ${megabytes} MB left. Writes are rejected when it is full: free some space.`]
}

/** Number of pending rows above which a problem is reported, because charts add up all pending rows at query time. */
const MOST_NEWS = 100_000

const newsProblems = (news: number): string[] =>
  news <= MOST_NEWS
    ? []
    : [`${news} changes are waiting to be added to charts: no server is running, or it cannot keep up. Check its log.`]

const sumOf = (projects: readonly DescribedProject[]): Totals => ({
  traces: sum(projects.map(project => project.traceCount)),
  spans: sum(projects.map(project => project.spanCount)),
  bytes: sum(projects.map(project => project.estimatedBytes))
})

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0)

/** Maximum size of a project that is recounted. A recount reads every trace and every span. */
const MOST_COUNTED = { traces: 20_000, spans: 400_000 }

async function totalsProblems(sql: Sql, projects: readonly DescribedProject[]): Promise<string[]> {
  const problems: string[] = []
  for (const { slug, traceCount, spanCount } of projects) {
    if (traceCount > MOST_COUNTED.traces || spanCount > MOST_COUNTED.spans) continue
    const recount = await recountProject(sql, slug, false)
    if (recount.agree) continue
    const what = areSumsRight(recount)
      ? `Some traces in project ${slug} have wrong span or error counts`
      : `The totals or charts of project ${slug} do not match its traces`
    problems.push(`${what}: run \`spoor project recount ${slug} --apply\`.`)
  }
  return problems
}

async function readSettings(sql: Sql) {
  const [row] = await sql<[{ isStandby: boolean; serverVersion: string }]>`
    select pg_is_in_recovery() as "isStandby", current_setting('server_version') as "serverVersion"`
  return row
}

function schemaProblems(schema: SchemaState): string[] {
  const { state, version, latest } = schema
  if (state === 'current') return []
  if (state === 'missing') return ['The database has no schema yet: start a server, or run `spoor migrate`.']
  if (state === 'older') return [`The schema is at version ${version} of ${latest}: run \`spoor migrate\`.`]
  return [`${describeNewer(schema).replace(/^t/, 'T')}.`]
}

async function secretProblems(
  sql: Sql,
  { digestSecret: secret, previousSecret }: Pick<Database, 'digestSecret' | 'previousSecret'>,
  isUsable: boolean
): Promise<string[]> {
  if (secret === undefined) {
    return [
      'KEY_DIGEST_SECRET is not set: requests get not_configured until every process has it, with the same value.'
    ]
  }
  if (!isUsable) return []
  if (await isOtherSecret(sql, secret, previousSecret)) return [`${OTHER_SECRET}.`]
  return previousSecret === undefined ? [] : [describeMove(await readKeysToMove(sql))]
}

/** Says whether KEY_DIGEST_SECRET_PREVIOUS is still needed. */
function describeMove(keys: readonly string[]): string {
  if (keys.length === 0) {
    return 'Every valid key now uses KEY_DIGEST_SECRET: remove KEY_DIGEST_SECRET_PREVIOUS and restart.'
  }
  const named = `${keys.slice(0, 5).join(', ')}${keys.length > 5 ? ' and others' : ''}`
  const count = keys.length === 1 ? '1 key' : `${keys.length} keys`
  return `${count} may still need KEY_DIGEST_SECRET_PREVIOUS (not used since the secret changed): ${named}.`
}

function projectProblems(projects: readonly DescribedProject[]): string[] {
  if (projects.length === 0)
    return ['There are no projects: start a server to create one, or run `spoor project create`.']
  return projects
    .filter(({ storage }) => storage.level !== 'ok')
    .map(({ slug, storage }) => {
      const state = `is ${storage.level === 'critical' ? 'very close to, or over,' : 'close to'} its storage limit`
      return `Project ${slug} ${state} (${storage.level}). Writes still work. Delete traces, or raise the limit.`
    })
}
