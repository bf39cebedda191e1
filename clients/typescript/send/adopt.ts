/**
 * Takes from the spool what other processes have left: what lies in the folder itself, and the folders of processes that
 * are gone. What another project's key recorded is left to it, and named. Loaded when there is a folder.
 */
import { renameSync, rmdirSync, rmSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { KeyDescription } from '../api-types.ts'
import { messageOf } from '../record/values.ts'
import { parse } from './answer.ts'
import { newDelivery } from './delivery.ts'
import type { Holding } from './holding.ts'
import { claim, ENDING, keyIdOf, type Owner } from './owner.ts'
import { attempt, namesIn, type Spool } from './spool.ts'
import type { Transport } from './transport.ts'

/** The application waits for each rename. */
const ADOPTED_AT_ONCE = 200
const SENDER = /^sender-(.+)-(\d+)-[0-9a-f]{8}$/
const GONE_AFTER_MS = 60_000

export interface Look {
  /** Takes what was recorded with other keys as well. */
  readonly anyKey?: boolean | undefined
  /** Whether the process has had time to make all its clients: only then it is known that there are no others. */
  readonly isSettled: boolean
}

/** Takes some, and the rest when these are sent. Gives how many it took, and whether it should look again soon. */
export async function adopt(spool: Spool, holding: Holding, connect: () => Promise<Transport>, look: Look) {
  const { owner } = spool
  let found = scan(spool, holding, look)
  // Asked once in the life of a process that sends: a key that takes this one's place finds its entries by the answer.
  const isAsked = found.asks > 0 || holding.state().sent > 0
  if (owner.destination === undefined && isAsked) await learn(owner, holding, connect)
  if (found.asks > 0 && owner.destination !== undefined) found = scan(spool, holding, look, found.files)
  const { files } = found
  if (holding.isStopped) return { taken: files.length, isAgain: false }
  const isAll = files.length < ADOPTED_AT_ONCE
  holding.refill = isAll ? undefined : () => void adopt(spool, holding, connect, look)
  if (isAll && look.isSettled) nameLeft(spool, holding, found)
  return { taken: files.length, isAgain: found.isUnsettled }
}

/** Asks which project and environment the key is for. */
async function learn(owner: Owner, holding: Holding, connect: () => Promise<Transport>): Promise<void> {
  if (holding.isPaused) return
  try {
    const { status, text } = await (await connect()).send('GET', '/api/v1/key')
    const { projectId, environment } = (parse(text) ?? {}) as Partial<KeyDescription>
    if (status === 200 && projectId !== undefined) owner.learn(projectId, environment ?? null)
  } catch {
    // The transport cannot be loaded. The sender reports that when it has something to send.
  }
}

/** Takes what is ours, beside what was taken before. */
function scan(spool: Spool, holding: Holding, look: Look, before: readonly string[] = []): Found {
  const none: Found = { files: [], others: new Map(), unnamed: 0, asks: 0, isUnsettled: false }
  let found = none
  try {
    if (!holding.isStopped) found = adoptFiles(spool, ADOPTED_AT_ONCE - before.length, look)
  } catch (error) {
    holding.problem(`the spool cannot be read: ${messageOf(error)}`)
  }
  for (const file of found.files) {
    const [, traceId = ''] = basename(file).split('-')
    holding.enqueue(newDelivery(traceId, 'from the spool', undefined, file))
  }
  holding.pump()
  return { ...found, files: [...before, ...found.files] }
}

/** Names what is left, once while it is of the same keys. */
function nameLeft(spool: Spool, holding: Holding, { others, unnamed, asks }: Found): void {
  const count = [...others.values()].reduce((sum, each) => sum + each, 0)
  spool.left = count + unnamed + asks
  const keys = [...others.keys()].sort().join(', ')
  const named = `${keys} ${unnamed > 0}`
  if (spool.named === named) return
  spool.named = named
  if (count > 0) {
    const reason = `recorded with another key (${keys}), not known to be for the same project and environment`
    holding.problem(`traces left in ${spool.folder}: ${count}, ${reason}. "spoor send" sends them with that key`)
  }
  if (unnamed > 0) {
    const reason = 'recorded by an earlier version, which did not say with which key, and this process has several'
    holding.problem(`traces left in ${spool.folder}: ${unnamed}, ${reason}. "spoor send" sends them with one key`)
  }
}

export interface Found {
  /** The files that were taken, the oldest first. */
  readonly files: readonly string[]
  /** How many are left, by the id of their key. */
  readonly others: ReadonlyMap<string, number>
  /** How many are left that do not say whose they are. */
  readonly unnamed: number
  /** How many may be ours, as the server can tell. */
  readonly asks: number
  /** Some may be ours, if no other client is made. */
  readonly isUnsettled: boolean
}

/** Takes files, up to so many. */
export function adoptFiles(spool: Spool, most: number, { anyKey, isSettled }: Look): Found {
  const files: string[] = []
  const others = new Map<string, number>()
  let [unnamed, asks, isUnsettled] = [0, 0, false]
  const take = (from: string, name: string) => {
    const keyId = keyIdOf(name)
    const claimed = anyKey ? 'take' : claim(name, spool.folder, spool.owner)
    if (claimed === 'other') others.set(keyId!, (others.get(keyId!) ?? 0) + 1)
    if (claimed === 'unnamed') unnamed++
    if (claimed === 'ask') asks++
    const isEarly = keyId === undefined && !isSettled && claimed === 'take'
    if (isEarly || (!isSettled && (claimed === 'other' || claimed === 'unnamed'))) isUnsettled = true
    if (isEarly || claimed !== 'take') return
    const file = join(spool.own, name)
    spool.makeFolder()
    // Otherwise another process was first.
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
  return { files, others, unnamed, asks, isUnsettled }
}

/** Whether it is the folder of a process that is not there any more. */
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
    // Another user's process.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
