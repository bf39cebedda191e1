/**
 * Prepares a body for the write path and renders the rows for COPY. Rows are rendered for all spans of an append or an
 * end, and for every span of an export that can be stored. The rows to write are chosen once the stored state is known.
 */
import { Refusal, type RefusalCode } from '../errors.ts'
import type { MappedSpan } from '../otlp/map-span.ts'
import { type Export, readExport, readPortion, readSteps } from '../otlp/read-export.ts'
import { type Portion, withFormerOrigins } from '../otlp/wire/portion.ts'
import { estimatedBytes, type NewTrace } from '../rows/column-values.ts'
import { renderSpanRows, renderTraceRows, type SpanRows, type TraceRows } from '../rows/copy-rows.ts'
import { type Allocate, togetherBytes } from '../rows/thread-bytes.ts'
import { DEFAULT_MAX_SPANS } from '../schema/otlp-limits.ts'
import { type CallDetails, callDetailsText } from '../trace/call-details.ts'
import { inBothForms } from '../trace/json/canonical-number.ts'
import { normaliseSpans } from '../trace/normalise.ts'
import { prepare } from '../trace/prepare.ts'
import {
  assertHashed,
  type Past,
  type PreparedSpan,
  type PreparedSpans,
  type PreparedTrace,
  type SpanHead,
  shortHash,
  type TraceSpan
} from '../trace/prepared.ts'
import { type Priced, type PriceSources, priceCall } from '../trace/prices/computed-cost.ts'
import type { OwnPrice } from '../trace/prices/own.ts'
import { prepareRestore } from '../trace/restore.ts'
import { type Append, type End, oversizeMessage } from '../trace/states/decide.ts'
import { decideNewTrace } from '../trace/states/decide-export.ts'
import type { RestoredHead } from '../trace/states/decide-restore.ts'
import { type GatheredSpan, type Growth, stepMark } from '../trace/states/gathered.ts'
import { textHeads } from '../trace/states/gathered-texts.ts'
import { ranksText } from '../trace/states/ranks.ts'
import type { SpanRefusal } from '../trace/states/span-refusals.ts'
import { type StartedState, startedState } from '../trace/states/state-after.ts'
import { isParsedName, type Parsed, type ParsedName, parse } from './parsing.ts'
import { encodeSpans } from './sent-spans.ts'

export { takeFoundModels } from '../trace/prices/bundled.ts'

export type TaskName =
  | 'record'
  | 'append'
  | 'end'
  | 'restore'
  | 'export-json'
  | 'export-protobuf'
  | 'export-portion'
  | 'export-steps'
  | ParsedName

export interface ReadyTask {
  readonly operation: TaskName
  readonly body: Uint8Array
  /** The recording key's environment; null if the key has none. */
  readonly environment: string | null
  /** Whether to pack only texts that PostgreSQL would otherwise compress (lib/rows/packed-texts.ts). */
  readonly hurries: boolean
  /** Maximum number of spans in an OpenTelemetry trace; DEFAULT_MAX_SPANS by default. */
  readonly maxSpans?: number | undefined
  /** Names of OpenTelemetry attributes whose values become tags. A portion of an export has its own copy. */
  readonly tagNames?: readonly string[] | undefined
  /**
   * The prices that operators set, used to compute costs of OpenTelemetry calls that report no cost; undefined if no
   * costs are computed.
   */
  readonly prices?: readonly OwnPrice[] | undefined
}

/** A trace to record or restore: its rows, and the data that decide() and the response need. */
export interface ReadyRecord {
  readonly operation: 'record'
  readonly traceId: string
  readonly hash: string
  /**
   * Hash in the former form. Set only if it differs from the current hash, which is rare. The same applies to every
   * former hash below.
   */
  readonly formerHash?: string | undefined
  readonly running: boolean
  /** The refusal's message if a document is too large to store. */
  readonly oversize: string | undefined
  readonly spanCount: number
  readonly estimatedBytes: number
  /** Set if a body of POST /api/v1/traces started the trace without ending it. */
  readonly started: StartedState | undefined
  /** Set if the trace is restored: the data to compare with a stored trace, and who recorded the trace and when. */
  readonly restored: RestoredHead | undefined
  /** Set if the trace's rows are copied from a backup: who recorded the trace and when. */
  readonly copied?: Pick<Past, 'environment' | 'keyId' | 'ingestedAt'>
  readonly rows: TraceRows
}

/** An append or an end: the data that decide() needs, and the rows of all spans in the body. */
export type ReadyAppend = Append & { readonly rows: SpanRows }
export type ReadyEnd = End & { readonly rows: SpanRows }

