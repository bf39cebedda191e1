/** The individual measurements: a load on the server, COPY of the same rows, and the bare HTTP server. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { BodyKind } from './bodies/bodies.ts'
import { measureCopy } from './copy/copy-limit.ts'
import { type CopyRows, type KindRows, readCopyRows } from './copy/copy-rows.ts'
import {
  checkTotals,
  emptyTables,
  readFreeNumber,
  readStorage,
  type Storage,
  settle,
  skipUsedNumbers,
  subtractStorage
} from './copy/tables.ts'
import type { LoadKind, LoadReport, Sender, Window } from './load/load.ts'
import { isAgent } from './load/requests.ts'
import { type CpuTimes, readCpuTimes, subtractTimes } from './machine/cpu.ts'
import type { Service } from './machine/service.ts'
import type { Options } from './options.ts'

/**
 * Figures of one measurement, or the medians of several. NaN means unknown. CPU times are in µs per trace, sizes in
 * bytes per trace.
 */
export type Figures<Name extends string> = Readonly<Record<Name, number>>

export type LoadFigures = Figures<
  | 'tracesPerSecond'
  | 'requestsPerSecond'
  | 'bytesPerSecond'
  | 'p50'
  | 'p99'
  | 'nodeCpu'
  | 'mainThreadCpu'
  | 'postgresCpu'
  | 'senderCpu'
  | 'connections'
  | 'refused'
  | StorageFigure
>
export type CopyFigures = Figures<
  'tracesPerSecond' | 'parallelTracesPerSecond' | 'postgresCpu' | 'clientCpu' | StorageFigure
>
type StorageFigure = 'walBytes' | 'diskBytes' | 'indexBytesPerSpan'

