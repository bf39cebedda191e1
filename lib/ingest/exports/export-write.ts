/** Writes the spans that an export holds for one trace. */
import { pickRows, type SpanRows } from '../../rows/copy-rows.ts'
import { DEFAULT_MAX_SPANS, DEFAULT_MAX_TRACE_BYTES } from '../../schema/otlp-limits.ts'
import type { ReadyRecord, ReadySpans } from '../../threads/ready.ts'
import { decodeSpans, type SpansToGather } from '../../threads/sent-spans.ts'
import { decideExport, type ExportOperation } from '../../trace/states/decide-export.ts'
import type { GatheredSpan } from '../../trace/states/gathered.ts'
import { gatheredState, type StartedState } from '../../trace/states/state-after.ts'

/** The spans of an export that created a trace, encoded, and the data to decide them again. */
export interface CreatedTrace extends Pick<ExportOperation, 'traceId' | 'environment' | 'maxSpans'> {
  readonly bytes: Uint8Array
}

/** Returns the state of a new trace, as the thread that prepared the export decided it (lib/threads/ready.ts). */
export function stateOfCreated({ bytes, ...operation }: CreatedTrace): StartedState {
  const { spans } = decodeSpans(bytes, undefined)
  const maxBytes = Number.POSITIVE_INFINITY
  const { growth, added } = decideExport(undefined, { operation: 'export', spans, maxBytes, ...operation })
  if (growth === undefined) throw new Error(`the spans of trace ${operation.traceId} created no trace`)
  return gatheredState(growth, added)
}

export interface ExportLimits {
  readonly maxSpans: number
  readonly maxBytes: number
}
const DEFAULT_LIMITS: ExportLimits = { maxSpans: DEFAULT_MAX_SPANS, maxBytes: DEFAULT_MAX_TRACE_BYTES }

/**
 * Most exports hold complete new traces, whose spans are already prepared as rows. The data for adding spans to a
 * stored trace is decoded only when such a trace exists.
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

  /**
   * Returns what is needed to compute the state of the trace that these spans create; undefined if they create none.
   * It keeps only the encoded spans in memory, not their rows: the state needs no texts.
   */
  get created(): CreatedTrace | undefined {
    if (this.first === undefined) return undefined
    const { traceId, environment, maxSpans } = this
    // The encoded spans share memory with the rest of the export.
    const bytes = new Uint8Array(this.#bytes)
    return { traceId, environment, maxSpans, bytes }
  }

  get #toGather(): SpansToGather {
    this.#read ??= decodeSpans(this.#bytes, this.first?.rows)
    return this.#read
  }
}
