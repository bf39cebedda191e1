/**
 * Compares this service with other programs that receive OTLP. Each peer runs alone beside the service, and the two
 * take turns.
 */
import type { LoadKind } from '../load/load.ts'
import { readCpuTimes } from '../machine/cpu.ts'
import { Undo } from '../machine/undo.ts'
import { type Bench, countRefused, type Figures, median, medians } from '../measure.ts'
import type { Options } from '../options.ts'
import type { Progress } from '../progress.ts'
import { startJaeger } from './jaeger.ts'
import { type PeerPlace, startMlflow } from './mlflow.ts'
import { type OtlpServer, ownServer, type Peer } from './otlp-server.ts'
import { Unavailable } from './programs.ts'
import { type Patience, readBack } from './read-back.ts'

export type PeerKind = 'otlp-protobuf' | 'agent-otlp-whole'

/** CPU times are in µs per trace, disk space in bytes per trace. */
export type PeerFigures = Figures<
  | 'tracesPerSecond'
  | 'bytesPerSecond'
  | 'p50'
  | 'p99'
  | 'serverCpu'
  | 'postgresCpu'
  | 'diskBytes'
  | 'readableAtOnce'
  | 'readable'
  | 'secondsToReadable'
  | 'idleCores'
>

export interface PeerRuns {
  /** Medians. */
  readonly figures: PeerFigures
  /** Number of exports in all runs that were rejected, in whole or in part. */
  readonly refused: number
  readonly acknowledged: number
}

export interface PeerKindResult {
  readonly kind: PeerKind
  readonly connections: number
  readonly own: PeerRuns
  readonly peer: PeerRuns
  /** Median of this service's traces per second, divided by the peer's in the next turn. */
  readonly ratio: number
}

export interface PeerResult extends Pick<Peer, 'name' | 'version' | 'settings' | 'commands'> {
  readonly kinds: readonly PeerKindResult[]
}

export interface PeersResult {
  readonly peers: readonly PeerResult[]
  /** A sentence for each peer that could not be measured. */
  readonly skipped: readonly string[]
}

const KINDS: readonly PeerKind[] = ['otlp-protobuf', 'agent-otlp-whole']
const CONNECTIONS: Readonly<Record<PeerKind, number>> = { 'otlp-protobuf': 64, 'agent-otlp-whole': 16 }
/** The first load on a server: workers import and compile their code. */
const FIRST_WARM_UP_MS = 10_000
const WARM_UP_MS = 3_000
/** Number of the latest traces that are read back, and of traces drawn from all. */
const READ_BACK = 100
const PATIENCE: Patience = { timeoutMs: 30_000, pauseMs: 100 }

interface PeerStart {
  readonly name: string
  readonly hint: string
  start(place: PeerPlace, undo: Undo): Promise<Peer>
}

/** Returns the peers in the order in which they are measured. */
function peersOf({ mlflow, jaeger }: Options): readonly (PeerStart & { readonly program: string | undefined })[] {
  const builtJaeger = 'build cmd/jaeger of Jaeger 2 and pass it as --jaeger PATH'
  return [
    {
      ...{ name: 'MLflow', program: mlflow, start: startMlflow },
      hint: '`pip install mlflow psycopg2-binary` in an environment of its own and pass its program as --mlflow PATH'
    },
    {
      ...{ name: 'Jaeger', program: jaeger, hint: builtJaeger },
      start: (place, undo) => startJaeger('batched', place, undo)
    },
    {
      ...{ name: 'Jaeger, synced', program: jaeger, hint: builtJaeger },
      start: (place, undo) => startJaeger('synced', place, undo)
    }
  ]
}

/** Measures each peer that is available. `undo` stops and removes everything, even if this function rejects. */
export async function measurePeers(bench: Bench, progress: Progress, undo: Undo): Promise<PeersResult> {
  const { options, service } = bench
  const peers: PeerResult[] = []
  const skipped: string[] = []
  for (const { name, program, hint, start } of peersOf(options)) {
    progress.step = `${name}: installing and starting`
    const own = new Undo()
    undo.add(() => own.run())
    const place = { program, cache: options.cache, folder: service.folder, startDatabase: bench.startTcp }
    try {
      const peer = await start(place, own)
      const { version, settings, commands } = peer
      peers.push({ name, version, settings, commands, kinds: await measurePeer(bench, peer, progress) })
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
      skipped.push(describeSkipped(name, error.message, hint))
    } finally {
      await own.run()
    }
  }
  return { peers, skipped }
}

