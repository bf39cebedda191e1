/**
 * The metrics of the running service, for Prometheus. Labels are routes, codes and statuses only. Nothing that a
 * client sends becomes a label, so that clients cannot add time series.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

/** The requests that the write path has admitted and not yet answered. */
export interface PendingWrites {
  readonly requests: number
  readonly bytes: number
}

export class Metrics {
  readonly #registry = new Registry()
  readonly #requests: Counter<'route' | 'status'>
  readonly #duration: Histogram<'route'>
  readonly #refusals: Counter<'code'>
  readonly #logRecords: Counter<'kind'>
  readonly #batches: Histogram
  readonly #commits: Histogram

  constructor() {
    const registers = [this.#registry]
    collectDefaultMetrics({ register: this.#registry })
    this.#requests = new Counter({
      name: 'spoor_http_requests_total',
      help: 'Requests answered, by route and status.',
      labelNames: ['route', 'status'],
      registers
    })
    this.#duration = new Histogram({
      name: 'spoor_http_request_duration_seconds',
      help: 'Time from a request’s headers to its answer, by route.',
      labelNames: ['route'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
      registers
    })
    this.#refusals = new Counter({
      name: 'spoor_refusals_total',
      help: 'Requests refused, by error code.',
      labelNames: ['code'],
      registers
    })
    this.#logRecords = new Counter({
      name: 'spoor_log_records_total',
      help: 'Log records that came in OTLP, none of which is stored: with messages of model calls, and others.',
      labelNames: ['kind'],
      registers
    })
    this.#batches = new Histogram({
      name: 'spoor_batch_operations',
      help: 'Operations written by one statement.',
      buckets: [1, 2, 4, 8, 16, 32, 64, 128],
      registers
    })
    this.#commits = new Histogram({
      name: 'spoor_batch_duration_seconds',
      help: 'Time of one batch: looking, deciding, writing and committing.',
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30],
      registers
    })
  }

  /** `route` is the operation's name, or the path of a route without one. */
  countRequest(route: string, status: number, milliseconds: number): void {
    this.#requests.inc({ route, status })
    this.#duration.observe({ route }, milliseconds / 1000)
  }

  countRefusal(code: string): void {
    this.#refusals.inc({ code })
  }

  countLogRecords(messages: number, others: number): void {
    this.#logRecords.inc({ kind: 'messages' }, messages)
    this.#logRecords.inc({ kind: 'others' }, others)
  }

  countBatch(operations: number, milliseconds: number): void {
    this.#batches.observe(operations)
    this.#commits.observe(milliseconds / 1000)
  }

  /** Adds the metrics of pending writes, which are read whenever the metrics are. */
  watchPending(read: () => PendingWrites): void {
    this.watch('spoor_pending_writes', 'Writes admitted and not yet answered.', () => read().requests)
    this.watch('spoor_pending_write_bytes', 'Bytes of their bodies.', () => read().bytes)
  }

  /** Adds a number that is read whenever the metrics are. `read` gives undefined if the number is not known then. */
  watch(name: string, help: string, read: () => number | undefined | Promise<number | undefined>): void {
    new Gauge({
      name,
      help,
      registers: [this.#registry],
      async collect() {
        const value = await read()
        if (value === undefined) this.reset()
        else this.set(value)
      }
    })
  }

  /** The media type and the text of the exposition. */
  async render(): Promise<{ type: string; text: string }> {
    return { type: this.#registry.contentType, text: await this.#registry.metrics() }
  }
}
