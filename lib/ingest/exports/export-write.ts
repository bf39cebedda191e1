/** Writes the spans that an export holds for one trace. */
import { pickRows, type SpanRows } from '../../rows/copy-rows.ts'
import { DEFAULT_MAX_SPANS, DEFAULT_MAX_TRACE_BYTES } from '../../schema/otlp-limits.ts'
import type { ReadyRecord, ReadySpans } from '../../threads/ready.ts'
import { decodeSpans, type SpansToGather } from '../../threads/sent-spans.ts'
import { decideNewTrace, type ExportOperation } from '../../trace/states/decide-export.ts'
import type { GatheredSpan } from '../../trace/states/gathered.ts'
import { gatheredState, type StartedState } from '../../trace/states/state-after.ts'

export interface ExportLimits {
  readonly maxSpans: number
  readonly maxBytes: number
}
const DEFAULT_LIMITS: ExportLimits = { maxSpans: DEFAULT_MAX_SPANS, maxBytes: DEFAULT_MAX_TRACE_BYTES }

/**
 * Most exports hold complete new traces, whose spans are already prepared as rows. The data for adding spans to a
 * stored trace is decoded only when such a trace exists, or when a new trace is running.
 */
export class ExportWrite implements ExportOperation {
  readonly operation = 'export'
  readonly traceId: string
  readonly environment: string | null
  readonly maxSpans: number
  readonly maxBytes: number
  readonly first: ReadyRecord | undefined
  readonly #bytes: Uint8Array
  #read: SpansToGather | undefined

  constructor({ traceId, first, toGather }: ReadySpans, environment: string | null, limits = DEFAULT_LIMITS) {
    this.traceId = traceId
    this.environment = environment
    this.maxSpans = limits.maxSpans
    this.maxBytes = limits.maxBytes
    this.first = first
    this.#bytes = toGather
  }

  get spans(): readonly GatheredSpan[] {
    return this.#toGather.spans
  }

  /**
   * Returns the rows of `added`, a subset of `spans`, without the texts of the spans in `cut`. The writer rejects the
   * export if a span has no row.
   */
  rowsOf(added: readonly GatheredSpan[], cut: ReadonlySet<GatheredSpan> = new Set()): SpanRows | undefined {
    const { storable } = this.#toGather
    const wanted = new Set(added)
    return (
      this.first &&
      pickRows(
        this.first.rows,
        storable,
        storable.filter(span => wanted.has(span)),
        cut
      )
    )
  }

  /** Returns the state of the trace that these spans created. */
  get createdState(): StartedState {
    const { growth, added } = decideNewTrace(this)
    if (growth === undefined) throw new Error(`the spans of trace ${this.traceId} created no trace`)
    return gatheredState(growth, added)
  }

  get #toGather(): SpansToGather {
    this.#read ??= decodeSpans(this.#bytes, this.first?.rows)
    return this.#read
  }
}
