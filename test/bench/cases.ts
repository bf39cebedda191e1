/**
 * The order of the measurements, run by run. Measurements that are compared take turns, so that a slow minute affects
 * all of them.
 */
import { statfs } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { SHAPES } from './bodies/bodies.ts'
import { fillByCopy } from './copy/copy-limit.ts'
import { rowsUnderLoad } from './copy/copy-rows.ts'
import { cutRankings, readFreeNumber, settle, skipUsedNumbers } from './copy/tables.ts'
import type { LoadKind, LoadReport } from './load/load.ts'
import { type LongCost, measureLongCost } from './long.ts'
import { readCpuTimes } from './machine/cpu.ts'
import { compareSettings } from './machine/machine.ts'
import { type ListCost, measureListCost } from './mcp.ts'
import {
  type Bench,
  type CopyFigures,
  type LoadFigures,
  measureBareServer,
  measureLimit,
  measureLoad,
  median,
  medians,
  prepareRows
} from './measure.ts'
import { UsageError } from './options.ts'
import { measureOtlpCost, type OtlpCost } from './otlp.ts'
import type { Progress } from './progress.ts'

export type WholeKind = 'small' | 'typical' | 'large'

export interface WholeResult {
  readonly load: LoadFigures
  readonly copy: CopyFigures
  /** Traces per second, divided by COPY's in the same run. */
  readonly ratio: number
  /** Traces per second of the bare HTTP server. */
  readonly bareServer: number
}

export interface StreamingResult {
  readonly load: LoadFigures
  /** Figures of the same traces, each sent in one request. */
  readonly whole: LoadFigures
  readonly ratio: number
}

/** Loads in which a share of the traces is sent again, in the order of RESENDS. */
export interface ResendsResult {
  readonly share: number
  readonly load: LoadFigures
  /** Node's CPU time per trace, divided by that of a load without resends in the same run. */
  readonly cost: number
  /** Traces per second, divided by those of a load without resends in the same run. */
  readonly rate: number
}

/** Typical traces, recorded with and without TLS on the connection to the database, in turns. */
export interface TlsResult {
  readonly tls: LoadFigures
  readonly plain: LoadFigures
  /** Traces per second with TLS, divided by those without TLS. */
  readonly ratio: number
}

/** Typical traces of a project with full-text search and of a project without it, each on its own server, in turns. */
export interface SearchedResult {
  readonly on: LoadFigures
  readonly off: LoadFigures
  /** Traces per second of the project with search, divided by those of the other project. */
  readonly ratio: number
  /** Share of the recorded writes that was indexed during the load. */
  readonly indexed: number
  /** Number of writes indexed per second after the load, among the writes that remained. */
  readonly indexedLaterPerSecond: number
}

export interface LatencyResult {
  readonly kind: WholeKind
  /** Traces per second: half of the top rate, or the rate that a single client reaches. */
  readonly rate: number
  readonly load: LoadFigures
  /**
   * Latencies of the bare HTTP server at the same rate, measured in turns. They show the machine's share of the
   * latency.
   */
  readonly bare: { readonly p50: number; readonly p99: number }
}

export interface StoredResult {
  readonly spans: number
  readonly load: LoadFigures
  /** Traces per second, divided by those of a server with empty tables. */
  readonly ratio: number
}

/** The embedded PostgreSQL and another PostgreSQL server, measured in turns. */
export interface BesideResult {
  /** Settings that differ between the two servers, with the embedded server's value first. */
  readonly settings: Readonly<Record<string, readonly [string, string]>>
  readonly kinds: readonly {
    readonly kind: LoadKind
    readonly embedded: LoadFigures
    readonly other: LoadFigures
    /**
     * `rate` is the embedded server's traces per second, divided by the other server's in the same run. `cost` is the
     * ratio of PostgreSQL's CPU time per trace.
     */
    readonly rate: number
    readonly cost: number
  }[]
}

/** Interval at which the benchmark checks whether all writes are indexed. */
const CATCH_UP_LOOK_MS = 100

