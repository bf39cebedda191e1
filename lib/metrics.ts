/**
 * Exports the service's metrics for Prometheus. Labels are routes, codes and statuses. Strings from clients never
 * become labels, so that clients cannot add time series. METRICS_PROJECTS=on adds counts per project id: two series,
 * plus one per refusal code, for each project that has sent a request. Several processes (PROCESSES) report as one:
 * counters and histograms are summed, and each gauge's help says how its values are combined.
 */
import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { VERSION } from './version.ts'

/** Requests that the write path has admitted but not yet answered. */
export interface PendingWrites {
  readonly requests: number
  readonly bytes: number
}

/** One process's metrics, as sent to another process. */
export type Snapshot = Awaited<ReturnType<Registry['getMetricsAsJSON']>>

/** Ways to combine a gauge's values from several processes: the sum, the greatest or the least value. */
type Across = 'sum' | 'max' | 'min'
const ACROSS: Readonly<Record<Across, string>> = { sum: 'the sum', max: 'the maximum', min: 'the minimum' }

/** Gauges of prom-client that promtool rejects because their names end in `_total`, like the names of counters. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total']

/** Ways in which traces and spans arrive. */
export type Way = 'native' | 'otlp' | 'import'

/**
 * Kinds of counted log records. `left_out` counts messages whose span did not arrive in time. These messages are also
 * counted in `messages`.
 */
type LogRecordKind = 'messages' | 'events' | 'unplaced' | 'left_out' | 'others'

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1]

/**
 * Interval at which the event loop's delay is sampled. Each sample wakes the process. At prom-client's default of 10
 * ms, nearly all wakeups of an idle server were samples. The reported delays include the interval.
 */
const LAG_SAMPLE_MS = 50

