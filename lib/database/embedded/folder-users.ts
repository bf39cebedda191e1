/**
 * Detects processes in other containers that use the same data folder. Process ids are meaningless across containers,
 * so each process that opens the folder listens on a Unix socket in the subfolder `users`. Other processes can connect
 * to that socket. Within one PID namespace, process ids suffice (lock-file.ts), so socket names contain the namespace.
 *
 * Each process starts to listen before it checks for other processes. Therefore, if two processes start together, at
 * least one detects the other. Names are never reused, so a socket without a listener is stale or a copy, and can be
 * removed.
 */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readlinkSync } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import type { Logger } from '../../log.ts'
import { ConfigError } from '../../variables.ts'
import type { Release } from './lock-file.ts'
import { onCode } from './own-file.ts'
import { isListening } from './process-identity.ts'

/** A socket's name begins with the namespace. A socket being created has a different name and is not checked. */
const NAME = /^(\w+)-[\da-f-]{36}\.sock$/

/**
 * Enters the data folder. Throws a ConfigError if a process of another namespace is using the folder. If the file
 * system does not support sockets, other processes are not detected.
 */
export async function enterFolder(dataDir: string, log: Logger, namespace = readNamespace()): Promise<Release> {
  const path = join(dataDir, 'users')
  await mkdir(path, { mode: 0o700 }).catch(onCode('EEXIST', undefined))
  const folder = { path, handle: await open(path, 'r') }
  const name = `${namespace}-${randomUUID()}.sock`
  const server = await listen(folder, name).catch(error => {
    log.warn({ err: error }, 'processes in other containers cannot be detected: no socket can be created in DATA_DIR')
    return undefined
  })
  const leave = async () => {
    server?.close()
    await rm(join(path, name), { force: true })
    await folder.handle.close()
  }
  if (await hasOthers(folder, namespace)) {
    await leave()
    throw new ConfigError(
      `DATA_DIR ${dataDir} is in use by a process in another container (another PID namespace): ` +
        'stop that process, or use another DATA_DIR'
    )
  }
  return leave
}

/** The folder of the sockets, open. */
interface SocketFolder {
  readonly path: string
  readonly handle: FileHandle
}

/**
 * Returns a socket's path. A socket's path is limited to 107 bytes, but the folder's path alone may be longer. On
 * Linux, the open folder also has a short path in /proc.
 */
const socketIn = ({ path, handle }: SocketFolder, name: string): string =>
  process.platform === 'linux' ? `/proc/self/fd/${handle.fd}/${name}` : join(path, name)

/**
 * Gives the socket its final name only once the server listens, so that no process finds a socket without a listener.
 */
async function listen(folder: SocketFolder, name: string): Promise<Server> {
  const draft = `new-${randomUUID().slice(0, 8)}`
  // Without `exclusive`, node:cluster would listen in the primary process, where the path refers to a different file.
  const server = createServer(socket => socket.destroy()).listen({ path: socketIn(folder, draft), exclusive: true })
  await once(server, 'listening')
  server.unref()
  await rename(join(folder.path, draft), join(folder.path, name))
  return server
}

/** Returns whether a process of another namespace listens. Removes stale sockets. */
async function hasOthers(folder: SocketFolder, namespace: string): Promise<boolean> {
  let isUsed = false
  for (const name of await readdir(folder.path)) {
    const [, theirs] = NAME.exec(name) ?? []
    if (theirs === undefined) continue
    if (!(await isListening(socketIn(folder, name)))) await rm(join(folder.path, name), { force: true })
    else if (theirs !== namespace) isUsed = true
  }
  return isUsed
}

/** Returns the number of this process's PID namespace; `host` on systems without namespaces. */
function readNamespace(): string {
  try {
    return /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? 'host'
  } catch {
    return 'host'
  }
}
