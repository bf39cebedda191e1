/** Runs `spoor serve` as a separate process, which tests may kill, on the database of a cluster. */
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { DatabaseTarget } from '../../lib/database/connection.ts'
import { Pool } from '../../lib/database/pool.ts'
import { claimSecret } from '../../lib/store/projects/digest-secret.ts'
import { databaseAt } from '../fixtures/database/database.ts'
import { configurationFor, start } from '../fixtures/service/spoor.ts'

export interface Server {
  readonly address: string
  readonly pid: number
  /** Resolves when the process has ended. */
  end(signal: NodeJS.Signals): Promise<void>
}

/** Starts a server. Resolves when the server has printed its address. */
export async function startServer(target: DatabaseTarget, env: NodeJS.ProcessEnv): Promise<Server> {
  const { digestSecret } = databaseAt(target)
  const child = start(['serve', '--json'], {
    LOG_LEVEL: 'error',
    ...configurationFor({ target, digestSecret }),
    ...env
  })
  const gone = once(child, 'close')
  child.stderr.pipe(process.stderr)
  const [line] = await Promise.race([once(createInterface(child.stdout), 'line'), gone.then(() => [undefined])])
  if (typeof line !== 'string') throw new Error('the server has ended')
  return {
    address: JSON.parse(line).address,
    pid: child.pid!,
    async end(signal) {
      child.kill(signal)
      await gone
    }
  }
}

export interface Serving {
  /** Connections to the database, separate from the server's. */
  readonly pool: Pool
  readonly server: Server
}

/** Runs a server while `work` runs. */
export async function withServer(
  target: DatabaseTarget,
  env: NodeJS.ProcessEnv,
  work: (serving: Serving) => Promise<void>
) {
  const database = databaseAt(target)
  const pool = new Pool(onClose => database.connect({ onClose }), { size: 2 })
  await pool.run(sql => claimSecret(sql, database.digestSecret as string))
  const server = await startServer(target, env)
  try {
    await work({ pool, server })
  } finally {
    await server.end('SIGTERM')
    await pool.end()
  }
}
