/**
 * Locates the spoor server that uses a command's database. For an embedded database, the data folder's server.json
 * holds the server's address. For any other database, HOST and PORT are tried; the server found there may use a
 * different database, so the database id that the server reports is checked.
 */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Sql } from 'postgres'
import type { Config } from '../config.ts'
import { readHolder } from '../database/embedded/lock-file.ts'
import { readOwnFile, replaceFile } from '../database/embedded/own-file.ts'
import { readDatabaseId } from '../store/server/properties.ts'

export interface RunningServer {
  /** The server's URL, such as `http://127.0.0.1:8787`. */
  readonly address: string
  /** The server's process id; undefined if the database is not embedded, because the id is then unknown. */
  readonly pid: number | undefined
  /** The server's version. The server reports this field and the following fields in GET /readyz. */
  readonly version: string | undefined
  readonly ready: boolean
  readonly reasons: readonly string[]
  readonly lacks: readonly string[]
}

type Place = Pick<RunningServer, 'address' | 'pid'>
type Report = Omit<RunningServer, keyof Place> & { readonly instance: string | undefined }

/**
 * Time limit for a server's response, longer than the 2.5 s after which a server reports that its database does not
 * respond.
 */
const PROBE_TIMEOUT_MS = 4000

/** Records the server's address for commands. Only an embedded database has a folder for the file. */
export async function announceServer(dataDir: string, address: string): Promise<void> {
  await replaceFile(fileIn(dataDir), JSON.stringify({ pid: process.pid, address }))
}

export async function withdrawServer(dataDir: string): Promise<void> {
  await rm(fileIn(dataDir), { force: true })
}

/** The result of contacting the expected address. */
export type FoundServer =
  | { readonly is: 'ours'; readonly server: RunningServer }
  /** A server that has not reached its database or is not configured, so its database is unknown. */
  | { readonly is: 'nameless'; readonly server: RunningServer }
  /** An embedded database's server process exists, or something accepts connections, but no response arrives. */
  | { readonly is: 'silent'; readonly address: string; readonly pid: number | undefined }
  | { readonly is: 'for another database' | 'something else'; readonly address: string }
  /**
   * No server was found. `address` is undefined for an embedded database, because its server would have recorded one.
   */
  | { readonly is: 'nothing'; readonly address: string | undefined }

/**
 * Returns this database's server; undefined if none responds. Without `sql`, because the database cannot be queried,
 * returns the server at the expected address, unverified.
 */
export async function findServer(config: Config, sql?: Sql): Promise<RunningServer | undefined> {
  const found = await lookForServer(config, sql && (await readDatabaseId(sql)))
  return found.is === 'ours' ? found.server : undefined
}

/**
 * Looks for a server at the expected address. `instance` is the database's id, if known
 * (lib/store/server/properties.ts).
 */
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
  return other === undefined ? { is: 'nameless', server } : { is: 'for another database', address }
}

/** Returns the address at which this machine reaches a server that listens on this host and port. */
export function listenAddress(host: string, port: number): string {
  const everywhere = host === '0.0.0.0' || host === '::'
  const name = everywhere ? 'localhost' : host.includes(':') ? `[${host}]` : host
  return `http://${name}:${port}`
}

/** Reads server.json. Ignores a file left behind by a killed server, whose process no longer holds the folder. */
async function readAnnounced(dataDir: string): Promise<Place | undefined> {
  const text = await readOwnFile(fileIn(dataDir)).catch(() => undefined)
  const { pid, address } = JSON.parse(text || '{}')
  return pid !== undefined && pid === (await readHolder(dataDir)) ? { pid, address } : undefined
}

/** Returns the report of the spoor server at this address, or what was found there instead. */
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
    // The peer responds, but not in JSON or not over HTTP.
    return name === 'SyntaxError' || /^(HPE_|UND_ERR_SOCKET)/.test(String(cause?.code)) ? 'something else' : 'nothing'
  }
}

function fileIn(dataDir: string): string {
  return join(dataDir, 'server.json')
}
