/** Names the backups of a folder, and determines which of them are no longer kept. */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** Only files that `spoor backup --keep` named this way are ever deleted. */
const NAME = /^spoor-\d{4}-\d\d-\d\dT\d{6}Z\.backup$/

/** Returns the name of a backup made at this time, such as `spoor-2026-11-28T030000Z.backup`. Names sort by time. */
export const backupName = (now: Date): string => `spoor-${now.toISOString().slice(0, 19).replaceAll(':', '')}Z.backup`

/** Returns the names of all backups except the newest `keep`. */
export function outdatedBackups(names: readonly string[], keep: number): string[] {
  const own = names.filter(name => NAME.test(name)).sort()
  return own.slice(0, Math.max(0, own.length - keep))
}

/** Deletes all backups of a folder except the newest `keep`. Returns the names of the deleted files. */
export async function removeOutdated(folder: string, keep: number): Promise<string[]> {
  const outdated = outdatedBackups(await readdir(folder), keep)
  for (const name of outdated) await rm(join(folder, name), { force: true })
  return outdated
}
