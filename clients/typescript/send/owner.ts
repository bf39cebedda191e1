/**
 * Whose an entry of the spool is. Its name ends with the id of the key that it was recorded with and, once the server has
 * described that key, with a digest of server, project and environment. So an entry is never sent to another project:
 * it is taken by a client of the same key, or by one whose key is for the same project and environment, as after a
 * rotation. The client for Python makes the same names.
 */
import { createHash } from 'node:crypto'
import type { Target } from './transport.ts'

export const ENDING = '.spoor'
/** The id in a key, which is public. What follows is the secret. */
const KEY_ID = /_live_([0-9A-Za-z]{16})_[0-9A-Za-z]{43}$/

/** The ids of all keys that a process has had, each with the spools of its clients that are open. */
export type Keys = Map<string, Set<string>>
const ofThisProcess: Keys = new Map()

export class Owner {
  readonly keyId: string
  /** Undefined until the server has described the key. */
  destination: string | undefined
  readonly keys: Keys
  readonly #server: string

  constructor({ url, key }: Target, keys = ofThisProcess) {
    this.keys = keys
    // A key of another form, which a proxy may translate, gets an id that does not reveal it.
    this.keyId = KEY_ID.exec(key)?.[1] ?? digest(key)
    this.#server = serverName(url)
  }

  /** Says that a client of this process has the key, and this spool if it has any. */
  register(folder: string | undefined): void {
    const folders = this.keys.get(this.keyId) ?? new Set()
    this.keys.set(this.keyId, folders)
    if (folder !== undefined) folders.add(folder)
  }

  /** Says that the client is closed: others need not leave it anything. */
  unregister(folder: string | undefined): void {
    if (folder !== undefined) this.keys.get(this.keyId)?.delete(folder)
  }

  /** Takes what the server says of the key. */
  learn(projectId: string, environment: string | null): void {
    this.destination = digest([this.#server, projectId, environment ?? ''].join('\n'))
  }

  /** The end of an entry's name. */
  get mark(): string {
    return `-${this.keyId}${this.destination === undefined ? '' : `-${this.destination}`}${ENDING}`
  }

  /** An entry's name with the destination, where it has been learnt since. */
  complete(name: string): string {
    const end = `-${this.keyId}${ENDING}`
    return name.endsWith(end) ? name.slice(0, -end.length) + this.mark : name
  }
}

/** The way a client treats an entry that nobody is sending. */
export type Claim =
  | 'take'
  /** Decide when the server has said which project and environment our key is for. */
  | 'ask'
  /** Leave it to another client of this process. */
  | 'spare'
  /** Leave it: it was recorded with another key. */
  | 'other'
  /** Leave it: it was written by a version that did not say whose it is, and this process has several keys. */
  | 'unnamed'

export function claim(name: string, folder: string, owner: Owner): Claim {
  const keyId = keyIdOf(name)
  if (keyId === undefined) return owner.keys.size > 1 ? 'unnamed' : 'take'
  if (keyId === owner.keyId) return 'take'
  const destination = partsOf(name)[5]
  if (destination !== undefined && destination === owner.destination) return 'take'
  if (owner.keys.get(keyId)?.has(folder)) return 'spare'
  return destination !== undefined && owner.destination === undefined ? 'ask' : 'other'
}

/** The id of the key that recorded an entry; undefined in names of version 1.0.0-rc.1. */
export const keyIdOf = (name: string): string | undefined => partsOf(name)[4]

/** Time, trace, process, number, key, destination. */
const partsOf = (name: string): readonly string[] => name.slice(0, -ENDING.length).split('-')

/** Host, port and path. This machine has several names for itself, and each scheme has a port of its own. */
function serverName(url: string): string {
  const { protocol, hostname, port, pathname } = new URL(url)
  const host = ['127.0.0.1', '[::1]'].includes(hostname) ? 'localhost' : hostname
  return `${host}:${port || (protocol === 'https:' ? 443 : 80)}${pathname.replace(/\/+$/, '')}`
}

const digest = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 16)
