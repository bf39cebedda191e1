/** Jaeger, all in one process, with badger. */
import { existsSync } from 'node:fs'
import { mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findFreePort } from '../machine/port.ts'
import type { Undo } from '../machine/undo.ts'
import type { PeerPlace } from './mlflow.ts'
import { type Peer, readJson } from './otlp-server.ts'
import { type Command, renderCommand, runCommand, startProgram } from './programs.ts'

const MODULE = 'github.com/jaegertracing/jaeger'
/** The last version that Go can fetch by the module's path. Its cmd/jaeger is Jaeger 2. */
const VERSION = 'v1.76.0'
const BLOCK_BYTES = 512

/**
 * When Jaeger acknowledges an export: `batched`, as in Jaeger's example for badger, once it is in memory; `synced` once
 * it is written to disk, as this service does.
 */
export type JaegerMode = 'batched' | 'synced'

/** Builds Jaeger if necessary, and starts it. */
export async function startJaeger(mode: JaegerMode, place: PeerPlace, undo: Undo): Promise<Peer> {
  const { program, installed } = await findJaeger(place)
  const folder = join(place.folder, `jaeger-${mode}`)
  await mkdir(folder)
  const ports = { otlp: await findFreePort(), http: await findFreePort(), grpc: await findFreePort() }
  const config = JSON.stringify(configure(mode, folder, ports))
  const configFile = join(folder, 'config.json')
  await writeFile(configFile, config)
  const command: Command = { program, args: ['--config', configFile] }
  const base = `http://127.0.0.1:${ports.http}`
  const healthUrl = `${base}/api/services`
  const { pid } = await startProgram(command, { logFile: join(folder, 'log'), healthUrl }, undo)
  const name = mode === 'batched' ? 'Jaeger' : 'Jaeger, synced'
  return {
    ...{ name, version: await readVersion(program), port: ports.otlp, pid, postmasterPid: undefined },
    settings: [SETTINGS[mode]],
    commands: [...installed, `echo '${config}' > ${configFile}`, renderCommand(command)],
    endpoint: { path: '/v1/traces', headers: {} },
    async readSpans(traceId) {
      const body = await readJson(`${base}/api/traces/${traceId}`)
      return (body as { data?: { spans?: unknown[] }[] } | undefined)?.data?.[0]?.spans?.length ?? 0
    },
    readDiskBytes: () => sumBlocks(join(folder, 'badger'))
  }
}

const SETTINGS: Readonly<Record<JaegerMode, string>> = {
  batched: [
    "badger with the settings of Jaeger's example:",
    'it answers when the spans are in memory, batches them, and does not sync.'
  ].join(' '),
  synced: 'badger without the batch processor and with `consistency: true`: it answers when the spans are on disk.'
}

interface Ports {
  readonly otlp: number
  readonly http: number
  readonly grpc: number
}

/** Returns the configuration of Jaeger's example for badger, without its archive and its own telemetry. */
function configure(mode: JaegerMode, folder: string, { otlp, http, grpc }: Ports): object {
  const at = (port: number) => ({ endpoint: `127.0.0.1:${port}` })
  const directories = { keys: join(folder, 'badger'), values: join(folder, 'badger') }
  const badger = { directories, ephemeral: false, consistency: mode === 'synced', ttl: { spans: '48h' } }
  const processors = mode === 'batched' ? ['batch'] : []
  return {
    service: {
      extensions: ['jaeger_storage', 'jaeger_query'],
      pipelines: { traces: { receivers: ['otlp'], processors, exporters: ['jaeger_storage_exporter'] } },
      telemetry: { metrics: { level: 'none' }, logs: { level: 'warn' } }
    },
    extensions: {
      jaeger_query: { storage: { traces: 'badger' }, enable_tracing: false, http: at(http), grpc: at(grpc) },
      jaeger_storage: { backends: { badger: { badger } } }
    },
    receivers: { otlp: { protocols: { http: at(otlp) } } },
    ...(mode === 'batched' && { processors: { batch: null } }),
    exporters: { jaeger_storage_exporter: { trace_storage: 'badger' } }
  }
}

async function findJaeger({ program, cache }: PeerPlace): Promise<{ program: string; installed: readonly string[] }> {
  if (program !== undefined) return { program, installed: [] }
  const home = join(cache, 'jaeger')
  const found = join(home, 'jaeger')
  // `go install` refuses a module that replaces others, so a separate module requires Jaeger as a tool.
  const commands: Command[] = [
    { program: 'go', args: ['mod', 'init', 'jaeger'], cwd: home },
    { program: 'go', args: ['get', '-tool', `${MODULE}/cmd/jaeger@${VERSION}`], cwd: home },
    { program: 'go', args: ['build', '-o', found, `${MODULE}/cmd/jaeger`], cwd: home }
  ]
  if (!existsSync(found)) {
    await mkdir(home, { recursive: true })
    const isBegun = existsSync(join(home, 'go.mod'))
    for (const command of isBegun ? commands.slice(1) : commands) await runCommand(command)
  }
  return { program: found, installed: commands.map(renderCommand) }
}

/** Returns the version from the build's list of modules, because only Jaeger's own releases report one. */
async function readVersion(program: string): Promise<string> {
  const listed = await runCommand({ program: 'go', args: ['version', '-m', program] }).catch(() => '')
  const [, version] = new RegExp(`\\t${MODULE}\\t(\\S+)`).exec(listed) ?? []
  return version ?? (await runCommand({ program, args: ['version'] })).trim().replaceAll('\n', ' ')
}

/** Returns the bytes of the blocks that the folder's files occupy: badger's files are longer than their content. */
async function sumBlocks(folder: string): Promise<number> {
  const names = await readdir(folder)
  const sizes = await Promise.all(names.map(name => stat(join(folder, name)).catch(() => undefined)))
  return sizes.reduce((sum, size) => sum + (size?.blocks ?? 0) * BLOCK_BYTES, 0)
}
