/** Formats the results as Markdown to paste into the README. */
import { SHAPES } from './bodies/bodies.ts'
import type {
  BesideResult,
  LatencyResult,
  ResendsResult,
  SearchedResult,
  StoredResult,
  StreamingResult,
  TlsResult,
  WholeKind,
  WholeResult
} from './cases.ts'
import type { LoadKind } from './load/load.ts'
import type { GrowthCost, LongCost } from './long.ts'
import type { Machine } from './machine/machine.ts'
import type { ListCost } from './mcp.ts'
import type { LoadFigures } from './measure.ts'
import type { Options } from './options.ts'
import type { OtlpCost } from './otlp.ts'
import type { PeersResult } from './peers/peers.ts'
import { renderPeers } from './peers/report.ts'

export interface Results {
  readonly machine: Machine
  readonly options: Pick<Options, 'runs' | 'seconds'>
  readonly whole: Partial<Record<WholeKind, WholeResult>>
  readonly streaming?: StreamingResult
  readonly resends?: readonly ResendsResult[]
  readonly tls?: TlsResult
  readonly search?: SearchedResult
  readonly latency?: readonly LatencyResult[]
  readonly mcp?: ListCost
  readonly otlp?: OtlpCost
  readonly long?: LongCost
  readonly peers?: PeersResult
  readonly stored?: Partial<Record<LoadKind, StoredResult>>
  readonly beside?: BesideResult
}

/** Renders everything that was measured. */
export function renderReport(results: Results): string {
  const parts = [renderMachine(results), ...renderWhole(results), renderStreaming(results), renderResends(results)]
  parts.push(
    renderTls(results),
    renderSearched(results),
    renderLatency(results),
    renderListCost(results),
    renderOtlpCost(results),
    renderLongCost(results),
    results.peers === undefined ? '' : renderPeers(results.peers),
    renderStored(results),
    renderBeside(results),
    renderRefused(results)
  )
  return `${parts.filter(part => part !== '').join('\n\n')}\n`
}

function renderMachine({ machine, options }: Results): string {
  return `${describeMachine(machine)}; medians of ${options.runs} ${options.runs === 1 ? 'run' : 'runs'} of ${options.seconds} s.`
}

/** Returns the machine's description, without a full stop. */
export function describeMachine(machine: Machine): string {
  const memory = `${Math.round(machine.memoryBytes / 1024 ** 3)} GB`
  return [
    `${machine.processor}, ${machine.cores} cores, ${memory}, ${machine.system}. `,
    `Node ${machine.node}, PostgreSQL ${machine.postgres} (${machine.durability}; an fsync takes ${round(machine.fsyncMicros)} µs). `,
    'Load generator, server and database on this machine'
  ].join('')
}

function renderWhole({ whole }: Results): string[] {
  const kinds = (Object.keys(whole) as WholeKind[]).map(kind => ({ kind, ...whole[kind]! }))
  if (kinds.length === 0) return []
  return [
    table(
      [
        'traces',
        'traces/s',
        'MB/s',
        'p50 ms',
        'p99 ms',
        'COPY traces/s',
        'of COPY',
        'COPY on 2 connections',
        'of that',
        'bare node:http'
      ],
      kinds.map(({ kind, load, copy, ratio, bareServer }) => [
        describe(kind),
        round(load.tracesPerSecond),
        round(load.bytesPerSecond / 1e6),
        round(load.p50),
        round(load.p99),
        round(copy.tracesPerSecond),
        `**${ratio.toFixed(2)}**`,
        round(copy.parallelTracesPerSecond),
        (load.tracesPerSecond / copy.parallelTracesPerSecond).toFixed(2),
        round(bareServer)
      ])
    ),
    table(
      [
        'CPU, µs per trace',
        'node, all threads',
        'its main thread',
        'PostgreSQL',
        'load generator',
        'COPY: PostgreSQL',
        'COPY: client'
      ],
      kinds.map(({ kind, load, copy }) => [
        kind,
        ...[load.nodeCpu, load.mainThreadCpu, load.postgresCpu, load.senderCpu, copy.postgresCpu, copy.clientCpu].map(
          round
        )
      ])
    ),
    table(
      [
        'bytes per trace',
        'body',
        'on disk',
        'of the body',
        'WAL',
        'span indexes, per span',
        'COPY: on disk',
        'COPY: WAL'
      ],
      kinds.map(({ kind, load, copy }) => [
        kind,
        round(SHAPES[kind].bytes),
        round(load.diskBytes),
        (load.diskBytes / SHAPES[kind].bytes).toFixed(2),
        ...[load.walBytes, load.indexBytesPerSpan, copy.diskBytes, copy.walBytes].map(round)
      ])
    )
  ]
}

