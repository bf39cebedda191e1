/**
 * Decides how an export's spans change one trace. OpenTelemetry sends no end message and delivers spans in any order,
 * and exporters resend whole exports, so an identical stored span is a duplicate. Every span that can be stored is
 * stored. Spans that cannot be stored are counted and reported. The export does not fail, because no exporter would
 * resend such spans in another form.
 */

import { isStoredAs, shortHash } from '../prepared.ts'
import { cutBeyond } from './cut-texts.ts'
import { type GatheredSpan, type GatheredState, type Growth, gather } from './gathered.ts'
import { asOwnText, type NewText } from './gathered-texts.ts'
import { takePlaces } from './kept-spans.ts'
import { type CountedSpan, readLeftOut } from './left-out.ts'
import { type Reason, type SpanRefusal, sumRefusals } from './span-refusals.ts'
import { findReplaced, type Replaced } from './steps.ts'

/** A stored trace's state before spans are added. */
export interface ExportState {
  /** The gathered state; undefined if the trace was not recorded by OpenTelemetry. */
  readonly gathered: GatheredState | undefined
  /** The trace's environment: a label, `unassigned`, or null if it was never recorded. */
  readonly environment: string | null
  /** Hashes, by span id, of the export's spans that are already stored. */
  readonly spanHashes: ReadonlyMap<string, string>
}

export interface ExportOperation {
  readonly operation: 'export'
  readonly traceId: string
  readonly spans: readonly GatheredSpan[]
  /** The key's environment label; null means unassigned. */
  readonly environment: string | null
  /** Maximum number of spans in the trace. */
  readonly maxSpans: number
  /** Size of a stored trace, in bytes, beyond which the texts of further spans are cut. */
  readonly maxBytes: number
}

export interface ExportDecision {
  /** The trace's growth; undefined if there is nothing to write. */
  readonly growth: Growth | undefined
  /** Spans to insert. */
  readonly added: readonly GatheredSpan[]
  /** Stored steps to remove, because spans replace them. */
  readonly removed: readonly CountedSpan[]
  /** The spans of `added` whose texts are cut. */
  readonly cut: ReadonlySet<GatheredSpan>
  /** Spans without a slot. The claims of these spans still count. */
  readonly leftOut: readonly GatheredSpan[]
  readonly duplicate: number
  readonly refusals: readonly SpanRefusal[]
}

/** Decides an export for one trace. `state` is undefined if the project has no trace with this id. */
export function decideExport(state: ExportState | undefined, operation: ExportOperation): ExportDecision {
  const reason = state && closedTo(state, operation)
  if (reason !== undefined) return refuseAll(operation, reason)
  const replaced = findReplaced(knownSpans(state?.gathered), operation.spans)
  const { added, leftOut, duplicate, refused } = sortSpans(state, operation, replaced)
  const isSilent = added.length === 0 && leftOut.length === 0 && replaced.absorbed.length === 0
  const whole = isSilent ? undefined : gather(operation.traceId, state?.gathered, added, leftOut, undefined, replaced)
  const { growth, cut } = withinBytes(whole, state?.gathered, added, operation.maxBytes)
  const writes = added.length > 0 || growth?.changed === true
  const refusals = sumRefusals(refused.map(([span, reason]) => refusalOf(operation, span, reason)))
  const { removed } = replaced
  return { growth: writes ? growth : undefined, added, removed, cut, leftOut, duplicate, refusals }
}

/**
 * Decides an export as if the trace were not stored. A new trace's first spans are not cut, because they come from one
 * portion of an export (lib/otlp/wire/portion.ts).
 */
export function decideNewTrace({
  traceId,
  spans,
  maxSpans
}: Pick<ExportOperation, 'traceId' | 'spans' | 'maxSpans'>): ExportDecision {
  const maxBytes = Number.POSITIVE_INFINITY
  return decideExport(undefined, { operation: 'export', traceId, spans, environment: null, maxSpans, maxBytes })
}

const NOTHING_CUT: ReadonlySet<GatheredSpan> = new Set()

/**
 * Cuts the texts of spans that do not fit. Claims of these spans still count in full, because the trace's own document
 * is limited separately.
 */
function withinBytes(
  growth: Growth | undefined,
  stored: GatheredState | undefined,
  added: readonly GatheredSpan[],
  maxBytes: number
): { growth: Growth | undefined; cut: ReadonlySet<GatheredSpan> } {
  if (growth === undefined || stored === undefined || growth.estimatedBytes <= maxBytes) {
    return { growth, cut: NOTHING_CUT }
  }
  const { spans: cut, bytes } = cutBeyond(added, maxBytes - stored.estimatedBytes)
  const { estimatedBytes, addedBytes } = growth
  const isCut = (text: NewText) => [...cut].some(({ id }) => id === text.spanId)
  const [input, output] = [growth.input, growth.output].map(text =>
    text != null && isCut(text) ? asOwnText(text) : text
  )
  return {
    growth: { ...growth, input, output, estimatedBytes: estimatedBytes - bytes, addedBytes: addedBytes - bytes },
    cut
  }
}

/** Returns all spans whose usage counts. */
function knownSpans(gathered: GatheredState | undefined): Iterable<CountedSpan> {
  if (gathered === undefined) return []
  const leftOut = readLeftOut(gathered.ranks, gathered.spans)
  return leftOut.length === 0 ? gathered.spans : [...gathered.spans, ...leftOut]
}

/** Returns why the trace accepts none of these spans, or undefined if it accepts spans. */
function closedTo(state: ExportState, { environment }: ExportOperation): Reason | undefined {
  if (state.gathered === undefined) return 'other_route'
  // A trace whose environment was never recorded counts as unassigned.
  const isSame = (state.environment ?? 'unassigned') === (environment ?? 'unassigned')
  return isSame ? undefined : 'other_environment'
}

/** Sorts spans into new spans to store, new spans without a slot and rejected spans, and counts the duplicates. */
function sortSpans(
  state: ExportState | undefined,
  { spans, maxSpans }: ExportOperation,
  { absorbed, removed }: Replaced
) {
  const fresh = new Map<string, GatheredSpan>()
  const refused: [span: GatheredSpan, reason: Reason][] = []
  const [unstored, gone] = [new Set(absorbed), new Set(removed.map(({ id }) => id))]
  for (const span of spans) {
    if (unstored.has(span)) continue
    const other = fresh.get(span.id)
    const known = (gone.has(span.id) ? undefined : state?.spanHashes.get(span.id)) ?? (other && shortHash(other))
    if (known === undefined) fresh.set(span.id, span)
    else if (!isStoredAs(known, span)) refused.push([span, 'conflict'])
  }
  const { added, leftOut } = takePlaces(state?.gathered, [...fresh.values()], maxSpans)
  refused.push(...leftOut.map(span => [span, 'too_many'] as [GatheredSpan, Reason]))
  return { added, leftOut, refused, duplicate: spans.length - added.length - refused.length }
}

const refusalOf = ({ traceId }: ExportOperation, { id, kind }: GatheredSpan, reason: Reason): SpanRefusal => ({
  reason,
  count: 1,
  example: `span ${id} of trace ${traceId}`,
  ...(reason === 'too_many' && { kinds: { [kind]: 1 } })
})

function refuseAll(operation: ExportOperation, reason: Reason): ExportDecision {
  const refusals = sumRefusals(operation.spans.map(span => refusalOf(operation, span, reason)))
  return { growth: undefined, added: [], removed: [], cut: NOTHING_CUT, leftOut: [], duplicate: 0, refusals }
}