/** Returns the sentence that a report has in place of a peer's figures. */
export const describeSkipped = (name: string, reason: string, hint: string): string =>
  `${name} was skipped, because ${reason}; to measure it, ${hint}.`

async function measurePeer(bench: Bench, peer: Peer, progress: Progress): Promise<PeerKindResult[]> {
  const own = ownServer(bench.service)
  const results: PeerKindResult[] = []
  for (const kind of KINDS) {
    const connections = bench.options.connections ?? CONNECTIONS[kind]
    const turns = { own: [] as Turn[], peer: [] as Turn[] }
    for (const [server, idle] of pairOf(own, peer)) {
      progress.step = `${kind}: warming up ${server.name}`
      await measureTurn(bench, { server, idle, kind, connections, warmUpMs: FIRST_WARM_UP_MS })
    }
    for (let run = 1; run <= bench.options.runs; run++) {
      for (const [server, idle] of pairOf(own, peer)) {
        progress.step = `${kind}: ${server.name}, run ${run} of ${bench.options.runs}`
        const turn = await measureTurn(bench, { server, idle, kind, connections, warmUpMs: WARM_UP_MS })
        turns[server === own ? 'own' : 'peer'].push(turn)
      }
    }
    const rates = turns.own.map((turn, i) => turn.figures.tracesPerSecond / turns.peer[i]!.figures.tracesPerSecond)
    results.push({ kind, connections, own: sumUp(turns.own), peer: sumUp(turns.peer), ratio: median(rates) })
  }
  return results
}

const pairOf = (own: OtlpServer, peer: OtlpServer) =>
  [
    [own, peer],
    [peer, own]
  ] as const

/** One turn of one server. */
export interface Turn {
  readonly figures: PeerFigures
  readonly refused: number
  readonly acknowledged: number
}

/** Combines the turns of a server: medians of the figures, and sums of the counts. */
export function sumUp(turns: readonly Turn[]): PeerRuns {
  const sum = (name: 'refused' | 'acknowledged') => turns.reduce((total, turn) => total + turn[name], 0)
  return {
    figures: medians(turns.map(({ figures }) => figures)),
    refused: sum('refused'),
    acknowledged: sum('acknowledged')
  }
}

interface TurnPlan {
  readonly server: OtlpServer
  /** The other server, whose CPU time is read too. */
  readonly idle: OtlpServer
  readonly kind: LoadKind
  readonly connections: number
  readonly warmUpMs: number
}

async function measureTurn(bench: Bench, plan: TurnPlan): Promise<Turn> {
  const { server, idle, kind, connections, warmUpMs } = plan
  const before = await server.readDiskBytes()
  const watches = [watchCpu(server), watchCpu(idle)] as const
  const [busy, waiting] = watches
  const report = await bench.sender.run(
    {
      ...{ port: server.port, key: '', endpoint: server.endpoint, kind, connections, firstNumber: 1 },
      ...{ keep: READ_BACK, warmUpMs, measureMs: bench.options.seconds * 1_000 }
    },
    {
      opened() {
        for (const watch of watches) watch.start()
      },
      closed() {
        for (const watch of watches) watch.end()
      }
    }
  )
  const last = await readBack(report.last, server.readSpans, PATIENCE)
  const sample = await readBack(report.sample, server.readSpans, PATIENCE)
  const diskBytes = (await server.readDiskBytes()) - before
  const { traces, seconds } = report
  return {
    figures: {
      tracesPerSecond: traces / seconds,
      bytesPerSecond: report.bodyBytes / seconds,
      p50: report.p50,
      p99: report.p99,
      serverCpu: busy.used.server / traces,
      postgresCpu: busy.used.postgres / traces,
      diskBytes: diskBytes / report.accepted,
      readableAtOnce: last.atOnce,
      readable: Math.min(last.finally, sample.finally),
      secondsToReadable: last.seconds,
      idleCores: (waiting.used.server + (waiting.used.postgres || 0)) / seconds / 1e6
    },
    refused: countRefused(report) + report.partial,
    acknowledged: report.accepted
  }
}

interface CpuWatch {
  start(): void
  end(): void
  readonly used: { readonly server: number; readonly postgres: number }
}

function watchCpu({ pid, postmasterPid }: OtlpServer): CpuWatch {
  const read = () => readCpuTimes(pid, postmasterPid) ?? { node: Number.NaN, postgres: Number.NaN }
  let first = read()
  let last = first
  return {
    start() {
      first = read()
    },
    end() {
      last = read()
    },
    get used() {
      return { server: last.node - first.node, postgres: last.postgres - first.postgres }
    }
  }
}