function renderStreaming({ streaming }: Results): string {
  if (streaming === undefined) return ''
  const { load, whole, ratio } = streaming
  return table(
    [
      'streamed typical traces',
      'traces/s',
      'requests/s',
      'p50 ms',
      'p99 ms',
      'sent whole, traces/s',
      'of whole',
      'node µs',
      'PostgreSQL µs'
    ],
    [
      [
        'start, 4 appends of 2 spans, end',
        ...[load.tracesPerSecond, load.requestsPerSecond, load.p50, load.p99, whole.tracesPerSecond].map(round),
        `**${ratio.toFixed(2)}**`,
        ...[load.nodeCpu, load.postgresCpu].map(round)
      ]
    ]
  )
}

function renderLatency({ latency }: Results): string {
  if (latency === undefined) return ''
  return table(
    [
      'at a fixed rate',
      'traces/s',
      'connections',
      'p50 ms',
      'p99 ms',
      'bare node:http: p50 ms',
      'p99 ms',
      'node µs',
      'PostgreSQL µs',
      'on disk',
      'of the body',
      'WAL'
    ],
    latency.map(({ kind, rate, load, bare }) => [
      load.connections === 1 ? `${kind}, one idle client` : `${kind}, half of the top rate`,
      ...[rate, load.connections, load.p50, load.p99, bare.p50, bare.p99, load.nodeCpu, load.postgresCpu].map(round),
      round(load.diskBytes),
      (load.diskBytes / SHAPES[kind].bytes).toFixed(2),
      round(load.walBytes)
    ])
  )
}

function renderTls({ tls: result }: Results): string {
  if (result === undefined) return ''
  const { tls, plain, ratio } = result
  return table(
    [
      'typical traces, with the database over TCP',
      'traces/s',
      'of without',
      'p99 ms',
      'node µs',
      'its main thread',
      'PostgreSQL µs'
    ],
    [beside('with TLS', tls, ratio), beside('without', plain, 1)]
  )
}

const beside = (name: string, load: LoadFigures, share: number) => [
  name,
  ...[load.tracesPerSecond].map(round),
  share.toFixed(2),
  ...[load.p99, load.nodeCpu, load.mainThreadCpu, load.postgresCpu].map(round)
]

function renderSearched({ search: result }: Results): string {
  if (result === undefined) return ''
  const { on, off, ratio, indexed, indexedLaterPerSecond } = result
  const searched = `searched; ${Math.round(indexed * 100)} % indexed meanwhile, the rest at ${round(indexedLaterPerSecond)} a second`
  return table(
    ['typical traces', 'traces/s', 'of not searched', 'p99 ms', 'node µs', 'its main thread', 'PostgreSQL µs'],
    [beside(searched, on, ratio), beside('not searched', off, 1)]
  )
}

function renderResends({ resends }: Results): string {
  if (resends === undefined) return ''
  return table(
    ['typical traces, resent unchanged', 'traces/s', 'of none', 'p99 ms', 'node µs', 'of none', 'PostgreSQL µs'],
    resends.map(({ share, load, cost, rate }) => [
      `${round(share * 100)} %`,
      round(load.tracesPerSecond),
      `**${rate.toFixed(2)}**`,
      ...[load.p99, load.nodeCpu].map(round),
      `**${cost.toFixed(2)}**`,
      round(load.postgresCpu)
    ])
  )
}

function renderListCost({ mcp }: Results): string {
  if (mcp === undefined) return ''
  const { get, call } = mcp
  const [getCpu, callCpu] = [get.node + get.postgres, call.node + call.postgres]
  return table(
    ['CPU of one page of 50 traces, µs', 'node', 'PostgreSQL', 'both', 'to the GET'],
    [
      ['GET /api/v1/traces', ...[get.node, get.postgres, getCpu].map(round), '1'],
      [
        'tools/call list_traces',
        ...[call.node, call.postgres, callCpu].map(round),
        `**${(callCpu / getCpu).toFixed(2)}**`
      ]
    ]
  )
}

