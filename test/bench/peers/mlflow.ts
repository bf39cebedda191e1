/** MLflow's server with PostgreSQL. */
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { connectTo } from '../../../lib/database/connection.ts'
import { withDatabaseAt } from '../../fixtures/database/target.ts'
import { findFreePort } from '../machine/port.ts'
import { findPostmaster } from '../machine/service.ts'
import type { Undo } from '../machine/undo.ts'
import { type Peer, readJson } from './otlp-server.ts'
import { type Command, renderCommand, runCommand, startProgram } from './programs.ts'

/** The first release with an OTLP endpoint. */
const FIRST_VERSION = '3.6'
const DATABASE = 'mlflow'
/** Names the driver, because SQLAlchemy's default differs between versions. */
const DRIVER = 'postgresql+psycopg2:'
/** The experiment that every server has. */
const EXPERIMENT = '0'

export interface PeerPlace {
  /** The program, if the user has installed it. */
  readonly program: string | undefined
  /** Folder in which programs are installed and kept. */
  readonly cache: string
  /** Folder for the peer's data, which is removed at the end. */
  readonly folder: string
  /** Starts a PostgreSQL server that accepts TCP connections. Returns its address. */
  startDatabase(): Promise<string>
}

/** Installs MLflow if necessary, and starts it. */
export async function startMlflow(place: PeerPlace, undo: Undo): Promise<Peer> {
  const { program, installed } = await findMlflow(place)
  const version = (await runCommand({ program, args: ['--version'] })).trim().split(' ').at(-1)!
  const folder = join(place.folder, 'mlflow')
  await mkdir(folder)
  const address = await place.startDatabase()
  const main = connectTo(`${address}?sslmode=disable`)
  await main.unsafe(`create database ${DATABASE}`)
  await main.end()
  const url = String(withDatabaseAt(`${address}?sslmode=disable`, DATABASE))
  const sql = connectTo(url, { applicationName: 'bench' })
  undo.add(() => sql.end({ timeout: 1 }))
  const port = await findFreePort()
  const workers = availableParallelism()
  const command: Command = {
    program,
    args: [
      ...['server', '--host', '127.0.0.1', '--port', String(port), '--workers', String(workers)],
      ...['--backend-store-uri', url.replace(/^postgres:/, DRIVER)],
      ...['--artifacts-destination', join(folder, 'artifacts')],
      ...['--uvicorn-opts', '--log-level warning']
    ],
    env: { MLFLOW_DISABLE_TELEMETRY: 'true' },
    cwd: folder
  }
  const base = `http://127.0.0.1:${port}`
  const { pid } = await startProgram(command, { logFile: join(folder, 'log'), healthUrl: `${base}/health` }, undo)
  return {
    ...{ name: 'MLflow', version, port, pid, postmasterPid: await findPostmaster(sql) },
    settings: [
      `${workers} workers, one for each core, and PostgreSQL with the settings of the embedded one.`,
      'It answers when the spans are committed. Access log and telemetry are off.'
    ],
    commands: [...installed, renderCommand(command)],
    endpoint: { path: '/v1/traces', headers: { 'x-mlflow-experiment-id': EXPERIMENT } },
    async readSpans(traceId) {
      const body = await readJson(`${base}/api/3.0/mlflow/traces/get?trace_id=tr-${traceId}`)
      return (body as { trace?: { spans?: unknown[] } } | undefined)?.trace?.spans?.length ?? 0
    },
    async readDiskBytes() {
      await sql`checkpoint`
      const [row] = await sql<{ bytes: number }[]>`select pg_database_size(current_database())::float8 as bytes`
      return row!.bytes
    }
  }
}

async function findMlflow({ program, cache }: PeerPlace): Promise<{ program: string; installed: readonly string[] }> {
  if (program !== undefined) return { program, installed: [] }
  const home = join(cache, 'mlflow')
  const commands: Command[] = [
    { program: 'python3', args: ['-m', 'venv', home] },
    { program: join(home, 'bin/pip'), args: ['install', `mlflow>=${FIRST_VERSION}`, 'psycopg2-binary'] }
  ]
  const found = join(home, 'bin/mlflow')
  if (!existsSync(found)) for (const command of commands) await runCommand(command)
  return { program: found, installed: commands.map(renderCommand) }
}
