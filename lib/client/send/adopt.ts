/**
 * Takes from the spool what other processes have left: what lies in the folder itself, and the folders of processes that
 * are gone. Loaded when there is a folder.
 */
import { renameSync, rmdirSync, rmSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { messageOf } from '../record/values.ts'
import { newDelivery } from './delivery.ts'
import type { Holding } from './holding.ts'
import { attempt, ENDING, namesIn, type Spool } from './spool.ts'

/** The application waits for each rename. */
const ADOPTED_AT_ONCE = 200
const SENDER = /^sender-(.+)-(\d+)-[0-9a-f]{8}$/
const GONE_AFTER_MS = 60_000

/** Takes some, and the rest when these are sent. Gives how many it took. */
export function adopt(spool: Spool, holding: Holding): number {
  let files: readonly string[] = []
  try {
    files = adoptFiles(spool, ADOPTED_AT_ONCE)
  } catch (error) {
    holding.problem(`the spool cannot be read: ${messageOf(error)}`)
  }
  for (const file of files) {
    const [, traceId = ''] = basename(file).split('-')
    holding.enqueue(newDelivery(traceId, 'from the spool', undefined, file))
  }
  holding.refill = files.length < ADOPTED_AT_ONCE ? undefined : () => void adopt(spool, holding)
  holding.pump()
  return files.length
}

/** The files that were taken, up to so many, the oldest first. */
export function adoptFiles(spool: Spool, most: number): string[] {
  const adopted: string[] = []
  const take = (from: string, name: string) => {
    const file = join(spool.own, name)
    spool.makeFolder()
    // Otherwise another process was first.
    if (attempt(() => renameSync(from, file))) adopted.push(file)
  }
  for (const name of namesIn(spool.folder)) {
    if (adopted.length >= most) break
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
  for (const file of adopted) attempt(() => spool.count(file, statSync(file).size))
  return adopted
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
