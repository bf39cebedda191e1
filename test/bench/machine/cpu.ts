/**
 * CPU time of processes, from /proc: user and system time of all threads, and of children that have ended. Work that
 * the kernel does for no particular process (writing pages back, most of the loopback network) is not included.
 */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

/** CPU times in µs since the processes started. */
export interface CpuTimes {
  /** CPU time of all threads of all server processes. */
  readonly node: number
  /** CPU time of the server's main threads only. */
  readonly main: number
  /** CPU time of PostgreSQL's backends and background processes; NaN if unknown. */
  readonly postgres: number
}

interface ProcessTimes {
  readonly parent: number
  readonly own: number
  /** CPU time of ended children that the process waited for. */
  readonly ended: number
}

const MICROS_PER_TICK = 1_000_000 / readTicksPerSecond()

/**
 * Reads the CPU times of the server and of PostgreSQL separately, each including its descendants. Returns undefined
 * unless the system is Linux. The times of a cluster's postmasters are summed.
 */
export function readCpuTimes(
  serverPid: number,
  postmasters: number | readonly number[] | undefined
): CpuTimes | undefined {
  if (process.platform !== 'linux') return undefined
  const postmasterPids = [postmasters ?? []].flat()
  const processes = readProcesses()
  const descendants = (pid: number): number[] => {
    const children = [...processes].filter(([child, { parent }]) => parent === pid && !postmasterPids.includes(child))
    return [pid, ...children.flatMap(([child]) => descendants(child))]
  }
  const sum = (pids: readonly number[]) =>
    pids.reduce((total, pid) => {
      const times = processes.get(pid)
      return times === undefined ? total : total + times.own + times.ended
    }, 0)
  const server = descendants(serverPid)
  return {
    node: sum(server),
    main: server.reduce((total, pid) => total + (readTimes(`/proc/${pid}/task/${pid}/stat`)?.own ?? 0), 0),
    postgres: postmasterPids.length === 0 ? Number.NaN : sum(postmasterPids.flatMap(descendants))
  }
}

export function subtractTimes(later: CpuTimes, earlier: CpuTimes): CpuTimes {
  return {
    node: later.node - earlier.node,
    main: later.main - earlier.main,
    postgres: later.postgres - earlier.postgres
  }
}

export const NO_TIMES: CpuTimes = { node: 0, main: 0, postgres: 0 }

export function addTimes(a: CpuTimes, b: CpuTimes): CpuTimes {
  return { node: a.node + b.node, main: a.main + b.main, postgres: a.postgres + b.postgres }
}

export function divideTimes({ node, main, postgres }: CpuTimes, by: number): CpuTimes {
  return { node: node / by, main: main / by, postgres: postgres / by }
}

function readProcesses(): Map<number, ProcessTimes> {
  const processes = new Map<number, ProcessTimes>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const times = readTimes(`/proc/${name}/stat`)
    if (times !== undefined) processes.set(Number(name), times)
  }
  return processes
}

/** Returns undefined if the process has ended. */
function readTimes(path: string): ProcessTimes | undefined {
  let text: string
  try {
    text = readFileSync(path, 'latin1')
  } catch {
    return undefined
  }
  // The program's name, in parentheses, can contain any character. The third field of proc(5) follows it.
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number)
  const [parent, user, system, endedUser, endedSystem] = [1, 11, 12, 13, 14].map(i => fields[i]!) as [
    number,
    number,
    number,
    number,
    number
  ]
  return {
    parent,
    own: (user + system) * MICROS_PER_TICK,
    ended: (endedUser + endedSystem) * MICROS_PER_TICK
  }
}

function readTicksPerSecond(): number {
  try {
    return Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))
  } catch {
    return 100
  }
}
