/**
 * Decides what the spans of an export do to one trace. A trace from OpenTelemetry has no end message, its spans arrive
 * in any order, and exporters send whole exports again. So an identical span that is stored already is a duplicate.
 * Every span that can be stored is stored. The others are counted and reported instead of failing the export, because
 * no exporter would send it again in another form.
 */
import { MAX_DOCUMENT_BYTES, MAX_SPANS } from '../../schema/input.ts'
import { shortHash } from '../prepared.ts'
import { type GatheredSpan, type GatheredState, type Growth, gather, INNER } from './gathered.ts'

/** Why spans were refused, how many for this reason, and one of them as an example. */
export interface SpanRefusal {
  readonly reason: string
  readonly count: number
  readonly example: string
}

/** What is known of a stored trace before spans are added to it. */
export interface ExportState {
  /** Undefined if the trace was not recorded by OpenTelemetry. */
  readonly gathered: GatheredState | undefined
  /** A label, 'unassigned', or null if it was never recorded. */
  readonly environment: string | null
  /** The hashes of spans of the export that are stored already, by span id. */
  readonly spanHashes: ReadonlyMap<string, string>
}

export interface ExportOperation {
  readonly operation: 'export'
  readonly traceId: string
  readonly spans: readonly GatheredSpan[]
  /** The environment label of the key; null: unassigned. */
  readonly environment: string | null
}

export interface ExportDecision {
  /** Undefined if there is nothing to write. */
  readonly growth: Growth | undefined
  /** Spans to insert. */
  readonly added: readonly GatheredSpan[]
  readonly duplicate: number
  readonly refusals: readonly SpanRefusal[]
}

/** Decides an export for one trace. `state` is undefined if the project has no trace of that id. */
export function decideExport(state: ExportState | undefined, operation: ExportOperation): ExportDecision {
  const reason = state && closedTo(state, operation)
  if (reason !== undefined) return refuseAll(operation, reason)
  const { added, speakers, duplicate, refused } = sortSpans(state, operation.spans)
  const growth = speakers.length === 0 ? undefined : gather(operation.traceId, state?.gathered, added, speakers)
  const writes = added.length > 0 || growth?.changed === true
  const refusals = sumRefusals(refused.map(([span, reason]) => refusalOf(operation, span, reason)))
  return { growth: writes ? growth : undefined, added, duplicate, refusals }
}

/** Why the trace takes none of these spans; undefined if it takes spans. */
function closedTo(state: ExportState, { environment }: ExportOperation): string | undefined {
  if (state.gathered === undefined) return 'of a trace that was not recorded by OpenTelemetry'
  // A trace whose environment was never recorded counts as unassigned.
  const isSame = (state.environment ?? 'unassigned') === (environment ?? 'unassigned')
  return isSame ? undefined : 'of a trace that was recorded in another environment than the one of this key'
}

/**
 * Finds the spans that are new and can be stored, and the reasons why others cannot. A root may not be storable
 * because the trace is full, or because the root is too large. Its claims count all the same: otherwise the trace
 * would never be complete.
 */
function sortSpans(state: ExportState | undefined, spans: readonly GatheredSpan[]) {
  const fresh = new Map<string, GatheredSpan>()
  const refused: [span: GatheredSpan, reason: string][] = []
  const speakers: GatheredSpan[] = []
  let room = MAX_SPANS - (state?.gathered?.spanCount ?? 0)
  for (const span of spans) {
    const other = fresh.get(span.id)
    const known = state?.spanHashes.get(span.id) ?? (other && shortHash(other))
    if (known === shortHash(span)) continue
    const reason =
      known !== undefined ? CONFLICT : span.bytes > MAX_DOCUMENT_BYTES ? TOO_LARGE : room === 0 ? TOO_MANY : undefined
    if (reason === undefined) {
      room--
      fresh.set(span.id, span)
    } else {
      refused.push([span, reason])
    }
    if (reason === undefined || (reason !== CONFLICT && span.hints.level !== INNER)) speakers.push(span)
  }
  const added = [...fresh.values()]
  return { added, speakers, refused, duplicate: spans.length - added.length - refused.length }
}

const CONFLICT = 'whose id is stored with different content'
const TOO_LARGE = `of more than ${MAX_DOCUMENT_BYTES} bytes`
const TOO_MANY = `beyond the ${MAX_SPANS} that a trace can have`

const refusalOf = ({ traceId }: ExportOperation, { id }: GatheredSpan, reason: string): SpanRefusal => ({
  reason,
  count: 1,
  example: `span ${id} of trace ${traceId}`
})

function refuseAll(operation: ExportOperation, reason: string): ExportDecision {
  const refusals = sumRefusals(operation.spans.map(span => refusalOf(operation, span, reason)))
  return { growth: undefined, added: [], duplicate: 0, refusals }
}

/** Sums refusals by reason. The first example of a reason is kept. */
export function sumRefusals(refusals: Iterable<SpanRefusal>): SpanRefusal[] {
  const sums = new Map<string, SpanRefusal>()
  for (const refusal of refusals) {
    const before = sums.get(refusal.reason)
    sums.set(refusal.reason, before === undefined ? refusal : { ...before, count: before.count + refusal.count })
  }
  return [...sums.values()]
}
