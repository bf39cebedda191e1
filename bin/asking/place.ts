/** Selects what a command queries: a server, with a key, or this process's routes, directly on a database. */
import { readOptions } from '../../clients/typescript/options.ts'
import { AdminError } from '../../lib/admin-error.ts'
import { UsageError } from '../command.ts'
import { withDatabase } from '../database.ts'
import type { Asker } from './asker.ts'

const URL_FLAG = {
  type: 'string',
  value: 'URL',
  about: "the server's address; defaults to SPOOR_URL, or else http://127.0.0.1:8787"
} as const
const KEY_FLAG = { type: 'string', value: 'KEY', about: 'the API key; SPOOR_API_KEY by default' } as const

/** Flags of commands that query a server. */
export const SERVER_FLAGS = { url: URL_FLAG, key: KEY_FLAG }
/** Flags of commands that query a server, or a project directly in its database. */
export const ASKING_FLAGS = {
  project: {
    type: 'string',
    value: 'SLUG',
    about: 'use this project in the database directly, without a server or a key'
  },
  ...SERVER_FLAGS
} as const

interface AskingFlags {
  readonly project?: string | undefined
  readonly url: string | undefined
  readonly key: string | undefined
}

/** Runs the `work` callback with access to the server or the project that the flags and the environment name. */
export async function withAsker<T>(
  { project, url, key }: AskingFlags,
  env: NodeJS.ProcessEnv,
  work: (asker: Asker) => Promise<T>
): Promise<T> {
  // Every user of this machine can read the command lines of running processes, so setting the title hides the key.
  if (key !== undefined) process.title = 'spoor'
  if (project !== undefined) {
    refuseServer({ url, key })
    // Loaded here because --help does not need these modules.
    const { DatabaseAsker } = await import('./beside-database.ts')
    return withDatabase(env, async session => closing(await DatabaseAsker.open(session, project), work))
  }
  if (!(key ?? env.SPOOR_API_KEY)) {
    const beside = 'or use the database directly with --project'
    throw new AdminError(`API key required: set SPOOR_API_KEY, pass --key, ${beside}`)
  }
  const { obstacle, ...settings } = readOptions({ url, key, spool: false }, env)
  if (obstacle !== undefined) throw new AdminError(obstacle)
  const { HttpAsker } = await import('./over-http.ts')
  return closing(new HttpAsker(settings, key === undefined ? 'SPOOR_API_KEY' : '--key'), work)
}

/** Rejects server flags if the command uses the database directly. */
export function refuseServer({ url, key }: Omit<AskingFlags, 'project'>): void {
  if (url === undefined && key === undefined) return
  throw new UsageError('--project cannot be combined with --url or --key: a key belongs to one project')
}

async function closing<A extends Asker & { close(): Promise<void> }, T>(
  asker: A,
  work: (asker: Asker) => Promise<T>
): Promise<T> {
  try {
    return await work(asker)
  } finally {
    await asker.close()
  }
}
