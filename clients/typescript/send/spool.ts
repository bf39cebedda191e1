/**
 * Keeps traces on disk, one file each, until the service has stored them. Files that no process is sending are in the
 * folder itself. Before sending files, a process moves them into its own subfolder, which is named for its host and
 * process id. Only one process can rename a file, so two processes never send the same file. Folders of dead processes
 * are taken over (spool-adoption.ts): at once if the process id is free on this host, otherwise once the folder has not
 * been touched for a minute. A file's name identifies its owner (owner.ts). All calls are synchronous, because an
 * ending process cannot wait for asynchronous work.
 */

import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { basename, join } from 'node:path'
import { utf8Length } from '../record/bytes.ts'
import { type Delivery, fileText, readFileText } from './delivery.ts'
import { ENDING, type Owner } from './owner.ts'

/** Suffix of a file that does not contain a complete trace. Such files are kept for inspection. */
const BROKEN = '.broken'
const TEMPORARY = '.part'

export class Spool {
  readonly folder: string
  /** Subfolder that belongs to this process. */
  readonly own: string
  readonly owner: Owner
  /** Number of entries that the last check left to clients with other keys. */
  left = 0
  /** Keys of the remaining entries, as last reported. */
  named: string | undefined
  readonly #mostBytes: number
  readonly #sizes = new Map<string, number>()
  #bytes = 0
  #made = false
  #written = 0

  constructor(folder: string, mostBytes: number, owner: Owner) {
    this.folder = folder
    this.owner = owner
    this.#mostBytes = mostBytes
    const host = hostname()
      .replaceAll(/[^\w.]/g, '_')
      .slice(0, 64)
    this.own = join(folder, `sender-${host}-${process.pid}-${randomBytes(4).toString('hex')}`)
  }

  /**
   * Writes a delivery, replacing the delivery's existing file, if any. Throws if the spool is full or the write fails.
   */
  write(delivery: Delivery): void {
    const text = fileText(delivery, delivery.parts!)
    const size = utf8Length(text)
    const before = this.#sizes.get(delivery.file!) ?? 0
    if (this.#bytes - before + size > this.#mostBytes)
      throw new Error(`the spool is full: it has ${this.#mostBytes} bytes`)
    this.#written++
    const name = `${Date.now()}-${delivery.traceId}-${process.pid}-${this.#written}${this.owner.mark}`
    const file = delivery.file ?? join(this.own, name)
    this.makeFolder()
    const temporary = file + TEMPORARY
    try {
      writeFileSync(temporary, text, { mode: 0o600 })
      renameSync(temporary, file)
    } catch (error) {
      attempt(() => rmSync(temporary, { force: true }))
      throw error
    }
    this.count(file, size)
    delivery.file = file
  }

  /** Reads a file. Returns undefined if the file is missing or incomplete; an incomplete file is set aside. */
  read(file: string): ReturnType<typeof readFileText> {
    let found: ReturnType<typeof readFileText>
    attempt(() => {
      found = readFileText(readFileSync(file, 'utf8'))
      if (found === undefined) renameSync(file, join(this.folder, basename(file) + BROKEN))
    })
    if (found === undefined) this.count(file, 0)
    return found
  }

  remove(file: string): void {
    // If a file cannot be removed, the next process sends the trace again. The repetition has no effect.
    attempt(() => rmSync(file, { force: true }))
    this.count(file, 0)
  }

  /** Shows other processes that this process is still running. */
  touch(): void {
    const now = new Date()
    if (this.#made) attempt(() => utimesSync(this.own, now, now))
  }

  /** Leaves unsent files to the next process. */
  release(): void {
    if (!this.#made) return
    for (const name of namesIn(this.own)) {
      if (!name.endsWith(ENDING)) continue
      attempt(() => renameSync(join(this.own, name), join(this.folder, this.owner.complete(name))))
    }
    attempt(() => rmdirSync(this.own))
    this.#made = false
    this.#sizes.clear()
    this.#bytes = 0
  }

  makeFolder(): void {
    mkdirSync(this.own, { recursive: true, mode: 0o700 })
    this.#made = true
  }

  /** Records a file's size in bytes; 0 if the file is gone. */
  count(file: string, size: number): void {
    this.#bytes += size - (this.#sizes.get(file) ?? 0)
    if (size === 0) this.#sizes.delete(file)
    else this.#sizes.set(file, size)
  }
}

export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort()
  } catch {
    return []
  }
}

export function attempt(act: () => void): boolean {
  try {
    act()
    return true
  } catch {
    return false
  }
}