/** Exports of several traces each, and the same traces recorded one by one. */
const EXPORTS = { traces: 64, exports: 8, rounds: 5 }
const LONG_ROUNDS = 5
const RESENDS = [0, 0.03, 0.3, 1]
/** Pages of the trace list, requested by GET and by a tool. */
const LISTINGS = { requests: 400, rounds: 3 }
const IDLE_CLIENT = { connections: 1, rate: 20 }
/**
 * Bytes of disk space that a stored span takes, including its indexes and its share of the trace, and bytes that must
 * stay free.
 */
const STORED_SPAN_BYTES = 1_500
const FREE_BYTES = 8 * 1024 ** 3

export class Cases {
  readonly #bench: Bench
  readonly #progress: Progress

  constructor(bench: Bench, progress: Progress) {
    this.#bench = bench
    this.#progress = progress
  }

  async whole(kind: WholeKind): Promise<WholeResult> {
    this.#progress.step = `${kind}: making the rows for COPY`
    const rows = rowsUnderLoad(await prepareRows(this.#bench, kind))
    this.#progress.step = `${kind}: a server that records nothing`
    const bare = await measureBareServer(this.#bench, kind)
    const loads: LoadFigures[] = []
    const copies: CopyFigures[] = []
    await this.#repeat(async run => {
      this.#progress.step = `${kind}, ${run}: the server`
      loads.push(await measureLoad(this.#bench, kind))
      this.#progress.step = `${kind}, ${run}: COPY`
      copies.push(await measureLimit(this.#bench, rows))
    })
    const ratio = medianRatio(loads, copies)
    return { load: medians(loads), copy: medians(copies), ratio, bareServer: bare.traces / bare.seconds }
  }

  async streaming(): Promise<StreamingResult> {
    const loads: LoadFigures[] = []
    const wholes: LoadFigures[] = []
    await this.#repeat(async run => {
      this.#progress.step = `streaming, ${run}`
      loads.push(await measureLoad(this.#bench, 'streaming'))
      this.#progress.step = `streaming, ${run}: the same traces sent whole`
      wholes.push(await measureLoad(this.#bench, 'typical'))
    })
    return { load: medians(loads), whole: medians(wholes), ratio: medianRatio(loads, wholes) }
  }

  async resends(): Promise<ResendsResult[]> {
    const runs: LoadFigures[][] = []
    await this.#repeat(async run => {
      const loads: LoadFigures[] = []
      for (const share of RESENDS) {
        this.#progress.step = `typical, ${share * 100} % sent again, ${run}`
        loads.push(await measureLoad(this.#bench, 'typical', { resends: share }))
      }
      runs.push(loads)
    })
    const ratioOf = (i: number, figure: 'nodeCpu' | 'tracesPerSecond') =>
      median(runs.map(loads => loads[i]![figure] / loads[0]![figure]))
    return RESENDS.map((share, i) => ({
      share,
      load: medians(runs.map(loads => loads[i]!)),
      cost: ratioOf(i, 'nodeCpu'),
      rate: ratioOf(i, 'tracesPerSecond')
    }))
  }

  async tls(): Promise<TlsResult> {
    this.#progress.step = 'starting a database with TLS'
    const url = await this.#bench.startTcp()
    const pair = {
      tls: await this.#bench.startAnother(`${url}?sslmode=require`),
      plain: await this.#bench.startAnother(`${url}?sslmode=disable`)
    }
    const tls: LoadFigures[] = []
    const plain: LoadFigures[] = []
    await this.#repeat(async run => {
      this.#progress.step = `typical, over TLS, ${run}`
      tls.push(await measureLoad({ ...this.#bench, service: pair.tls }, 'typical'))
      this.#progress.step = `typical, without TLS, ${run}`
      plain.push(await measureLoad({ ...this.#bench, service: pair.plain }, 'typical'))
    })
    return { tls: medians(tls), plain: medians(plain), ratio: medianRatio(tls, plain) }
  }

  async search(): Promise<SearchedResult> {
    this.#progress.step = 'starting a server with search on'
    const service = await this.#bench.startAnother()
    const { sql, projectId } = service
    // There are no earlier traces to index, so the project is marked as indexed.
    await sql`insert into search_fills (project_id, is_done) values (${projectId}, true)`
    await sql`update projects set search = true where id = ${projectId}`
    const on: LoadFigures[] = []
    const off: LoadFigures[] = []
    const shares: number[] = []
    const speeds: number[] = []
    await this.#repeat(async run => {
      this.#progress.step = `typical, search off, ${run}`
      off.push(await measureLoad(this.#bench, 'typical'))
      this.#progress.step = `typical, search on, ${run}`
      on.push(await measureLoad({ ...this.#bench, service }, 'typical'))
      const waiting = async () => {
        const [row] = await sql<[{ waiting: number }]>`select count(*)::int as waiting from search_news`
        return row.waiting
      }
      const [{ recorded }] = await sql<[{ recorded: number }]>`select count(*)::int as recorded from traces`
      const left = await waiting()
      shares.push(1 - left / Math.max(recorded, 1))
      this.#progress.step = `typical, indexing the rest, ${run}`
      const start = performance.now()
      let isDone = false
      while (!isDone) {
        await delay(CATCH_UP_LOOK_MS)
        isDone = (await waiting()) === 0
      }
      speeds.push((left / (performance.now() - start)) * 1000)
    })
    return {
      on: medians(on),
      off: medians(off),
      ratio: medianRatio(on, off),
      indexed: median(shares),
      indexedLaterPerSecond: median(speeds)
    }
  }

  /** `topRates` contains the rates of the kinds that have already been measured. */
  async latency(topRates: Partial<Record<WholeKind, number>>): Promise<LatencyResult[]> {
    const results: LatencyResult[] = []
    for (const kind of ['small', 'typical'] as const) {
      this.#progress.step = `latency, ${kind}: the top rate`
      const top = topRates[kind] ?? (await measureLoad(this.#bench, kind)).tracesPerSecond
      results.push(await this.#latencyAt(kind, { rate: Math.round(top / 2) }))
    }
    results.push(await this.#latencyAt('small', IDLE_CLIENT))
    return results
  }

  async #latencyAt(kind: WholeKind, settings: { rate: number; connections?: number }): Promise<LatencyResult> {
    const loads: LoadFigures[] = []
    const bares: LoadReport[] = []
    await this.#repeat(async run => {
      this.#progress.step = `latency, ${kind} at ${settings.rate} a second, ${run}`
      loads.push(await measureLoad(this.#bench, kind, settings))
      bares.push(await measureBareServer(this.#bench, kind, settings))
    })
    const bare = { p50: median(bares.map(each => each.p50)), p99: median(bares.map(each => each.p99)) }
    return { kind, rate: settings.rate, load: medians(loads), bare }
  }

  /**
   * Compares the cost of calling the tool list_traces with the cost of the same GET; undefined if CPU times are
   * unreadable.
   */
  async mcp(): Promise<ListCost | undefined> {
    const { service } = this.#bench
    const readTimes = () => readCpuTimes(service.pid, service.postmasterPid)
    if (readTimes() === undefined) return undefined
    this.#progress.step = 'list_traces: recording something to list'
    await measureLoad(this.#bench, 'typical')
    this.#progress.step = 'list_traces against GET /api/v1/traces'
    return measureListCost({ port: service.port, key: service.key, ...LISTINGS, readTimes: () => readTimes()! })
  }

  /**
   * Compares the cost of a span sent over OTLP with that of the same span recorded by the API; undefined if CPU times
   * are unreadable.
   */
  async otlp(): Promise<OtlpCost | undefined> {
    const { service } = this.#bench
    const readTimes = () => readCpuTimes(service.pid, service.postmasterPid)
    if (readTimes() === undefined) return undefined
    this.#progress.step = 'exports in OTLP against the same traces recorded'
    return measureOtlpCost({ port: service.port, key: service.key, ...EXPORTS, readTimes: () => readTimes()! })
  }

  /** Compares an export that adds to a long trace with an export that adds to a short trace. */
  async long(): Promise<LongCost | undefined> {
    const { service } = this.#bench
    const readTimes = () => readCpuTimes(service.pid, service.postmasterPid)
    if (readTimes() === undefined) return undefined
    this.#progress.step = 'spans added to long traces and to short ones'
    const { port, key, sql } = service
    return measureLongCost({ port, key, sql, rounds: LONG_ROUNDS, readTimes: () => readTimes()! })
  }

  /** Fills the tables of a second server, and measures these kinds with both servers. */
  async stored(spans: number, kinds: Iterable<LoadKind>): Promise<Map<LoadKind, StoredResult>> {
    await this.#checkRoom(spans)
    const filled = { ...this.#bench, service: await this.#bench.startAnother() }
    await this.#fill(filled, spans)
    const results = new Map<LoadKind, StoredResult>()
    for (const kind of kinds) {
      const loads: LoadFigures[] = []
      const empty: LoadFigures[] = []
      await this.#repeat(async run => {
        this.#progress.step = `${kind} with empty tables, ${run}`
        empty.push(await measureLoad(this.#bench, kind))
        this.#progress.step = `${kind} with ${spans} spans stored, ${run}`
        loads.push(await measureLoad(filled, kind, { keep: true }))
      })
      results.set(kind, { spans, load: medians(loads), ratio: medianRatio(loads, empty) })
    }
    return results
  }

  /** Measures these kinds again, in turns with a server that uses the PostgreSQL server at `url`. */
  async beside(url: string, kinds: Iterable<LoadKind>): Promise<BesideResult> {
    const other = { ...this.#bench, service: await this.#bench.startAnother(url) }
    const settings = await compareSettings(this.#bench.service.sql, other.service.sql)
    const results: BesideResult['kinds'][number][] = []
    for (const kind of kinds) {
      const here: LoadFigures[] = []
      const there: LoadFigures[] = []
      await this.#repeat(async run => {
        this.#progress.step = `${kind}, the embedded PostgreSQL, ${run}`
        here.push(await measureLoad(this.#bench, kind))
        this.#progress.step = `${kind}, the other PostgreSQL, ${run}`
        there.push(await measureLoad(other, kind))
      })
      const cost = median(here.map(({ postgresCpu }, i) => postgresCpu / there[i]!.postgresCpu))
      results.push({ kind, embedded: medians(here), other: medians(there), rate: medianRatio(here, there), cost })
    }
    return { settings, kinds: results }
  }

  async #checkRoom(spans: number): Promise<void> {
    const { folder } = this.#bench.options
    const { bavail, bsize } = await statfs(folder)
    const needed = spans * STORED_SPAN_BYTES + FREE_BYTES
    if (bavail * bsize < needed) {
      throw new UsageError(`--stored ${spans} needs ${Math.ceil(needed / 1e9)} GB free in ${folder}; see --folder`)
    }
  }

  async #fill(bench: Bench, spans: number): Promise<void> {
    const { sql, target, projectId } = bench.service
    this.#progress.step = 'making the rows to fill with'
    const { plain } = await prepareRows(bench, 'stored')
    const plan = { target, rows: plain, projectId, firstNumber: await readFreeNumber(sql), connections: 2 }
    const each = SHAPES.stored.spans
    await fillByCopy(plan, Math.ceil(spans / each), traces => {
      this.#progress.step = `filling: ${((traces * each) / 1e6).toFixed(1)} of ${spans / 1e6} million spans`
    })
    await skipUsedNumbers(sql)
    // Autovacuum would process the tables within minutes, so they are vacuumed before the measurement.
    this.#progress.step = 'vacuum of the filled tables'
    await sql`vacuum (analyze) traces, spans, trace_tags`
    this.#progress.step = 'cutting rankings'
    await cutRankings(sql, projectId)
    await settle(sql)
  }

  async #repeat(measure: (run: string) => Promise<void>): Promise<void> {
    const { runs } = this.#bench.options
    for (let run = 1; run <= runs; run++) await measure(`run ${run} of ${runs}`)
  }
}

type Rate = { readonly tracesPerSecond: number }
const medianRatio = (rates: readonly Rate[], limits: readonly Rate[]) =>
  median(rates.map((rate, i) => rate.tracesPerSecond / limits[i]!.tracesPerSecond))
