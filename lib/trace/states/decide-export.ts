/**
 * Decides what the spans of an export do to one trace. A trace from OpenTelemetry has no end message, its spans arrive
 * in any order, and exporters send whole exports again. So an identical span that is stored already is a duplicate.
 * Every span that can be stored is stored. The others are counted and reported instead of failing the export, because
 * no exporter would send it again in another form.
 */
import { isStoredAs, shortHash } from '../prepared.ts'
import { type GatheredSpan, type GatheredState, type Growth, gather } from './gathered.ts'
import { takePlaces } from './kept-spans.ts'
import { type Reason, type SpanRefusal, sumRefusals } from './span-refusals.ts'

/** The state of a stored trace before spans are added to it. */
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
  /** The most spans that a trace can have. */
  readonly maxSpans: number
}

export interface ExportDecision {
  /** Undefined if there is nothing to write. */
  readonly growth: Growth | undefined
  /** Spans to insert. */
  readonly added: readonly GatheredSpan[]
  /** Spans for which there is no place. What they say of the trace counts. */
  readonly leftOut: readonly GatheredSpan[]
  readonly duplicate: number
  readonly refusals: readonly SpanRefusal[]
}

/** Decides an export for one trace. `state` is undefined if the project has no trace of that id. */
export function decideExport(state: ExportState | undefined, operation: ExportOperation): ExportDecision {
  const reason = state && closedTo(state, operation)
  if (reason !== undefined) return refuseAll(operation, reason)
  const { added, leftOut, duplicate, refused } = sortSpans(state, operation)
  const isSilent = added.length === 0 && leftOut.length === 0
  const growth = isSilent ? undefined : gather(operation.traceId, state?.gathered, added, leftOut)
  const writes = added.length > 0 || growth?.changed === true
  const refusals = sumRefusals(refused.map(([span, reason]) => refusalOf(operation, span, reason)))
  return { growth: writes ? growth : undefined, added, leftOut, duplicate, refusals }
}

/** Why the trace takes none of these spans; undefined if it takes spans. */
function closedTo(state: ExportState, { environment }: ExportOperation): Reason | undefined {
  if (state.gathered === undefined) return 'other_route'
  // A trace whose environment was never recorded counts as unassigned.
  const isSame = (state.environment ?? 'unassigned') === (environment ?? 'unassigned')
  return isSame ? undefined : 'other_environment'
}

/** Finds the spans that are new and can be stored, those that are new and find no place, and why others are refused. */
function sortSpans(state: ExportState | undefined, { spans, maxSpans }: ExportOperation) {
  const fresh = new Map<string, GatheredSpan>()
  const refused: [span: GatheredSpan, reason: Reason][] = []
  for (const span of spans) {
    const other = fresh.get(span.id)
    const known = state?.spanHashes.get(span.id) ?? (other && shortHash(other))
    if (known === undefined) fresh.set(span.id, span)
    else if (!isStoredAs(known, span)) refused.push([span, 'conflict'])
  }
  const { added, leftOut } = takePlaces(state?.gathered, [...fresh.values()], maxSpans)
  refused.push(...leftOut.map(span => [span, 'too_many'] as [GatheredSpan, Reason]))
  return { added, leftOut, refused, duplicate: spans.length - added.length - refused.length }
}

const refusalOf = ({ traceId }: ExportOperation, { id }: GatheredSpan, reason: Reason): SpanRefusal => ({
  reason,
  count: 1,
  example: `span ${id} of trace ${traceId}`
})

function refuseAll(operation: ExportOperation, reason: Reason): ExportDecision {
  const refusals = sumRefusals(operation.spans.map(span => refusalOf(operation, span, reason)))
  return { growth: undefined, added: [], leftOut: [], duplicate: 0, refusals }
}
