/** Tells whether a process id in a file still means the same process: ids are used again, by any process. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** Whether there is a process with this id, of whatever user. */
export function isAlive(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/**
 * When the process began, as a text to compare with an earlier result of this function; undefined if it is not known.
 */
export function readBirth(pid: number): string | undefined {
  if (process.platform !== 'linux') return askPs(pid, 'lstart')
  const status = readIfAny(`/proc/${pid}/stat`)
  // The name in parentheses can hold any character. The twentieth field after it is the start in clock ticks.
  const ticks = status?.slice(status.lastIndexOf(')') + 2).split(' ')[19]
  return ticks && `${ticks}@${readIfAny('/proc/sys/kernel/random/boot_id')?.trim()}`
}

/** The command line of the process; undefined if it is not known. */
export function readCommandLine(pid: number): string | undefined {
  return process.platform === 'linux' ? readIfAny(`/proc/${pid}/cmdline`)?.replaceAll('\0', ' ') : askPs(pid, 'command')
}

function askPs(pid: number, column: string): string | undefined {
  const { stdout } = spawnSync('ps', ['-p', String(pid), '-o', `${column}=`], { encoding: 'utf8' })
  return stdout?.trim() || undefined
}

function readIfAny(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
