/** Checks whether a recorded process id still belongs to the same process, because the system reuses ids. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'

/** Returns whether a process with this id exists, regardless of the user that owns the process. */
export function isAlive(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Returns the process's start time as an opaque string for comparison; undefined if unknown. */
export function readBirth(pid: number): string | undefined {
  if (process.platform !== 'linux') return askPs(pid, 'lstart')
  const status = readIfAny(`/proc/${pid}/stat`)
  // The process name in parentheses may contain any character. The twentieth field after it is the start time in ticks.
  const ticks = status?.slice(status.lastIndexOf(')') + 2).split(' ')[19]
  return ticks && `${ticks}@${readIfAny('/proc/sys/kernel/random/boot_id')?.trim()}`
}

/** Returns the process's command line; undefined if unknown. */
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

/** Returns whether a process listens on a Unix socket. */
export function isListening(path: string): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(path)
    socket.on('connect', () => {
      socket.destroy()
      resolve(true)
    })
    // Any other error comes from a socket that has a listener.
    socket.on('error', (error: NodeJS.ErrnoException) =>
      resolve(!['ECONNREFUSED', 'ENOENT'].includes(error.code ?? ''))
    )
  })
}