/** Returns the median of each figure separately. */
export function medians<Name extends string>(runs: readonly Figures<Name>[]): Figures<Name> {
  const names = Object.keys(runs[0]!) as Name[]
  return Object.fromEntries(names.map(name => [name, median(runs.map(run => run[name]))])) as Figures<Name>
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length / 2
  return sorted.length % 2 === 1 ? sorted[Math.floor(middle)]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/**
 * Enough connections to keep both cores busy. 128 connections fill only the two batches of 64 that are in flight, so a
 * tenth of the CPU time is idle (a sixth with streams). With 256 connections, up to 15 % more whole traces and 18 %
 * more streamed traces are recorded per second.
 */
const CONNECTIONS = 256
const LARGE_CONNECTIONS = 16
/** Number of connections that copy at the same time, as many as the server uses for writing. */
const PARALLEL_COPIES = 2
/**
 * Time for V8 to compile. With typical traces, compilation takes a quarter of the server's CPU time in the first
 * 3 s, and little after 6 s.
 */
const WARM_UP_MS = 6_000
const COPY_WARM_UP_MS = 500

/** Starts a second server with its own database, embedded or on the PostgreSQL server at `url`. */
export type StartAnother = (url?: string) => Promise<Service>

export interface Bench {
  readonly service: Service
  readonly sender: Sender
  readonly options: Options
  readonly startAnother: StartAnother
  /** Returns the address of a PostgreSQL server that accepts TCP and TLS, which the first call starts. */
  startTcp(): Promise<string>
}

export interface LoadSettings {
  readonly connections?: number
  readonly rate?: number
  /** Share of the traces that are sent again. */
  readonly resends?: number
  /** Whether to keep the tables' rows instead of emptying the tables. */
  readonly keep?: boolean
  /** File of runs for the agent kinds. */
  readonly runs?: string
  /** Replaces WARM_UP_MS for a server that has already compiled its code. */
  readonly warmUpMs?: number
}

/** Sends a load to the server. */
export async function measureLoad(bench: Bench, kind: LoadKind, settings: LoadSettings = {}): Promise<LoadFigures> {
  const { service, sender, options } = bench
  const { sql, port, key } = service
  if (!settings.keep) await emptyTables(sql)
  await settle(sql)
  const before = await readStorage(sql)
  const cpu = watchCpu(service)
  const { rate, resends, runs } = settings
  const connections = settings.connections ?? connectionsFor(kind, options)
  const load = {
    port,
    key,
    kind,
    connections,
    firstNumber: await readFreeNumber(sql),
    warmUpMs: settings.warmUpMs ?? WARM_UP_MS,
    measureMs: options.seconds * 1_000
  }
  const plan = {
    ...load,
    ...(rate !== undefined && { rate }),
    ...(resends !== undefined && { resends }),
    ...(runs !== undefined && { runs })
  }
  const report = await sender.run(plan, cpu.window)
  const stored = subtractStorage(await readStorage(sql), before)
  if (!settings.keep) await checkTotals(sql)
  const { node, main, postgres } = cpu.used
  const { traces, seconds } = report
  return {
    tracesPerSecond: traces / seconds,
    requestsPerSecond: report.requests / seconds,
    bytesPerSecond: report.bodyBytes / seconds,
    p50: report.p50,
    p99: report.p99,
    nodeCpu: node / traces,
    mainThreadCpu: main / traces,
    postgresCpu: postgres / traces,
    senderCpu: report.cpuMicros / traces,
    connections,
    refused: countRefused(report),
    ...perTrace(stored)
  }
}

/** Records the bodies through the server, and reads back the rows to copy. */
export async function prepareRows({ service }: Bench, kind: BodyKind): Promise<KindRows> {
  await emptyTables(service.sql)
  return readCopyRows(kind, service.sql, async body => {
    const response = await fetch(`http://127.0.0.1:${service.port}/api/v1/traces`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.key}` },
      body
    })
    if (response.status !== 201) throw new Error(`a trace was refused: ${await response.text()}`)
    await response.arrayBuffer()
  })
}

/** Copies rows over one connection, to measure the limit, and then over several connections. */
export async function measureLimit(bench: Bench, rows: readonly CopyRows[]): Promise<CopyFigures> {
  const one = await measureCopyWith(bench, rows, 1)
  const several = await measureCopyWith(bench, rows, PARALLEL_COPIES)
  return { ...one, parallelTracesPerSecond: several.tracesPerSecond }
}

async function measureCopyWith(
  { service, options }: Bench,
  rows: readonly CopyRows[],
  connections: number
): Promise<Omit<CopyFigures, 'parallelTracesPerSecond'>> {
  const { sql, target, projectId } = service
  await emptyTables(sql)
  await settle(sql)
  const before = await readStorage(sql)
  const cpu = watchCpu(service)
  const firstNumber = await readFreeNumber(sql)
  const plan = { target, rows, projectId, firstNumber, connections }
  const duration = { warmUpMs: COPY_WARM_UP_MS, measureMs: options.seconds * 1_000 }
  const report = await measureCopy(plan, duration, cpu.window)
  const stored = subtractStorage(await readStorage(sql), before)
  await skipUsedNumbers(sql)
  await checkTotals(sql)
  return {
    tracesPerSecond: report.traces / report.seconds,
    postgresCpu: cpu.used.postgres / report.traces,
    clientCpu: report.cpuMicros / report.traces,
    ...perTrace(stored)
  }
}

/** Measures node:http with the same load, without recording anything. */
export async function measureBareServer(
  { sender, options }: Bench,
  kind: LoadKind,
  { connections = connectionsFor(kind, options), rate }: LoadSettings = {}
): Promise<LoadReport> {
  const server = fork(new URL('load/bare-server.js', import.meta.url))
  try {
    const [port] = await once(server, 'message')
    const duration = { warmUpMs: WARM_UP_MS, measureMs: options.seconds * 1_000 }
    const load = { port, key: 'none', kind, connections, firstNumber: 1, ...duration }
    return await sender.run(rate === undefined ? load : { ...load, rate })
  } finally {
    server.kill()
  }
}

const connectionsFor = (kind: LoadKind, { connections }: Options): number =>
  connections ?? (kind === 'large' || isAgent(kind) ? LARGE_CONNECTIONS : CONNECTIONS)

/** Reads the CPU times at the start and the end of the measured period. */
function watchCpu({ pid, postmasterPid }: Service): { readonly window: Window; readonly used: CpuTimes } {
  let opened: CpuTimes | undefined
  let closed: CpuTimes | undefined
  return {
    window: {
      opened() {
        opened = readCpuTimes(pid, postmasterPid)
      },
      closed() {
        closed = readCpuTimes(pid, postmasterPid)
      }
    },
    get used() {
      if (opened === undefined || closed === undefined) {
        return { node: Number.NaN, main: Number.NaN, postgres: Number.NaN }
      }
      return subtractTimes(closed, opened)
    }
  }
}

function perTrace({ traces, spans, walBytes, diskBytes, spanIndexBytes }: Storage): Figures<StorageFigure> {
  return {
    walBytes: walBytes / traces,
    diskBytes: diskBytes / traces,
    indexBytesPerSpan: spanIndexBytes / spans
  }
}

/** Returns the number of responses with a status other than 2xx. */
export function countRefused({ statuses }: Pick<LoadReport, 'statuses'>): number {
  return Object.entries(statuses).reduce((sum, [status, count]) => (status < '300' ? sum : sum + count), 0)
}
