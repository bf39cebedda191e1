/**
 * What the spans of an export do to one trace. A trace that OpenTelemetry records has no end message, its spans come in any
 * order, and whole exports are sent again: a span that is there, identical, is nothing new; everything that can be stored is
 * stored, and what cannot is counted and said, for nobody would send it again in another form.
 */
import { MAX_DOCUMENT_BYTES, MAX_SPANS } from '../../schema/input.ts'
import { shortHash } from '../prepared.ts'
import { type GatheredSpan, type GatheredState, type Growth, gather, INNER } from './gathered.ts'

/** Why spans were refused, how many for this reason, and one of them to look at. */
export interface SpanRefusal {
  readonly reason: string
  readonly count: number
  readonly example: string
}

/** What is known of a stored trace before spans are added to it. */
export interface ExportState {
  /** Undefined: the trace was recorded by other routes than OpenTelemetry's. */
  readonly gathered: GatheredState | undefined
  /** A label, 'unassigned', or null where it was not recorded. */
  readonly environment: string | null
  /** Hashes of those of the export's spans that are stored, by span id. */
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
  /** Undefined: there is nothing to write. */
  readonly growth: Growth | undefined
  /** Spans to insert. */
  readonly added: readonly GatheredSpan[]
  readonly duplicate: number
  readonly refusals: readonly SpanRefusal[]
}

/** `state` is undefined where the project has no trace of that id. */
export function decideExport(state: ExportState | undefined, operation: ExportOperation): ExportDecision {
  const reason = state && closedTo(state, operation)
  if (reason !== undefined) return refuseAll(operation, reason)
  const { added, speakers, duplicate, refused } = sortSpans(state, operation.spans)
  const growth = speakers.length === 0 ? undefined : gather(operation.traceId, state?.gathered, added, speakers)
  const writes = added.length > 0 || growth?.changed === true
  const refusals = sumRefusals(refused.map(([span, reason]) => refusalOf(operation, span, reason)))
  return { growth: writes ? growth : undefined, added, duplicate, refusals }
}

/** Why a trace takes none of these spans. */
function closedTo(state: ExportState, { environment }: ExportOperation): string | undefined {
  if (state.gathered === undefined) return 'of a trace that was not recorded by OpenTelemetry'
  // History without a recorded environment counts as unassigned.
  const isSame = (state.environment ?? 'unassigned') === (environment ?? 'unassigned')
  return isSame ? undefined : 'of a trace that was recorded in another environment than the one of this key'
}

/**
 * The spans that are new and can be stored, and why others cannot. A root that cannot be stored, because it comes last and
 * the trace is full, or because it is too large, speaks for its trace all the same: otherwise that would never be complete.
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

/** The same refusals, those for one reason together: the first example stands for all. */
export function sumRefusals(refusals: Iterable<SpanRefusal>): SpanRefusal[] {
  const sums = new Map<string, SpanRefusal>()
  for (const refusal of refusals) {
    const before = sums.get(refusal.reason)
    sums.set(refusal.reason, before === undefined ? refusal : { ...before, count: before.count + refusal.count })
  }
  return [...sums.values()]
}
