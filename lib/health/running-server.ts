/** The file server.json in a data folder says where its server listens, for commands that look for the server. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { readHolder } from '../database/embedded/data-dir-lock.ts'
import { readOwnFile, replaceFile } from '../database/embedded/own-file.ts'

export interface RunningServer {
  /** `http://127.0.0.1:8787` */
  readonly address: string
  /** Undefined if it is not known, because the database is not an embedded one. */
  readonly pid: number | undefined
}

const PROBE_TIMEOUT_MS = 2000

/** Writes the address to where commands find it. Only an embedded database has a folder for that. */
export async function announceServer(dataDir: string, address: string): Promise<void> {
  await replaceFile(fileIn(dataDir), JSON.stringify({ pid: process.pid, address }))
}

export async function withdrawServer(dataDir: string): Promise<void> {
  await rm(fileIn(dataDir), { force: true })
}

/** The server that answers for this configuration; undefined if none does. */
export async function findServer(config: Config): Promise<RunningServer | undefined> {
  const server = config.databaseUrl === undefined ? await readAnnounced(config.dataDir) : undefined
  const candidate = server ?? { address: listenAddress(config.host, config.port), pid: undefined }
  return (await answers(candidate.address)) ? candidate : undefined
}

/** The address at which this machine reaches a server that listens on this host and port. */
export function listenAddress(host: string, port: number): string {
  const everywhere = host === '0.0.0.0' || host === '::'
  const name = everywhere ? 'localhost' : host.includes(':') ? `[${host}]` : host
  return `http://${name}:${port}`
}

/**
 * Reads the file. A file that a killed server left behind names a process that does not hold the folder, and is
 * ignored.
 */
async function readAnnounced(dataDir: string): Promise<RunningServer | undefined> {
  const text = await readOwnFile(fileIn(dataDir)).catch(() => undefined)
  const { pid, address } = JSON.parse(text || '{}')
  return pid !== undefined && pid === (await readHolder(dataDir)) ? { pid, address } : undefined
}

/** Whether a spoor server, and not something else, answers at this address. */
async function answers(address: string): Promise<boolean> {
  try {
    const response = await fetch(`${address}/api/v1`, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) })
    return ((await response.json()) as { name?: unknown }).name === 'spoor'
  } catch {
    return false
  }
}

function fileIn(dataDir: string): string {
  return join(dataDir, 'server.json')
}