/** The spans that an export holds for one trace. */
export interface ReadySpans {
  readonly traceId: string
  readonly spanCount: number
  /** Encoded SpansToGather (lib/threads/sent-spans.ts). */
  readonly toGather: Uint8Array
  /** The trace that these spans create if the trace is not stored yet; undefined if no span can be stored. */
  readonly first: ReadyRecord | undefined
  /** Reasons why some of the spans cannot be stored. */
  readonly refusals: readonly SpanRefusal[]
}

/** An export, split by trace. */
export interface ReadyExport {
  readonly operation: 'export'
  readonly traces: readonly ReadySpans[]
  /**
   * A large export has portions instead of traces, in the order to write them. Once joined (lib/otlp/wire/portion.ts),
   * a portion is a body for the operation `export-portion`.
   */
  readonly portions: readonly Portion[]
  /** Reasons why some spans belong to no trace. */
  readonly refusals: readonly SpanRefusal[]
  /** Number of calls without a cost because the model has no price, by model. */
  readonly unpriced: Unpriced
}

export type Unpriced = ReadonlyMap<string, number>

/** The value of a body that was only parsed (lib/threads/parsing.ts). The value bypasses the write queue. */
export interface ReadyValue {
  readonly operation: 'parse'
  readonly value: Parsed[ParsedName]
}

export type Ready = ReadyRecord | ReadyAppend | ReadyEnd | ReadyExport | ReadyValue

/** A refusal is passed as a plain value, because an error sent between threads loses its code. */
export type ReadyResult = { readonly ready: Ready } | { readonly refusal: { code: RefusalCode; message: string } }

/**
 * Prepares one body. Throws only server faults; for an invalid body, returns a refusal. Unless `mayLoad` is set, also
 * throws PricesElsewhere for a body that this thread cannot prepare (lib/trace/prices/bundled.ts).
 */
export function makeReady(task: ReadyTask, mayLoad = true): ReadyResult {
  try {
    return { ready: prepareAndRender(task, mayLoad) }
  } catch (error) {
    if (error instanceof Refusal) return { refusal: { code: error.code, message: error.message } }
    throw error
  }
}

function prepareAndRender(task: ReadyTask, mayLoad: boolean): Ready {
  const { operation, body, environment, hurries } = task
  if (isParsedName(operation)) return { operation: 'parse', value: parse(operation, body) }
  switch (operation) {
    case 'record': {
      const trace = withFormer(() => prepare('record', body))
      return readyRecord(trace, environment, hurries, trace.endedAt === null ? startedState(trace) : undefined)
    }
    case 'restore':
      return readyRecord(
        withFormer(() => prepareRestore(body)),
        environment,
        hurries
      )
    case 'append':
      return withRows(
        withFormer(() => prepare('append', body)),
        hurries
      )
    case 'end':
      return withRows(
        withFormer(() => prepare('end', body)),
        hurries
      )
    case 'export-json':
      return readyExport(() => readExport(body, 'json', task), task, mayLoad)
    case 'export-protobuf':
      return readyExport(() => readExport(body, 'protobuf', task), task, mayLoad)
    case 'export-portion':
      return readyExport(() => readPortion(body), task, mayLoad)
    case 'export-steps':
      return readyExport(() => readSteps(body, task), task, mayLoad)
  }
}

/** Prepares a body and adds the former hashes that differ from the current hashes. */
function withFormer<T extends Hashed>(prepare: () => T): T {
  const { made, former } = inBothForms(prepare)
  if (former === undefined) return made
  const spans = made.spans.map((span, i) => ({ ...span, formerHash: former.spans[i]?.hash ?? undefined }))
  return { ...made, formerHash: former.hash, spans }
}

interface Hashed {
  readonly hash?: string
  readonly spans: readonly TraceSpan[]
}

function readyRecord(
  trace: NewTrace,
  environment: string | null,
  hurries: boolean,
  started?: StartedState,
  allocate?: Allocate
): ReadyRecord {
  const record: ReadyRecord = {
    operation: 'record',
    traceId: trace.traceId,
    hash: trace.hash,
    running: trace.endedAt === null,
    oversize: oversizeMessage(trace),
    spanCount: trace.spans.length,
    estimatedBytes: estimatedBytes(trace),
    started,
    restored: trace.past && restoredHead(trace, trace.past),
    rows: renderTraceRows(trace, environment, hurries, allocate)
  }
  return trace.formerHash === undefined ? record : { formerHash: trace.formerHash, ...record }
}

function restoredHead(trace: NewTrace, past: Past): RestoredHead {
  const { spans } = trace
  assertHashed(spans)
  return { ...trace, past, spans: spans.map(headOf) }
}

function headOf(span: PreparedSpan): SpanHead {
  const { id, kind, status, bytes, formerHash } = span
  const head = { id, kind, status, hash: shortHash(span), bytes }
  return formerHash === undefined ? head : { formerHash, ...head }
}

