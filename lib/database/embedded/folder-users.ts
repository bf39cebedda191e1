/**
 * Tells whether processes of another container use a data folder. Process ids mean nothing there, so each process that has
 * the folder open listens on a Unix socket in `users`: only while it lives can somebody connect, from wherever. The name of
 * a socket says the PID namespace, because processes of the same one are told apart by their ids (lock-file.ts).
 *
 * A process first listens and then looks, so that of two that come at once at least one notices. Names are never used
 * again, so that a socket on which nobody listens is a left-over, or a copy, and may be removed.
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

/** A name that is looked at, with the namespace in front; one that is being made is none. */
const NAME = /^(\w+)-[\da-f-]{36}\.sock$/

/**
 * Enters the data folder. Throws a ConfigError if a process of another namespace is in it. Where the file system has no
 * sockets nobody is noticed.
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

  /** A socket's path may have 107 bytes, and that of the folder may have more. Linux has a short one for what is open. */
  #at(name: string): string {
    return process.platform === 'linux' ? `/proc/self/fd/${this.#handle.fd}/${name}` : join(this.#path, name)
  }

  /** Listens, and then gives the socket its name, so that nobody finds one on which nobody listens yet. */
  async listen(name: string): Promise<Server> {
    const draft = `new-${randomUUID().slice(0, 8)}`
    // Exclusive, because node:cluster would have the primary listen, in which the path means something else.
    const server = createServer(socket => socket.destroy()).listen({ path: this.#at(draft), exclusive: true })
    await once(server, 'listening')
    server.unref()
    await rename(join(this.#path, draft), join(this.#path, name))
    return server
  }

  /** Whether somebody of another namespace listens. Removes left-over sockets. */
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