export class Metrics {
  readonly #registry = new Registry()
  readonly #requests = this.#counter(
    'spoor_http_requests_total',
    'Requests, by route and response status.',
    'route',
    'status'
  )
  readonly #duration = new Histogram({
    name: 'spoor_http_request_duration_seconds',
    help: 'Time from a request’s headers to its response, by route.',
    labelNames: ['route'],
    buckets: [...SECONDS, 2.5, 10],
    registers: [this.#registry]
  })
  readonly #refusals = this.#counter('spoor_refusals_total', 'Rejected requests, by error code.', 'code')
  readonly #traces = this.#counter(
    'spoor_traces_recorded_total',
    'New traces stored, by source: native (the API and its tools), otlp, import.',
    'way'
  )
  readonly #spans = this.#counter('spoor_spans_recorded_total', 'New spans stored, by source.', 'way')
  readonly #idle = this.#counter(
    'spoor_idle_completed_total',
    'OpenTelemetry traces completed because they had received no spans for a while.'
  )
  readonly #refusedSpans = this.#counter(
    'spoor_refused_spans_total',
    'Spans in OTLP exports that were not stored, by reason. Those with too_many still contribute usage and cost.',
    'reason'
  )
  readonly #unpriced = this.#counter(
    'spoor_unpriced_calls_total',
    'OTLP model calls with tokens but no known cost, because their model has no price.'
  )
  readonly #logRecords = this.#counter(
    'spoor_log_records_total',
    'OTLP log records, by kind: call messages, span events, unplaced and left_out messages, and others.',
    'kind'
  )
  readonly #batches = new Histogram({
    name: 'spoor_batch_operations',
    help: 'Operations per written batch.',
    buckets: [1, 2, 4, 8, 16, 32, 64, 128],
    registers: [this.#registry]
  })
  readonly #commits = new Histogram({
    name: 'spoor_batch_duration_seconds',
    help: 'Time per batch: reading states, deciding, writing and committing.',
    buckets: [...SECONDS, 5, 30],
    registers: [this.#registry]
  })
  readonly #projects
  #others: (() => Promise<readonly Snapshot[]>) | undefined

  constructor({ projects = false }: { readonly projects?: boolean } = {}) {
    collectDefaultMetrics({ register: this.#registry, eventLoopMonitoringPrecision: LAG_SAMPLE_MS })
    for (const name of MISNAMED) this.#registry.removeSingleMetric(name)
    for (const way of ['native', 'otlp', 'import'] satisfies Way[]) {
      this.#traces.inc({ way }, 0)
      this.#spans.inc({ way }, 0)
    }
    new Gauge({
      name: 'spoor_build_info',
      help: 'Always 1; the labels are the versions.',
      labelNames: ['version', 'node'],
      aggregator: 'max',
      registers: [this.#registry]
    }).set({ version: VERSION, node: process.version }, 1)
    this.#projects = projects
      ? {
          requests: this.#counter('spoor_project_requests_total', 'Requests, by project id.', 'project'),
          bytes: this.#counter(
            'spoor_project_answer_bytes_total',
            'Bytes in response bodies, by project id.',
            'project'
          ),
          refusals: this.#counter(
            'spoor_project_refusals_total',
            'Rejected requests, by project id and error code.',
            'project',
            'code'
          )
        }
      : undefined
  }

  #counter<L extends string = never>(name: string, help: string, ...labelNames: L[]): Counter<L> {
    return new Counter({ name, help, labelNames, registers: [this.#registry] })
  }

  /** The `route` label is the operation's name, or the path if the route has no operation. */
  countRequest(route: string, status: number, milliseconds: number): void {
    this.#requests.inc({ route, status })
    this.#duration.observe({ route }, milliseconds / 1000)
  }

  /** Counts a project's request whose response had `bytesOut` bytes. */
  countProject(project: number | undefined, bytesOut: number): void {
    if (this.#projects === undefined || project === undefined) return
    this.#projects.requests.inc({ project })
    this.#projects.bytes.inc({ project }, bytesOut)
  }

  countRefusal(code: string, project?: number): void {
    this.#refusals.inc({ code })
    if (project !== undefined) this.#projects?.refusals.inc({ project, code })
  }

  countRefusedSpans(reason: string, count: number): void {
    this.#refusedSpans.inc({ reason }, count)
  }

  countUnpriced(calls: number): void {
    this.#unpriced.inc(calls)
  }

  countRecorded(way: Way, traces: number, spans: number): void {
    if (traces > 0) this.#traces.inc({ way }, traces)
    if (spans > 0) this.#spans.inc({ way }, spans)
  }

  countIdle(traces: number): void {
    this.#idle.inc(traces)
  }

  countLogRecords(records: Readonly<Partial<Record<LogRecordKind, number>>>): void {
    for (const [kind, count] of Object.entries(records)) this.#logRecords.inc({ kind }, count)
  }

  countBatch(operations: number, milliseconds: number): void {
    this.#batches.observe(operations)
    this.#commits.observe(milliseconds / 1000)
  }

  /** Adds metrics of pending writes, whose values are read at every collection. */
  watchPending(read: () => PendingWrites): void {
    this.watch('spoor_pending_writes', 'Writes accepted but not yet acknowledged.', () => read().requests)
    this.watch('spoor_pending_write_bytes', 'Bytes in the bodies of these writes.', () => read().bytes)
  }

  /**
   * Adds a gauge whose value is read at every collection. If the `read` callback returns undefined, the value is
   * unknown and the gauge is omitted, because 0 would be wrong.
   */
  watch(
    name: string,
    help: string,
    read: () => number | undefined | Promise<number | undefined>,
    across: Across = 'sum'
  ): void {
    new Gauge({
      name,
      help: `${help} With several processes, ${ACROSS[across]}.`,
      aggregator: across,
      registers: [this.#registry],
      async collect() {
        const value = await read()
        if (value === undefined) this.remove()
        else this.set(value)
      }
    })
  }

  /** Returns this process's own metrics. */
  snapshot(): Promise<Snapshot> {
    return this.#registry.getMetricsAsJSON()
  }

  /**
   * Makes the export combine the metrics of all processes. The `read` callback returns the snapshots of the processes.
   */
  showAll(read: () => Promise<readonly Snapshot[]>): void {
    this.#others = read
  }

  async render(): Promise<{ type: string; text: string }> {
    const { contentType: type } = this.#registry
    if (this.#others === undefined) return { type, text: await this.#registry.metrics() }
    const all = AggregatorRegistry.aggregate([...(await this.#others())])
    return { type, text: await all.metrics() }
  }
}

/**
 * Adds the counts of a process that has ended to the counts of processes that ended earlier, so that no counter
 * decreases.
 */
export async function keepCounts(ended: Snapshot, others: Snapshot): Promise<Snapshot> {
  const counts = ended.filter(({ type }) => COUNTS.includes(String(type)))
  return AggregatorRegistry.aggregate([counts, others]).getMetricsAsJSON()
}

const COUNTS = ['counter', 'histogram']
