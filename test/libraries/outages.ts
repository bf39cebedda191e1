/**
 * Tests senders in Go: OpenTelemetry's exporter, and the Collector over HTTP and over gRPC. While the Collector sends,
 * spoor is stopped, and later killed. Afterwards, every span must be stored exactly once. The exporter alone is tested
 * without outages. It would lose spans in an outage, because it retries only after a response that asks it to.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { until } from '../fixtures/until.ts'
import { buildProgram, moduleVersion, type Running, startProgram } from './golang.ts'
import { readAllTraces } from './send.ts'
import { freePorts, type Spoor } from './spoor.ts'

const RUNS = 800
/** The sender records each run as a trace with a root, a model call, and a tool call that fails. */
const RUN = { spanCount: 3, errorCount: 1, model: 'gpt-4o-mini', provider: 'openai' }
const AWAY_MS = 3_000
/** Maximum time until all traces are stored. */
const DRAIN_MS = 60_000

export interface Outage {
  readonly name: string
  readonly library: string
  readonly version: () => string
  /** The Collector's exporter; undefined if the sender sends to spoor directly. */
  readonly collector?: 'otlphttp' | 'otlp'
}

const collectorVersion = () => moduleVersion('collector', 'go.opentelemetry.io/collector/otelcol')

export const outages: readonly Outage[] = [
  {
    name: 'go-exporter',
    library: 'Go: the exporter over HTTP, with gzip',
    version: () => moduleVersion('sender', 'go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp')
  },
  {
    name: 'collector-http',
    library: 'OpenTelemetry Collector, over HTTP with gzip',
    version: collectorVersion,
    collector: 'otlphttp'
  },
  {
    name: 'collector-grpc',
    library: 'OpenTelemetry Collector, over gRPC',
    version: collectorVersion,
    collector: 'otlp'
  }
]

export interface OutageResult {
  readonly runs: number
  /** The faults: runs that are missing, incomplete, or stored without having been sent. */
  readonly wrong: readonly string[]
}

export async function sendThroughOutage({ name, collector }: Outage, spoor: Spoor): Promise<OutageResult> {
  const sender = buildProgram('sender')
  const key = await spoor.makeKey(name)
  const folder = await mkdtemp(join(tmpdir(), 'spoor-collector-'))
  try {
    const between = collector && (await startCollector(collector, spoor, key, folder))
    const sending = startProgram(sender, [String(RUNS)], {
      OTEL_EXPORTER_OTLP_ENDPOINT: between?.url ?? `${spoor.url}/api/v1/otlp`,
      OTEL_EXPORTER_OTLP_HEADERS: `Authorization=Bearer%20${key}`
    })
    for (const signal of collector === undefined ? [] : (['SIGTERM', 'SIGKILL'] as const)) {
      await delay(AWAY_MS)
      await spoor.pause(signal)
      await delay(AWAY_MS)
      await spoor.resume()
    }
    const code = await sending.closed
    if (code !== 0) throw new Error(`the sender ended with ${code}: ${sending.err}`)
    const sent = new Set(sending.out.trim().split('\n'))
    await until(async () => (await readAllTraces(spoor.url, key)).filter(isWhole).length >= sent.size, DRAIN_MS).catch(
      () => {}
    )
    // When the Collector stops, it sends the rest of its batch.
    await between?.running.stop()
    const wrong = compare(sent, await readAllTraces(spoor.url, key))
    if (wrong.length > 0) console.error(`${sending.err}${between?.running.err ?? ''}`.slice(-2_000))
    return { runs: sent.size, wrong }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

interface Stored {
  readonly id: string
  readonly status: string
  readonly spanCount: number
  readonly errorCount: number
  readonly model: string | null
  readonly provider: string | null
}

const isWhole = (trace: Stored): boolean =>
  trace.status !== 'running' && Object.entries(RUN).every(([field, value]) => trace[field as keyof Stored] === value)

function compare(sent: ReadonlySet<string>, stored: readonly Stored[]): string[] {
  const known = new Set(stored.map(({ id }) => id))
  return [
    ...[...sent].filter(id => !known.has(id)).map(id => `${id} is missing`),
    ...stored.filter(({ id }) => !sent.has(id)).map(({ id }) => `${id} was never sent`),
    ...stored.filter(trace => !isWhole(trace)).map(({ id, spanCount }) => `${id} has ${spanCount} spans`),
    ...(known.size === stored.length ? [] : ['a trace is listed twice'])
  ]
}

/** Starts the Collector as in the guide. Its queue holds the spans during an outage. */
async function startCollector(exporter: 'otlphttp' | 'otlp', spoor: Spoor, key: string, folder: string) {
  const [port] = await freePorts()
  const endpoint = exporter === 'otlp' ? spoor.grpcUrl : `${spoor.url}/api/v1/otlp`
  const config = `
receivers:
  otlp:
    protocols:
      http:
        endpoint: 127.0.0.1:${port}
processors:
  batch:
    timeout: 200ms
    send_batch_max_size: 512
    send_batch_size: 64
exporters:
  ${exporter}/spoor:
    endpoint: ${endpoint}
    headers:
      Authorization: Bearer \${env:SPOOR_KEY}
    retry_on_failure:
      initial_interval: 200ms
      max_interval: 1s
    ${exporter === 'otlp' ? 'tls: { insecure: true }' : 'compression: gzip'}
service:
  telemetry:
    metrics:
      level: none
  pipelines:
    traces:
      receivers: [otlp]
      processors: [batch]
      exporters: [${exporter}/spoor]
`
  const path = join(folder, 'collector.yaml')
  await writeFile(path, config)
  const running = startProgram(buildProgram('collector'), ['--config', `file:${path}`], { SPOOR_KEY: key })
  await Promise.race([
    until(() => running.err.includes('Everything is ready')),
    running.closed.then(code => {
      throw new Error(`the Collector ended with ${code}: ${running.err}`)
    })
  ])
  return { url: `http://127.0.0.1:${port}`, running: running as Running }
}
