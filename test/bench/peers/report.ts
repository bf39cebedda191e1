/** Formats the comparison with other programs as Markdown. */
import { round, table } from '../report.ts'
import type { PeerKind, PeerKindResult, PeerResult, PeerRuns, PeersResult } from './peers.ts'

const TITLES: Readonly<Record<PeerKind, string>> = {
  'otlp-protobuf': 'typical traces',
  'agent-otlp-whole': 'runs of agents'
}
const HEAD = [
  'traces/s',
  'MB/s',
  'p50 ms',
  'p99 ms',
  'acknowledged',
  'refused',
  'readable at once',
  'in the end',
  'after s',
  'server µs',
  'PostgreSQL µs',
  'disk bytes',
  'cores of the other'
]

export function renderPeers({ peers, skipped }: PeersResult): string {
  return [...peers.map(renderPeer), ...skipped].join('\n\n')
}

function renderPeer(peer: PeerResult): string {
  const { name, version, settings, commands, kinds } = peer
  const tables = kinds.map(kind => renderKind(name, kind))
  const about = [`${name}: version ${version}.`, ...settings].join(' ')
  return [...tables, about, ['```sh', ...commands, '```'].join('\n')].join('\n\n')
}

function renderKind(name: string, { kind, connections, own, peer, ratio }: PeerKindResult): string {
  return table(
    [`${TITLES[kind]} by OTLP, ${connections} connections`, ...HEAD],
    [row('spoor', own), row(name, peer), [`spoor to ${name}`, `**${finite(ratio)}**`, ...HEAD.slice(1).map(() => '')]]
  )
}

/** Formats a figure that is infinite if no trace was acknowledged in the measured period. */
const finite = (value: number) => round(Number.isFinite(value) ? value : Number.NaN)
const percent = (share: number) => (Number.isNaN(share) ? '–' : `${round(share * 100)} %`)

function row(name: string, { figures, refused, acknowledged }: PeerRuns): string[] {
  const { tracesPerSecond, bytesPerSecond, p50, p99, serverCpu, postgresCpu, diskBytes, idleCores } = figures
  return [
    name,
    ...[tracesPerSecond, bytesPerSecond / 1e6, p50, p99, acknowledged, refused].map(round),
    ...[figures.readableAtOnce, figures.readable].map(percent),
    Number.isFinite(figures.secondsToReadable) ? round(figures.secondsToReadable) : 'never',
    ...[serverCpu, postgresCpu, diskBytes, idleCores].map(finite)
  ]
}
