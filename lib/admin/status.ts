/** The work of `spoor status`: shows what there is, what is wrong, and what to do about it. */
import type { Sql } from 'postgres'
import { isOtherSecret, OTHER_SECRET } from '../access/digest-secret.ts'
import type { Config } from '../config.ts'
import type { Database } from '../database/database.ts'
import { classifyFailure } from '../database/failure.ts'
import { readSchemaState, type SchemaState } from '../database/migrate.ts'
import { findShortage } from '../health/connection-room.ts'
import { type Disk, LITTLE_DISK_BYTES, readDisk } from '../health/free-disk.ts'
import { describeLeftBehind } from '../health/left-behind.ts'
import { causeOf, nameObstacle } from '../health/obstacles.ts'
import { findLikelyServer, findServer, type RunningServer } from '../health/running-server.ts'
import { countNews } from '../store/analytics/rollups/news.ts'
import { readLeftBehind } from '../store/instance/distribution.ts'
import { countSessions } from '../store/people/sessions.ts'
import { readSearchState, type SearchState } from '../store/search/state.ts'
import { readConnectionRoom } from '../store/server/connection-room.ts'
import { measureDatabase } from '../store/server/database-size.ts'
import { type NodePlacement, readPlacement } from '../store/server/placement.ts'
import type { Totals } from '../store/write/totals.ts'
import { VERSION } from '../version.ts'
import { listAccounts } from './accounts.ts'
import { nodeProblems } from './distribution/nodes.ts'
import { listProjects, type Project } from './projects.ts'
import { areSumsRight, recountProject } from './upkeep/recount.ts'

export interface Status {
  readonly version: string
  readonly server: RunningServer | null
  readonly database: {
    readonly location: string
    readonly embedded: boolean
    /** The next are null if the database cannot be asked. */
    readonly serverVersion: string | null
    /** Whether it is a standby. */
    readonly isStandby: boolean | null
    readonly bytes: number | null
    /** The disk of an embedded database; null for another. */
    readonly disk: Disk | null
  }
  /** Of a cluster: what each node holds; empty for one PostgreSQL. */
  readonly nodes: readonly NodePlacement[]
  /** Null if the database cannot be asked. */
  readonly schema: SchemaState | null
  /** Empty if the schema is not current. */
  readonly projects: readonly Project[]
  /** How far the index goes of the projects whose words are searched. */
  readonly search: readonly (SearchState & { readonly project: string })[]
  /** What all projects hold together. */
  readonly totals: Totals
  /** Rows of news that are not folded into the sums over time yet; charts add them. */
  readonly news: number
  /** Who may use the dashboard, and where they are signed in. */
  readonly people: { readonly users: number; readonly sessions: number }
  /** What is wrong, in sentences that say what to do; empty if all is well. */
  readonly problems: readonly string[]
}

/** What the database says. */
type Inside = Pick<Status, 'server' | 'nodes' | 'schema' | 'projects' | 'search' | 'news' | 'people' | 'problems'> & {
  readonly serverVersion: string | null
  readonly isStandby: boolean | null
  readonly bytes: number | null
}

export async function readStatus(config: Config, database: Database, sql: Sql): Promise<Status> {
  const inside = await lookInside(config, database, sql).catch(error => lookFromOutside(config, database, error))
  const { server, nodes, schema, projects, search, news, people, serverVersion, isStandby, bytes } = inside
  const disk = database.embedded ? ((await readDisk(config.dataDir)) ?? null) : null
  const { location, embedded } = database
  return {
    version: VERSION,
    server,
    database: { location, embedded, serverVersion, isStandby, bytes, disk },
    nodes,
    schema,
    projects,
    search,
    totals: sumOf(projects),
    news,
    people,
    problems: [...inside.problems, ...serverProblems(server), ...diskProblems(config, disk)]
  }
}

async function lookInside(config: Config, database: Database, sql: Sql): Promise<Inside> {
  const schema = await readSchemaState(sql)
  const { serverVersion, isStandby, careless } = await readSettings(sql)
  const isCurrent = schema.state === 'current'
  const projects = isCurrent ? await listProjects(sql, config.storageLimitBytes) : []
  const nodes = (isCurrent && (await readPlacement(sql))) || []
  const news = isCurrent ? await countNews(sql) : 0
  const hasTrials = isCurrent && (await listAccounts(sql)).some(account => account.kind === 'trial')
  return {
    server: (await findServer(config, sql)) ?? null,
    nodes,
    schema,
    projects,
    news,
    search: await readSearch(sql, projects),
    people: isCurrent ? await countSessions(sql) : { users: 0, sessions: 0 },
    serverVersion,
    isStandby,
    bytes: (await measureDatabase(sql)) ?? null,
    problems: [
      ...schemaProblems(schema),
      ...nodeProblems(nodes),
      ...leftBehindProblems(await readLeftBehind(sql)),
      ...(isCurrent ? projectProblems(projects) : []),
      ...(isStandby ? [] : await totalsProblems(sql, projects)),
      ...newsProblems(news),
      ...(await secretProblems(sql, database.digestSecret, isCurrent)),
      ...(hasTrials && config.trialTraces === undefined
        ? ['There are trial accounts, but TRIAL_TRACES is not set: they are not limited. Set it where the server runs.']
        : []),
      ...findShortage(await readConnectionRoom(sql), config.processes, config.databaseConnections),
      ...(isStandby ? ['PostgreSQL is a standby: reads are answered, writes are refused until it is promoted.'] : []),
      ...careless.map(name => `PostgreSQL runs with ${name} = off: a crash may lose what was acknowledged. Turn it on.`)
    ]
  }
}

