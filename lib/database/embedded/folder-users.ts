/**
 * Finds out whether processes in another container use a data folder. Process ids of one container mean nothing in
 * another. Each process that opens the folder therefore listens on a Unix socket in `users`, and any other process can
 * connect to it for as long as the listener runs. Within one PID namespace, process ids are enough (lock-file.ts), so
 * the name of a socket contains the namespace.
 *
 * A process listens before it looks, so that of two processes that start together at least one sees the other. Names
 * are never used again: a socket without a listener is stale, or a copy, and may be removed.
 */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readlinkSync } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { ConfigError } from '../../config.ts'
import type { Logger } from '../../log.ts'
import type { Release } from './lock-file.ts'
import { isListening } from './socket-probe.ts'

/**
 * A socket's name begins with the namespace. A socket that is still being made has another name, and is not checked.
 */
const NAME = /^(\w+)-[\da-f-]{36}\.sock$/

/**
 * Enters the data folder. Throws a ConfigError if a process of another namespace is in it. If the file system has no
 * sockets, no other process is noticed.
 */
export async function enterFolder(dataDir: string, log: Logger, namespace = readNamespace()): Promise<Release> {
  const users = new SocketFolder(await openFolder(join(dataDir, 'users')))
  const name = `${namespace}-${randomUUID()}.sock`
  const server = await users.listen(name).catch(error => {
    log.warn({ err: error }, 'processes of other containers are not noticed: no socket can be made in DATA_DIR')
    return undefined
  })
  const leave = async () => {
    server?.close()
    await users.remove(name)
    await users.close()
  }
  if (await users.hasOthers(namespace)) {
    await leave()
    throw new ConfigError(
      `DATA_DIR ${dataDir} is in use by a process of another container (another PID namespace): stop that, or use another`
    )
  }
  return leave
}

async function openFolder(path: string): Promise<{ path: string; handle: FileHandle }> {
  await mkdir(path, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  return { path, handle: await open(path, 'r') }
}

class SocketFolder {
  readonly #path: string
  readonly #handle: FileHandle

  constructor({ path, handle }: { path: string; handle: FileHandle }) {
    this.#path = path
    this.#handle = handle
  }

  /**
   * A socket's path may have 107 bytes, and the folder's path may be longer. Linux has a short path for open folders.
   */
  #at(name: string): string {
    return process.platform === 'linux' ? `/proc/self/fd/${this.#handle.fd}/${name}` : join(this.#path, name)
  }

  /** Listens, and then gives the socket its name, so that no process finds a socket on which nothing listens yet. */
  async listen(name: string): Promise<Server> {
    const draft = `new-${randomUUID().slice(0, 8)}`
    // Exclusive, because node:cluster would have the primary listen, in which the path means something else.
    const server = createServer(socket => socket.destroy()).listen({ path: this.#at(draft), exclusive: true })
    await once(server, 'listening')
    server.unref()
    await rename(join(this.#path, draft), join(this.#path, name))
    return server
  }

  /** Whether a process of another namespace listens. Removes left-over sockets. */
  async hasOthers(namespace: string): Promise<boolean> {
    let isUsed = false
    for (const name of await readdir(this.#path)) {
      const [, theirs] = NAME.exec(name) ?? []
      if (theirs === undefined) continue
      if (!(await isListening(this.#at(name)))) await this.remove(name)
      else if (theirs !== namespace) isUsed = true
    }
    return isUsed
  }

  async remove(name: string): Promise<void> {
    await rm(join(this.#path, name), { force: true })
  }

  async close(): Promise<void> {
    await this.#handle.close()
  }
}

/** The number of this process's PID namespace; systems without have a single one. */
function readNamespace(): string {
  try {
    return /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? 'host'
  } catch {
    return 'host'
  }
}
