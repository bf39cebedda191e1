/**
 * Traces kept on disk, one file each, until the service has them. What nobody is sending lies in the folder itself. A
 * process moves what it sends into a folder of its own below it, named for its host and its id: a rename happens once, so
 * two processes never send the same file. The folders of processes that are gone are taken over: at once where the id is
 * free on this host, otherwise when their time has not moved for a minute. All calls are synchronous, since the end of a
 * process waits for nothing.
 */
import { randomBytes } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync
} from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { type Delivery, fileText, readFileText } from './delivery.ts'

const ENDING = '.spoor'
/** A file that is no whole trace; it is left where it is, for people. */
const BROKEN = '.broken'
const TEMPORARY = '.part'
const SENDER = /^sender-(.+)-(\d+)-[0-9a-f]{8}$/
const GONE_AFTER_MS = 60_000

export class Spool {
  private readonly folder: string
  private readonly own: string
  private readonly mostBytes: number
  private readonly sizes = new Map<string, number>()
  private bytes = 0
  private made = false
  private written = 0

  constructor(folder: string, mostBytes: number) {
    this.folder = folder
    this.mostBytes = mostBytes
    const host = hostname()
      .replaceAll(/[^\w.]/g, '_')
      .slice(0, 64)
    this.own = join(folder, `sender-${host}-${process.pid}-${randomBytes(4).toString('hex')}`)
  }

  /** Writes a delivery, in place of its file if it has one. Throws where that cannot be. */
  write(delivery: Delivery): void {
    const text = fileText(delivery, delivery.parts!)
    const before = delivery.file === undefined ? 0 : (this.sizes.get(delivery.file) ?? 0)
    const size = Buffer.byteLength(text)
    if (this.bytes - before + size > this.mostBytes) throw new Error(`the spool has its ${this.mostBytes} bytes`)
    this.makeFolder()
    this.written++
    const name = `${Date.now()}-${delivery.traceId}-${process.pid}-${this.written}${ENDING}`
    const file = delivery.file ?? join(this.own, name)
    try {
      writeFileSync(file + TEMPORARY, text, { mode: 0o600 })
      renameSync(file + TEMPORARY, file)
    } catch (error) {
      attempt(() => rmSync(file + TEMPORARY, { force: true }))
      throw error
    }
    this.count(file, size)
    delivery.file = file
  }

  /** Undefined where there is no such file any more, or it is no whole trace: then it is put aside. */
  read(file: string): ReturnType<typeof readFileText> {
    let text: string
    try {
      text = readFileSync(file, 'utf8')
    } catch {
      this.count(file, 0)
      return undefined
    }
    const found = readFileText(text)
    if (found === undefined) {
      attempt(() => renameSync(file, join(this.folder, `${file.split(/[/\\]/).at(-1)}${BROKEN}`)))
      this.count(file, 0)
    }
    return found
  }

  remove(file: string): void {
    // A file that stays is sent again by the next process, which changes nothing.
    attempt(() => rmSync(file, { force: true }))
    this.count(file, 0)
  }

  /** Takes what nobody sends, up to so many files, and gives them, oldest first. */
  adopt(most: number): string[] {
    if (!existsSync(this.folder)) return []
    const adopted: string[] = []
    for (const name of namesIn(this.folder)) {
      if (adopted.length >= most) break
      if (name.endsWith(ENDING)) this.take(join(this.folder, name), name, adopted)
      else if (SENDER.test(name) && this.isGone(name)) {
        const folder = join(this.folder, name)
        for (const each of namesIn(folder)) {
          if (each.endsWith(ENDING)) this.take(join(folder, each), each, adopted)
          else attempt(() => rmSync(join(folder, each), { force: true }))
        }
        attempt(() => rmdirSync(folder))
      }
    }
    return adopted
  }

  /** Says that this process is still there. */
  touch(): void {
    const now = new Date()
    if (this.made) attempt(() => utimesSync(this.own, now, now))
  }

  /** Leaves what is not sent to the next process. */
  release(): void {
    if (!this.made) return
    for (const name of namesIn(this.own)) {
      if (name.endsWith(ENDING)) attempt(() => renameSync(join(this.own, name), join(this.folder, name)))
    }
    attempt(() => rmdirSync(this.own))
    this.made = false
    this.sizes.clear()
    this.bytes = 0
  }

  private take(from: string, name: string, adopted: string[]): void {
    this.makeFolder()
    const file = join(this.own, name)
    // Another process was first.
    if (!attempt(() => renameSync(from, file))) return
    attempt(() => this.count(file, statSync(file).size))
    adopted.push(file)
  }

  private isGone(name: string): boolean {
    const [, host, pid] = SENDER.exec(name)!
    if (join(this.folder, name) === this.own) return false
    const [, ownHost] = SENDER.exec(this.own.split(/[/\\]/).at(-1)!)!
    if (host === ownHost && Number(pid) !== process.pid && !isRunning(Number(pid))) return true
    let time = Number.POSITIVE_INFINITY
    attempt(() => {
      time = statSync(join(this.folder, name)).mtimeMs
    })
    return Date.now() - time > GONE_AFTER_MS
  }

  private makeFolder(): void {
    if (this.made && existsSync(this.own)) return
    mkdirSync(this.own, { recursive: true, mode: 0o700 })
    this.made = true
  }

  private count(file: string, size: number): void {
    this.bytes += size - (this.sizes.get(file) ?? 0)
    if (size === 0) this.sizes.delete(file)
    else this.sizes.set(file, size)
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort()
  } catch {
    return []
  }
}

function attempt(act: () => void): boolean {
  try {
    act()
    return true
  } catch {
    return false
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // Another user's process.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