const withRows = <T extends PreparedSpans>(prepared: T, hurries: boolean) => ({
  rows: renderSpanRows(prepared, hurries),
  ...prepared,
  spans: prepared.spans.map(headOf)
})

function readyExport(read: () => Export, task: ReadyTask, mayLoad: boolean): ReadyExport {
  const { made, former } = inBothForms(read)
  const { traces, portions, refusals } = made
  const allocate = togetherBytes(task.body.byteLength)
  const pricing = task.prices && { own: task.prices, mayLoad, unpriced: new Map<string, number>() }
  return {
    operation: 'export',
    traces: Array.from(traces, ([traceId, mapped]) =>
      readySpans(traceId, normaliseMapped(mapped, former?.traces.get(traceId), pricing), task, allocate)
    ),
    portions: former === undefined ? portions : portions.map((each, i) => withFormerOrigins(each, former.portions[i]!)),
    refusals,
    unpriced: pricing?.unpriced ?? NONE_UNPRICED
  }
}
const NONE_UNPRICED: Unpriced = new Map()

/** A span with all fields of its row, and with its claims about the trace. */
type HintedSpan = PreparedSpan & GatheredSpan

/** The sources of prices, and a count of the calls without a price. */
interface Pricing extends PriceSources {
  readonly unpriced: Map<string, number>
}

function normaliseMapped(
  mapped: readonly MappedSpan[],
  former: readonly MappedSpan[] | undefined,
  pricing: Pricing | undefined
): HintedSpan[] {
  const spans = spansOf(mapped).map((span, i) => {
    const { hints, callDetails } = mapped[i] as MappedSpan
    const step = stepMark(hints, span)
    const own: CallDetails = step === undefined ? callDetails : { ...callDetails, step }
    const priced = pricing && price(span, own, pricing)
    const hinted = { hints, textHeads: textHeads(span, hints.level) }
    if (priced == null) return Object.assign(span, hinted, { callDetails: callDetailsText(own) })
    const callDetailsWithCost = callDetailsText({ ...own, computedCost: priced.computedCost })
    const cost = { costUsd: priced.costUsd, costIsComputed: true }
    return Object.assign(span, hinted, cost, { callDetails: callDetailsWithCost })
  })
  if (former === undefined) return spans
  return spansOf(former).map(({ hash }, i) => Object.assign(spans[i] as HintedSpan, { formerHash: hash }))
}

/**
 * Computes the cost of a span that reports no cost. The span's hash was computed earlier, and still covers the span as
 * sent.
 */
function price(span: PreparedSpan, details: CallDetails, pricing: Pricing): Priced | null | undefined {
  if (span.costUsd !== null || span.model === null) return undefined
  const priced = priceCall(span, details, pricing)
  if (priced === null) pricing.unpriced.set(span.model, (pricing.unpriced.get(span.model) ?? 0) + 1)
  return priced
}

const spansOf = (mapped: readonly MappedSpan[]): readonly PreparedSpan[] =>
  normaliseSpans({ value: { schemaVersion: 1, spans: mapped.map(({ span }) => span) }, escapes: false }).spans

/**
 * Decides the spans as if no trace were stored, because the queue needs the trace that the spans would create. A span
 * that gets no slot here would get no slot in a stored trace either (lib/trace/states/kept-spans.ts).
 */
function readySpans(
  traceId: string,
  spans: readonly HintedSpan[],
  { environment, hurries, maxSpans = DEFAULT_MAX_SPANS }: ReadyTask,
  allocate: Allocate
): ReadySpans {
  const { growth, added, refusals } = decideNewTrace({ traceId, spans, maxSpans })
  // `added` is a subset of `spans`.
  const storable = added as readonly HintedSpan[]
  const trace = growth && asRecorded(traceId, growth, storable)
  const first = trace && readyRecord(trace, environment, hurries, undefined, allocate)
  return { traceId, spanCount: spans.length, first, refusals, toGather: encodeSpans({ spans, storable }, allocate) }
}

/** Lists every field, because V8 is slow at a spread followed by other properties. */
function asRecorded(traceId: string, growth: Growth, spans: readonly PreparedSpan[]): PreparedTrace {
  return {
    operation: 'record',
    traceId,
    spans,
    hash: growth.bodyHash,
    bytes: growth.documentBytes,
    name: growth.name,
    status: growth.status,
    startedAt: growth.startedAt,
    endedAt: growth.endedAt,
    provider: growth.provider,
    model: growth.model,
    sessionId: growth.sessionId,
    userId: growth.userId,
    tags: growth.tags,
    inputTokens: growth.inputTokens,
    outputTokens: growth.outputTokens,
    totalTokens: growth.totalTokens,
    costUsd: growth.costUsd,
    metadata: growth.metadata,
    input: growth.input?.text ?? null,
    output: growth.output?.text ?? null,
    ranks: ranksText(growth.ranks),
    errorCount: growth.errorCount
  }
}
