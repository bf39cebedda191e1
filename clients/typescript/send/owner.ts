/**
 * Determines who owns a spool entry. An entry's name ends with the id of the recording key and, once the server has
 * described that key, a digest of server, project and environment. An entry is never sent to another project. Only
 * clients with the same key, or with a key of the same project and environment (as after a rotation), take the entry.
 * The Python client uses the same names.
 */
import { createHash } from 'node:crypto'
import type { Settings } from '../options.ts'

export const ENDING = '.spoor'
/** Matches the public id in a key. The secret follows the id. */
const KEY_ID = /_live_([0-9A-Za-z]{16})_[0-9A-Za-z]{43}$/

/** Ids of all keys that a process has used, each with the spool folders of its open clients. */
export type Keys = Map<string, Set<string>>
const ofThisProcess: Keys = new Map()

export class Owner {
  readonly keyId: string
  /** Undefined until the server has described the key. */
  destination: string | undefined
  readonly keys: Keys
  readonly #server: string

  constructor({ url, key }: Pick<Settings, 'url' | 'key'>, keys = ofThisProcess) {
    this.keys = keys
    // A key in another format, such as a key that a proxy translates, gets an id that does not reveal the key.
    this.keyId = KEY_ID.exec(key)?.[1] ?? digest(key)
    this.#server = serverName(url)
  }

  /** Registers a client of this process with its key and, if any, its spool folder. */
  register(folder: string | undefined): void {
    const folders = this.keys.get(this.keyId) ?? new Set()
    this.keys.set(this.keyId, folders)
    if (folder !== undefined) folders.add(folder)
  }

  /** Removes a closed client, so that this process's other clients may take the closed client's entries. */
  unregister(folder: string | undefined): void {
    if (folder !== undefined) this.keys.get(this.keyId)?.delete(folder)
  }

  /** Derives the destination from the server's description of the key. */
  learn(projectId: string, environment: string | null): void {
    this.destination = digest([this.#server, projectId, environment ?? ''].join('\n'))
  }

  /** Suffix of an entry's name. */
  get mark(): string {
    return `-${this.keyId}${this.destination === undefined ? '' : `-${this.destination}`}${ENDING}`
  }

  /** Adds the destination to an entry's name if the server has already described the key. */
  complete(name: string): string {
    const end = `-${this.keyId}${ENDING}`
    return name.endsWith(end) ? name.slice(0, -end.length) + this.mark : name
  }
}

/** How a client treats an entry that no process is sending. */
export type Claim =
  | 'take'
  /** Decide after the server has named the key's project and environment. */
  | 'ask'
  /** Leave the entry to another client of this process. */
  | 'spare'
  /**
   * Leave the entry, because it was recorded with another key, or with an unknown key while this process has several
   * keys.
   */
  | 'other'

export function claim(name: string, folder: string, owner: Owner): Claim {
  const keyId = keyIdOf(name)
  if (keyId === undefined) return owner.keys.size > 1 ? 'other' : 'take'
  if (keyId === owner.keyId) return 'take'
  const destination = partsOf(name)[5]
  if (destination !== undefined && destination === owner.destination) return 'take'
  if (owner.keys.get(keyId)?.has(folder)) return 'spare'
  return destination !== undefined && owner.destination === undefined ? 'ask' : 'other'
}

/** Returns the id of the key that recorded an entry; undefined in names of version 1.0.0-rc.1. */
export const keyIdOf = (name: string): string | undefined => partsOf(name)[4]

/** Splits a name into time, trace, process, number, key and destination. */
const partsOf = (name: string): readonly string[] => name.slice(0, -ENDING.length).split('-')

/** Returns host, port and path, with `localhost` for loopback addresses and the scheme's default for a missing port. */
function serverName(url: string): string {
  const { protocol, hostname, port, pathname } = new URL(url)
  const host = ['127.0.0.1', '[::1]'].includes(hostname) ? 'localhost' : hostname
  return `${host}:${port || (protocol === 'https:' ? 443 : 80)}${pathname.replace(/\/+$/, '')}`
}

const digest = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 16)
