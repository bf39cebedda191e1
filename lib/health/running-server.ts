/**
 * Finds the server of a command's database. The file server.json in a data folder has the address of the folder's
 * server. The server of another database is looked for at HOST and PORT. A server with a different database may be
 * there, so its answer is compared with the database.
 */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Sql } from 'postgres'
import type { Config } from '../config.ts'
import { readHolder } from '../database/embedded/data-dir-lock.ts'
import { readOwnFile, replaceFile } from '../database/embedded/own-file.ts'
import { readDatabaseId } from '../store/server/database-id.ts'

export interface RunningServer {
  /** `http://127.0.0.1:8787` */
  readonly address: string
  /** Undefined if it is not known, because the database is not an embedded one. */
  readonly pid: number | undefined
  /** The server's own report (GET /readyz). */
  readonly version: string | undefined
  readonly ready: boolean
  readonly reasons: readonly string[]
  readonly lacks: readonly string[]
}

type Place = Pick<RunningServer, 'address' | 'pid'>
type Report = Omit<RunningServer, keyof Place> & { readonly instance: string | undefined }

/** A server looks at its database for 2.5 s before it says that it is stuck. */
const PROBE_TIMEOUT_MS = 4000

/** Writes the address to where commands find it. Only an embedded database has a folder for that. */
export async function announceServer(dataDir: string, address: string): Promise<void> {
  await replaceFile(fileIn(dataDir), JSON.stringify({ pid: process.pid, address }))
}

export async function withdrawServer(dataDir: string): Promise<void> {
  await rm(fileIn(dataDir), { force: true })
}

/** The result of a look at the address where the server of this configuration is expected. */
export type FoundServer =
  | { readonly is: 'ours'; readonly server: RunningServer }
  /** A server that has not reached its database, or is not configured: it does not know whose it is. */
  | { readonly is: 'nameless'; readonly server: RunningServer }
  /** The process of an embedded database's server is there, or something takes connections, and no answer comes. */
  | { readonly is: 'silent'; readonly address: string; readonly pid: number | undefined }
  | { readonly is: 'of another database' | 'something else'; readonly address: string }
  /** `address` is undefined for an embedded database: its server would have written it down. */
  | { readonly is: 'nothing'; readonly address: string | undefined }

/** The server of this database; undefined if none answers. */
export async function findServer(config: Config, sql: Sql): Promise<RunningServer | undefined> {
  const found = await lookForServer(config, await readDatabaseId(sql))
  return found.is === 'ours' ? found.server : undefined
}

/**
 * The server where one of this configuration is expected, if the database cannot be asked which is its own. A server
 * that has not reached its database either does not know.
 */
export async function findLikelyServer(config: Config): Promise<RunningServer | undefined> {
  const found = await lookForServer(config, undefined)
  return found.is === 'ours' ? found.server : undefined
}

/** `instance` is the id of the database, if it is known (lib/store/server/database-id.ts). */
export async function lookForServer(config: Config, instance: string | undefined): Promise<FoundServer> {
  const isEmbedded = config.databaseUrl === undefined
  const expected = { address: listenAddress(config.host, config.port), pid: undefined }
  const place = isEmbedded ? await readAnnounced(config.dataDir) : expected
  if (place === undefined) return { is: 'nothing', address: undefined }
  const { address, pid } = place
  const report = await ask(address)
  if (report === 'nothing') return isEmbedded ? { is: 'silent', address, pid } : { is: report, address }
  if (report === 'silent') return { is: report, address, pid }
  if (report === 'something else') return { is: report, address }
  const { instance: other, ...rest } = report
  const server = { ...place, ...rest }
  if (instance === undefined || instance === other) return { is: 'ours', server }
  return other === undefined ? { is: 'nameless', server } : { is: 'of another database', address }
}

/** The address at which this machine reaches a server that listens on this host and port. */
export function listenAddress(host: string, port: number): string {
  const everywhere = host === '0.0.0.0' || host === '::'
  const name = everywhere ? 'localhost' : host.includes(':') ? `[${host}]` : host
  return `http://${name}:${port}`
}

/**
 * Reads the file. A file that a killed server has left names a process that does not hold the folder, and is ignored.
 */
async function readAnnounced(dataDir: string): Promise<Place | undefined> {
  const text = await readOwnFile(fileIn(dataDir)).catch(() => undefined)
  const { pid, address } = JSON.parse(text || '{}')
  return pid !== undefined && pid === (await readHolder(dataDir)) ? { pid, address } : undefined
}

/** The report of the spoor server at this address, or the kind of thing that is there instead. */
async function ask(address: string): Promise<Report | 'nothing' | 'silent' | 'something else'> {
  try {
    const response = await fetch(`${address}/readyz`, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) })
    const body = (await response.json()) as Partial<Report>
    if (typeof body.ready !== 'boolean' || !Array.isArray(body.reasons)) return 'something else'
    const { version, ready, reasons, lacks = [], instance } = body
    return { version, ready, reasons, lacks, instance }
  } catch (error) {
    const { name, cause } = error as { name?: string; cause?: { code?: unknown } }
    if (name === 'TimeoutError') return 'silent'
    // It answers, but not in JSON, or not in HTTP.
    return name === 'SyntaxError' || /^(HPE_|UND_ERR_SOCKET)/.test(String(cause?.code)) ? 'something else' : 'nothing'
  }
}

function fileIn(dataDir: string): string {
  return join(dataDir, 'server.json')
}
