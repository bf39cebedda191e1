/** Writes the spans that an export holds for one trace. */
import { pickRows, type SpanRows } from '../../rows/copy-rows.ts'
import { DEFAULT_MAX_SPANS } from '../../schema/otlp-limits.ts'
import type { ReadyRecord, ReadySpans } from '../../threads/ready.ts'
import { decodeSpans, type SpansToGather } from '../../threads/sent-spans.ts'
import type { ExportOperation } from '../../trace/states/decide-export.ts'
import type { GatheredSpan } from '../../trace/states/gathered.ts'

/**
 * Most exports hold complete new traces, whose spans are already rows. The data for adding spans to a stored trace is
 * decoded only when such a trace exists.
 */
export class ExportWrite implements ExportOperation {
  readonly operation = 'export'
  readonly traceId: string
  readonly environment: string | null
  readonly maxSpans: number
  readonly first: ReadyRecord | undefined
  readonly #bytes: Uint8Array
  #read: SpansToGather | undefined

  constructor({ traceId, first, toGather }: ReadySpans, environment: string | null, maxSpans = DEFAULT_MAX_SPANS) {
    this.traceId = traceId
    this.environment = environment
    this.maxSpans = maxSpans
    this.first = first
    this.#bytes = toGather
  }

  get spans(): readonly GatheredSpan[] {
    return this.#toGather.spans
  }

  /** Returns the rows of `added`, a subset of `spans`. The writer rejects the export if a span has no row. */
  rowsOf(added: readonly GatheredSpan[]): SpanRows | undefined {
    const { storable } = this.#toGather
    const wanted = new Set(added)
    return (
      this.first &&
      pickRows(
        this.first.rows,
        storable,
        storable.filter(span => wanted.has(span))
      )
    )
  }

  get #toGather(): SpansToGather {
    this.#read ??= decodeSpans(this.#bytes, this.first?.rows)
    return this.#read
  }
}