function renderOtlpCost({ otlp }: Results): string {
  if (otlp === undefined) return ''
  const { recorded, exported, rates, spans, traces } = otlp
  const [recordedCpu, exportedCpu] = [recorded.node + recorded.postgres, exported.node + exported.postgres]
  const cpu = table(
    ['CPU of one span of a typical trace, µs', 'node', 'PostgreSQL', 'both', 'to the recording'],
    [
      ['POST /api/v1/traces', ...[recorded.node, recorded.postgres, recordedCpu].map(round), '1'],
      [
        `an OTLP export of ${spans} spans over ${traces} traces`,
        ...[exported.node, exported.postgres, exportedCpu].map(round),
        `**${(exportedCpu / recordedCpu).toFixed(2)}**`
      ]
    ]
  )
  const speed = table(
    ['typical traces/s, requests under way', 'one by one', 'by exports', 'of one by one'],
    rates.map(({ connections, recorded, exported }) => [
      ...[String(connections), round(recorded), round(exported)],
      `**${(exported / recorded).toFixed(2)}**`
    ])
  )
  return `${cpu}\n${speed}`
}

function renderLongCost({ long }: Results): string {
  if (long === undefined) return ''
  const { short, long: other, spansAdded } = long
  const row = ({ spans, node, postgres, walBytes }: GrowthCost) => [
    `a trace of ${round(spans)} spans`,
    ...[node, postgres, walBytes].map(round)
  ]
  const ratios = (['node', 'postgres', 'walBytes'] as const).map(
    name => `**${(other[name] / short[name]).toFixed(2)}**`
  )
  return table(
    [`an export that adds ${spansAdded} spans to`, 'node µs', 'PostgreSQL µs', 'WAL bytes'],
    [row(short), row(other), ['the long trace, relative to the short one', ...ratios]]
  )
}

function renderStored({ stored }: Results): string {
  if (stored === undefined) return ''
  return table(
    ['with traces stored', 'spans stored', 'traces/s', 'of empty tables', 'p99 ms', 'PostgreSQL µs', 'WAL bytes'],
    Object.entries(stored).map(([kind, { spans, load, ratio }]) => [
      kind,
      round(spans),
      round(load.tracesPerSecond),
      `**${ratio.toFixed(2)}**`,
      ...[load.p99, load.postgresCpu, load.walBytes].map(round)
    ])
  )
}

function renderBeside({ beside }: Results): string {
  if (beside === undefined) return ''
  const { kinds, settings } = beside
  const figures = table(
    [
      'embedded PostgreSQL and another',
      'traces/s',
      'other',
      'to it',
      'PostgreSQL µs',
      'other',
      'to it',
      'WAL',
      'other'
    ],
    kinds.map(({ kind, embedded, other, rate, cost }) => [
      kind,
      ...[embedded.tracesPerSecond, other.tracesPerSecond].map(round),
      `**${rate.toFixed(2)}**`,
      ...[embedded.postgresCpu, other.postgresCpu].map(round),
      Number.isNaN(cost) ? '–' : `**${cost.toFixed(2)}**`,
      ...[embedded.walBytes, other.walBytes].map(round)
    ])
  )
  const rows = Object.entries(settings).map(([name, [embedded, other]]) => [name, embedded, other])
  return rows.length === 0 ? figures : `${figures}\n\n${table(['setting', 'embedded', 'other'], rows)}`
}

/** Figures that include rejected requests are not comparable. */
function renderRefused({ whole, streaming, resends, stored, beside }: Results): string {
  const results = [...Object.values(whole), streaming, ...(resends ?? []), ...Object.values(stored ?? {})]
  const besides = beside?.kinds.flatMap(({ embedded, other }) => [embedded, other]) ?? []
  const loads = [...results.map(result => result?.load), ...besides]
  return loads.some(load => (load?.refused ?? 0) > 0)
    ? '**Some requests were refused: these figures are no measurement.**'
    : ''
}

function describe(kind: WholeKind): string {
  const { spans, bytes } = SHAPES[kind]
  const size = bytes < 1e4 ? `${bytes / 1e3} kB` : bytes < 1e6 ? `${round(bytes / 1e3)} kB` : `${bytes / 1e6} MB`
  return `${kind}: ${spans} ${spans === 1 ? 'span' : 'spans'}, ${size}`
}

/** Formats a number with three significant digits and separated thousands; a dash if unknown. */
export function round(value: number): string {
  if (Number.isNaN(value)) return '–'
  const rounded = Number(value.toPrecision(value < 1e3 ? 3 : 4))
  return rounded.toLocaleString('en-US', { maximumFractionDigits: value < 10 ? 2 : value < 100 ? 1 : 0 })
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), `|---|${'---:|'.repeat(head.length - 1)}`, ...rows.map(line)].join('\n')
}
