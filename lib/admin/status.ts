/** The work of `spoor status`: shows what there is, what is wrong, and what to do about it. */
import type { Sql } from 'postgres'
import { isOtherSecret, OTHER_SECRET } from '../access/digest-secret.ts'
import type { Config } from '../config.ts'
import type { Database } from '../database/database.ts'
import { readSchemaState, type SchemaState } from '../database/migrate.ts'
import { findShortage } from '../health/connection-room.ts'
import { findServer, type RunningServer } from '../health/running-server.ts'
import { readConnectionRoom } from '../store/server/connection-room.ts'
import { VERSION } from '../version.ts'
import { listAccounts } from './accounts.ts'
import { listProjects, type Project } from './projects.ts'

export interface Status {
  readonly version: string
  readonly server: RunningServer | null
  readonly database: { readonly location: string; readonly embedded: boolean; readonly serverVersion: string }
  readonly schema: SchemaState
  /** Empty if the schema is not current. */
  readonly projects: readonly Project[]
  /** What is wrong, in sentences that say what to do; empty if all is well. */
  readonly problems: readonly string[]
}

export async function readStatus(config: Config, database: Database, sql: Sql): Promise<Status> {
  const schema = await readSchemaState(sql)
  const settings = await readSettings(sql)
  const isCurrent = schema.state === 'current'
  const projects = isCurrent ? await listProjects(sql, config.storageLimitBytes) : []
  const hasTrials = isCurrent && (await listAccounts(sql)).some(account => account.kind === 'trial')
  return {
    version: VERSION,
    server: (await findServer(config)) ?? null,
    database: { location: database.location, embedded: database.embedded, serverVersion: settings.serverVersion },
    schema,
    projects,
    problems: [
      ...schemaProblems(schema),
      ...(isCurrent ? projectProblems(projects) : []),
      ...(await secretProblems(sql, database.digestSecret, isCurrent)),
      ...(hasTrials && config.trialTraces === undefined
        ? ['There are trial accounts, but TRIAL_TRACES is not set: they are not limited. Set it where the server runs.']
        : []),
      ...findShortage(await readConnectionRoom(sql), config.processes, config.databaseConnections),
      ...settings.careless.map(
        name => `PostgreSQL runs with ${name} = off: a crash may lose what was acknowledged. Turn it on.`
      )
    ]
  }
}

async function readSettings(sql: Sql): Promise<{ serverVersion: string; careless: string[] }> {
  const rows = await sql<{ name: string; setting: string }[]>`
    select name, setting from pg_settings
    where name in ('server_version', 'fsync', 'synchronous_commit', 'full_page_writes') order by name`
  const careless = rows.filter(row => row.setting === 'off').map(row => row.name)
  return { serverVersion: rows.find(row => row.name === 'server_version')!.setting, careless }
}

function schemaProblems({ state, version, latest }: SchemaState): string[] {
  if (state === 'current') return []
  if (state === 'missing') return ['The database has no schema yet: start a server, or run `spoor migrate`.']
  if (state === 'older') return [`The schema is at version ${version} of ${latest}: run \`spoor migrate\`.`]
  return [`The schema is at version ${version}, which this spoor, knowing ${latest}, cannot serve: update spoor.`]
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
