/**
 * Takes over the entries that other processes left in the spool folder itself or in the subfolders of dead processes.
 * Entries recorded with another project's key stay in the spool and are reported. This module is loaded on demand.
 */
import { renameSync, rmdirSync, rmSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { KeyDescription } from '../api-types.ts'
import { messageOf } from '../record/values.ts'
import { parseAnswer } from './answer.ts'
import { newDelivery } from './delivery.ts'
import type { Outbox } from './outbox.ts'
import { claim, ENDING, keyIdOf, type Owner } from './owner.ts'
import { attempt, namesIn, type Spool } from './spool.ts'
import type { Transport } from './transport.ts'

/** Maximum number of files taken at a time, because each rename blocks the application. */
const ADOPTED_AT_ONCE = 200
const SENDER = /^sender-(.+)-(\d+)-[0-9a-f]{8}$/
const GONE_AFTER_MS = 60_000
const LEARN_MS = 10_000

export interface SpoolLook {
  /** Whether to also take entries recorded with other keys. */
  readonly anyKey?: boolean | undefined
  /** Whether the process has had time to create all its clients, any of which may own an entry. */
  readonly isSettled: boolean
}

/**
 * Takes a batch of entries; the rest follow when the queue is empty. Returns the number taken and whether to retry
 * soon.
 */
export async function adopt(spool: Spool, outbox: Outbox, connect: () => Promise<Transport>, look: SpoolLook) {
  const { owner } = spool
  let found = scan(spool, outbox, look)
  // Each process that sends traces learns its destination once, so that clients with a replacement key can find the
  // process's entries.
  const isAsked = found.asks > 0 || outbox.state().sent > 0
  if (owner.destination === undefined && isAsked) await learn(owner, outbox, connect)
  if (found.asks > 0 && owner.destination !== undefined) found = scan(spool, outbox, look, found.files)
  const { files } = found
  if (outbox.isStopped) return { taken: files.length, isAgain: false }
  const isAll = files.length < ADOPTED_AT_ONCE
  outbox.refill = isAll ? undefined : () => void adopt(spool, outbox, connect, look)
  if (isAll && look.isSettled) nameLeft(spool, outbox, found)
  return { taken: files.length, isAgain: found.isUnsettled }
}

/** Asks the service for the key's project and environment. */
async function learn(owner: Owner, outbox: Outbox, connect: () => Promise<Transport>): Promise<void> {
  if (outbox.isPaused) return
  try {
    const { status, text } = await (await connect()).send('GET', '/api/v1/key', undefined, {
      isBackground: true,
      timeoutMs: LEARN_MS
    })
    const { projectId, environment } = (parseAnswer(text) ?? {}) as Partial<KeyDescription>
    if (status === 200 && projectId !== undefined) owner.learn(projectId, environment ?? null)
  } catch {
    // The transport could not be loaded. The sender reports the failure when there is something to send.
  }
}

/** Takes the entries that belong to this client, in addition to the files in `before`. */
function scan(spool: Spool, outbox: Outbox, look: SpoolLook, before: readonly string[] = []): FoundSpool {
  let found = nothingFound()
  try {
    if (!outbox.isStopped) found = adoptFiles(spool, ADOPTED_AT_ONCE - before.length, look)
  } catch (error) {
    outbox.problem(`the spool cannot be read: ${messageOf(error)}`)
  }
  for (const file of found.files) {
    const [, traceId = ''] = basename(file).split('-')
    outbox.enqueue(newDelivery(traceId, 'from the spool', undefined, file))
  }
  outbox.pump()
  return { ...found, files: [...before, ...found.files] }
}

/** Reports the entries left in the spool, once per set of keys. */
function nameLeft(spool: Spool, outbox: Outbox, { others, asks }: FoundSpool): void {
  const count = [...others.values()].reduce((sum, each) => sum + each, 0)
  spool.left = count + asks
  const keys = [...others.keys()].sort().join(', ')
  if (spool.named === keys) return
  spool.named = keys
  if (count === 0) return
  const reason = `recorded with another key (${keys}), not known to be for the same project and environment`
  outbox.problem(`traces left in ${spool.folder}: ${count}, ${reason}. "spoor send" sends them with that key`)
}

const nothingFound = () => ({
  /** Files taken, oldest first. */
  files: [] as string[],
  /** Number of remaining entries, by key id. An earlier version's entries name none. */
  others: new Map<string, number>(),
  /** Number of entries whose owner only the server can determine. */
  asks: 0,
  /** Whether some entries may belong to a client that the process has yet to create. */
  isUnsettled: false
})
type FoundSpool = ReturnType<typeof nothingFound>

/** Takes at most `most` files, or more to finish emptying a dead process's folder. */
export function adoptFiles(spool: Spool, most: number, { anyKey, isSettled }: SpoolLook): FoundSpool {
  const found = nothingFound()
  const { files, others } = found
  const take = (from: string, name: string) => {
    const keyId = keyIdOf(name)
    const claimed = anyKey ? 'take' : claim(name, spool.folder, spool.owner)
    const of = keyId ?? 'unknown'
    if (claimed === 'other') others.set(of, (others.get(of) ?? 0) + 1)
    if (claimed === 'ask') found.asks++
    const isEarly = keyId === undefined && !isSettled && claimed === 'take'
    if (isEarly || (!isSettled && claimed === 'other')) found.isUnsettled = true
    if (isEarly || claimed !== 'take') return
    const file = join(spool.own, name)
    spool.makeFolder()
    // If the rename fails, another process took the file first.
    if (attempt(() => renameSync(from, file))) files.push(file)
  }
  for (const name of namesIn(spool.folder)) {
    if (files.length >= most) break
    const path = join(spool.folder, name)
    if (name.endsWith(ENDING)) take(path, name)
    else if (isGone(spool, name)) {
      for (const each of namesIn(path)) {
        if (each.endsWith(ENDING)) take(join(path, each), each)
        else attempt(() => rmSync(join(path, each), { force: true }))
      }
      attempt(() => rmdirSync(path))
    }
  }
  for (const file of files) attempt(() => spool.count(file, statSync(file).size))
  return found
}

/** Whether a folder's process no longer runs, or has not touched the folder for a minute. */
function isGone({ folder, own }: Spool, name: string): boolean {
  const [, host, pid] = SENDER.exec(name) ?? []
  if (host === undefined || name === basename(own)) return false
  const [, ownHost] = SENDER.exec(basename(own))!
  if (host === ownHost && Number(pid) !== process.pid && !isRunning(Number(pid))) return true
  let time = Number.POSITIVE_INFINITY
  attempt(() => {
    time = statSync(join(folder, name)).mtimeMs
  })
  return Date.now() - time > GONE_AFTER_MS
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // The process exists but belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
