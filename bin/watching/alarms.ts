/** Decides when an alarm fires and resolves. An alarm fires once for each breach, and resolves when the breach ends. */
import { readFile, rename, writeFile } from 'node:fs/promises'
import { AdminError } from '../../lib/admin-error.ts'

/** When the current breach of each condition was reported, by the condition's text. Other conditions have no entry. */
export type Breaches = Readonly<Record<string, string>>

export type AlarmChange = 'fired' | 'resolved'

/** Returns what to report; undefined if nothing has changed. An unknown observation changes nothing. */
export function alarmChange(
  breaches: Breaches,
  condition: string,
  isBreached: boolean | undefined
): AlarmChange | undefined {
  if (isBreached === undefined || isBreached === Object.hasOwn(breaches, condition)) return undefined
  return isBreached ? 'fired' : 'resolved'
}

/**
 * Returns the breaches after a reported change. After a failed report, skip this call, so that the change is reported
 * again.
 */
export function applyChange(breaches: Breaches, condition: string, change: AlarmChange, at: string): Breaches {
  const { [condition]: _, ...others } = breaches
  return change === 'fired' ? { ...others, [condition]: at } : others
}

/** Reads the breaches that an earlier run has stored; none if the file does not exist yet. */
export async function readBreaches(file: string): Promise<Breaches> {
  const text = await readFile(file, 'utf8').catch(error => {
    if (error.code === 'ENOENT') return undefined
    throw new AdminError(`cannot read ${file}: ${error.message}`)
  })
  if (text === undefined) return {}
  try {
    const { breaches } = JSON.parse(text)
    if (Object.values(breaches).every(at => typeof at === 'string')) return breaches
  } catch {
    // Reported below.
  }
  throw new AdminError(`${file} is not a state file of \`spoor watch\`: delete it, or use another file with --state`)
}

/** Replaces the file as a whole, so that an interrupted run leaves the old or the new state. */
export async function storeBreaches(file: string, breaches: Breaches): Promise<void> {
  try {
    await writeFile(`${file}.partial`, `${JSON.stringify({ breaches })}\n`)
    await rename(`${file}.partial`, file)
  } catch (error) {
    throw new AdminError(`cannot write ${file}: ${(error as Error).message}`)
  }
}