/** What is known although the database cannot be asked. */
async function lookFromOutside(config: Config, database: Database, error: unknown): Promise<Inside> {
  if (!['lost', 'refused'].includes(classifyFailure(error))) throw error
  return {
    server: (await findLikelyServer(config)) ?? null,
    nodes: [],
    schema: null,
    projects: [],
    news: 0,
    search: [],
    people: { users: 0, sessions: 0 },
    serverVersion: null,
    isStandby: null,
    bytes: null,
    problems: [`${database.location}: ${nameObstacle(error)} (${causeOf(error)}).`]
  }
}

async function readSearch(sql: Sql, projects: readonly Project[]): Promise<Status['search']> {
  const states: Status['search'][number][] = []
  for (const { id, slug, search } of projects) {
    if (search) states.push({ project: slug, ...(await readSearchState(sql, Number(id))) })
  }
  return states
}

/** What the running server says of itself. */
function serverProblems(server: RunningServer | null): string[] {
  if (server === null) return []
  const { address, version, ready, reasons, lacks } = server
  return [
    ...(ready ? [] : [`The server at ${address} is not ready: ${reasons.join('; ')}.`]),
    ...lacks.map(lack => `The server lacks ${lack}.`),
    ...(version === VERSION ? [] : [`The server is spoor ${version ?? 'of an older version'}, this is ${VERSION}.`])
  ]
}

function diskProblems({ dataDir }: Config, disk: Disk | null): string[] {
  if (disk === null || disk.freeBytes >= LITTLE_DISK_BYTES) return []
  const megabytes = Math.floor(disk.freeBytes / 1e6)
  return [`The disk of ${dataDir} has ${megabytes} MB left: writes are refused when it is full. Make room.`]
}

/** Charts add up what waits, so they get slow. */
const MOST_NEWS = 100_000

const newsProblems = (news: number): string[] =>
  news <= MOST_NEWS
    ? []
    : [`${news} rows of news wait for charts: no server folds them, or none keeps up. Start one, or look at its log.`]

const sumOf = (projects: readonly Project[]): Totals => ({
  traces: sum(projects.map(project => project.traceCount)),
  spans: sum(projects.map(project => project.spanCount)),
  bytes: sum(projects.map(project => project.estimatedBytes))
})

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0)

/** Larger projects are not counted anew, because that looks at every trace and every span. */
const MOST_COUNTED = { traces: 20_000, spans: 400_000 }

async function totalsProblems(sql: Sql, projects: readonly Project[]): Promise<string[]> {
  const problems: string[] = []
  for (const { slug, traceCount, spanCount } of projects) {
    if (traceCount > MOST_COUNTED.traces || spanCount > MOST_COUNTED.spans) continue
    const recount = await recountProject(sql, slug, false)
    if (recount.agree) continue
    const what = areSumsRight(recount)
      ? `Some traces of project ${slug} count spans or errors that are not stored`
      : `The totals or charts of project ${slug} are not those of its traces`
    problems.push(`${what}: \`spoor project recount ${slug} --apply\`.`)
  }
  return problems
}

async function readSettings(sql: Sql) {
  const [{ isStandby }] = await sql<[{ isStandby: boolean }]>`select pg_is_in_recovery() as "isStandby"`
  const rows = await sql<{ name: string; setting: string }[]>`
    select name, setting from pg_settings
    where name in ('server_version', 'fsync', 'synchronous_commit', 'full_page_writes') order by name`
  const careless = rows.filter(row => row.setting === 'off').map(row => row.name)
  return { serverVersion: rows.find(row => row.name === 'server_version')!.setting, isStandby, careless }
}

function schemaProblems({ state, version, latest }: SchemaState): string[] {
  if (state === 'current') return []
  if (state === 'missing') return ['The database has no schema yet: start a server, or run `spoor migrate`.']
  if (state === 'older') return [`The schema is at version ${version} of ${latest}: run \`spoor migrate\`.`]
  return [`The schema is at version ${version}, which this spoor, knowing ${latest}, cannot serve: update spoor.`]
}

function leftBehindProblems(tables: readonly string[]): string[] {
  const lack = describeLeftBehind(tables)
  return lack === undefined ? [] : [`${lack.replace(/^t/, 'T')}.`]
}

async function secretProblems(sql: Sql, secret: string | undefined, isCurrent: boolean): Promise<string[]> {
  if (secret === undefined) {
    return ['KEY_DIGEST_SECRET is not set: the server answers not_configured until it is, the same for every process.']
  }
  return isCurrent && (await isOtherSecret(sql, secret)) ? [`${OTHER_SECRET}.`] : []
}

function projectProblems(projects: readonly Project[]): string[] {
  if (projects.length === 0) return ['There is no project: start a server, which makes one, or `spoor project create`.']
  return projects
    .filter(({ storage }) => storage.level !== 'ok')
    .map(({ slug, storage }) => {
      const state = `is ${storage.level === 'critical' ? 'very close to, or over,' : 'close to'} its storage limit`
      return `Project ${slug} ${state} (${storage.level}). Writes go on: make room by deleting traces, or raise the limit.`
    })
}
