/** Runs a spoor server as users run it, with an embedded PostgreSQL, and with a separate project for each library. */
import { once } from 'node:events'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runForJson, start } from '../fixtures/service/spoor.ts'

export interface Spoor {
  readonly url: string
  /** The address of OTLP over gRPC. */
  readonly grpcUrl: string
  /** Creates a project. Returns a key for it. */
  makeKey(project: string): Promise<string>
  /** Runs a command with --json against the same database. Returns its output. */
  // biome-ignore lint/suspicious/noExplicitAny: each command has its own output.
  run(args: readonly string[]): Promise<any>
  /** Stops the server, or kills it. `resume` starts it again at the same addresses. */
  pause(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>
  resume(): Promise<void>
  close(): Promise<void>
}

export async function startSpoor(): Promise<Spoor> {
  const folder = await mkdtemp(join(tmpdir(), 'spoor-libraries-'))
  // PostgreSQL's user could not enter a private folder, so the database would be stored elsewhere.
  await chmod(folder, 0o755)
  const [port, grpcPort] = await freePorts()
  const env = {
    DATA_DIR: join(folder, 'data'),
    PORT: String(port),
    OTLP_GRPC_PORT: String(grpcPort),
    LOG_LEVEL: 'warn'
  }
  let stop = await serve(env)
  let isPaused = false
  const pause = async (signal: NodeJS.Signals = 'SIGTERM') => {
    isPaused = true
    await stop(signal)
  }
  return {
    url: `http://127.0.0.1:${port}`,
    grpcUrl: `http://127.0.0.1:${grpcPort}`,
    async makeKey(project) {
      await runForJson(['project', 'create', project, '--slug', project], env)
      return (await runForJson(['key', 'create', '--project', project], env)).key
    },
    run: args => runForJson([...args], env),
    pause,
    async resume() {
      stop = await serve(env)
      isPaused = false
    },
    async close() {
      if (!isPaused) await pause()
      await rm(folder, { recursive: true, force: true })
    }
  }
}

/** Starts the server. Returns a function that stops it. */
async function serve(env: NodeJS.ProcessEnv): Promise<(signal: NodeJS.Signals) => Promise<void>> {
  const child = start(['serve', '--json'], env)
  const closed = once(child, 'close')
  const end = () => void child.kill('SIGKILL')
  process.on('exit', end)
  child.stderr.pipe(process.stderr)
  await Promise.race([
    once(child.stdout, 'data'),
    closed.then(([code]) => {
      throw new Error(`spoor serve ended with ${code}`)
    })
  ])
  return async signal => {
    process.off('exit', end)
    child.kill(signal)
    await closed
  }
}

/** Returns two ports on which nothing listens, for a server that keeps its ports when it is restarted. */
export async function freePorts(): Promise<[number, number]> {
  const servers = [createServer().listen(0, '127.0.0.1'), createServer().listen(0, '127.0.0.1')]
  await Promise.all(servers.map(server => once(server, 'listening')))
  const [port, grpcPort] = servers.map(server => (server.address() as AddressInfo).port)
  await Promise.all(servers.map(server => once(server.close(), 'close')))
  return [port!, grpcPort!]
}
