/** Runs processes whose child processes end with them, also if the run is interrupted. */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'

/** Maximum time for interrupted processes to clean up. */
const END_MS = 3000

const leaders = new Set<ChildProcess>()
let isInterrupted = false

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    isInterrupted = true
    for (const { pid } of leaders) killGroup(pid, 'SIGTERM')
    setTimeout(() => {
      for (const { pid } of leaders) killGroup(pid, 'SIGKILL')
    }, END_MS).unref()
  })
}

/**
 * Starts a process in a process group of its own, and calls `onStart` with it. Resolves to the exit code or the signal
 * when the process has ended and nothing of its group is left. After an interruption, starts nothing.
 */
export async function runGroup(
  [command, ...args]: readonly string[],
  options: SpawnOptions,
  onStart: (leader: ChildProcess) => void = () => {}
): Promise<number | NodeJS.Signals> {
  if (isInterrupted) return 'SIGTERM'
  const leader = spawn(command!, args, { ...options, detached: true })
  leaders.add(leader)
  onStart(leader)
  try {
    return await new Promise((resolve, reject) => {
      leader.on('error', reject)
      leader.on('exit', () => killGroup(leader.pid, 'SIGKILL'))
      leader.on('close', (code, signal) => resolve(code ?? signal!))
    })
  } finally {
    leaders.delete(leader)
  }
}

/** Kills a process group, which may be empty. */
function killGroup(leader: number | undefined, signal: NodeJS.Signals): void {
  try {
    if (leader !== undefined) process.kill(-leader, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
