/** Computes a trace's state after a decision is written, so that the state need not be read from the database. */

import { fromByteText } from '../json/byte-text.ts'
import { assertHashed, type PreparedTrace, type SpanHead, shortHash } from '../prepared.ts'
import { countBytes, countErrors } from '../span-sums.ts'
import { SpanTree } from '../span-tree.ts'
import type { TraceChange, TraceState } from './decide.ts'
import { type GatheredSpan, type GatheredState, type Growth, gatheredUsage } from './gathered.ts'
import type { CountedSpan } from './left-out.ts'

/** The fields that the service assigns when it records a trace. */
type Stamp = Pick<TraceState, 'seq' | 'version' | 'environment'>
/** A state kept between changes, with the hashes of all the trace's spans. */
export interface KeptState extends TraceState {
  readonly spanHashes: Map<string, string>
}
export type StartedState = Omit<KeptState, keyof Stamp>

const NULL_BYTES = Buffer.byteLength('null')
/** Copies an id or a hash. A V8 substring refers to its parent string and would therefore keep the parent in memory. */
export const copyOf = (digits: string): string => Buffer.from(digits, 'latin1').toString('latin1')
function addHashes(known: Map<string, string>, spans: readonly SpanHead[]): Map<string, string> {
  for (const span of spans) known.set(copyOf(span.id), copyOf(shortHash(span)))
  return known
}

/** Returns the state of a newly recorded running trace, without the fields in Stamp. */
export function startedState(trace: PreparedTrace): StartedState {
  const { spans, metadata, output, areByteTexts = false } = trace
  assertHashed(spans)
  return {
    running: true,
    bodyHash: trace.hash,
    endHash: null,
    name: trace.name,
    userId: trace.userId,
    startedAt: trace.startedAt,
    provider: trace.provider,
    model: trace.model,
    costUsd: trace.costUsd,
    inputTokens: trace.inputTokens,
    outputTokens: trace.outputTokens,
    totalTokens: trace.totalTokens,
    tags: trace.tags,
    spanCount: spans.length,
    errorCount: countErrors(spans),
    documentBytes: trace.bytes,
    estimatedBytes: trace.bytes + countBytes(spans),
    metadata: metadata !== null && areByteTexts ? fromByteText(metadata) : metadata,
    outputBytes: output === null ? NULL_BYTES : areByteTexts ? output.length : Buffer.byteLength(output),
    spanHashes: addHashes(new Map(), spans),
    isGathered: false,
    gathered: undefined,
    copy: undefined
  }
}

/**
 * Returns the state of a running trace after a change. Reuses the previous state's map of span hashes, so the caller
 * must discard the previous state. Copying the map would make the total cost of a trace quadratic in the number of
 * appends.
 */
export function changedState(state: KeptState, change: TraceChange, version: number): KeptState {
  const { spanCount, errorCount, estimatedBytes, spans } = change
  return { ...state, version, spanCount, errorCount, estimatedBytes, spanHashes: addHashes(state.spanHashes, spans) }
}

/** Returns the state of a trace that an export's spans created, without the fields in Stamp. */
export function gatheredState(growth: Growth, added: readonly GatheredSpan[]): StartedState {
  const nothing = {
    inputBytes: NULL_BYTES,
    outputBytes: NULL_BYTES,
    patched: false,
    spans: new SpanTree<CountedSpan>([])
  }
  const after = gatheredAfter(nothing, growth, added)
  const spanHashes = addHashes(new Map(), added)
  return {
    ...after,
    running: after.endedAt === null,
    endHash: null,
    isGathered: true,
    copy: undefined,
    gathered: after,
    spanHashes
  }
}

/**
 * Returns a gathered trace's state after an export added spans. `gathered` belongs to `state`. Like changedState,
 * reuses the previous state's maps.
 */
export function grownState(
  state: KeptState,
  gathered: GatheredState,
  growth: Growth,
  added: readonly GatheredSpan[],
  version: number
): KeptState {
  const after = gatheredAfter(gathered, growth, added)
  const spanHashes = addHashes(state.spanHashes, added)
  return { ...state, ...after, version, running: after.endedAt === null, gathered: after, spanHashes }
}

/** Adds the spans to the tree of `before`, and returns the trace with this tree. */
function gatheredAfter(
  before: Pick<GatheredState, 'inputBytes' | 'outputBytes' | 'patched' | 'spans'>,
  growth: Growth,
  added: readonly GatheredSpan[]
): GatheredState {
  const { input, output, durationMs: _, addedBytes: __, changed: ___, isRun: ____, ...fields } = growth
  const { patched, spans } = before
  for (const span of added) spans.add(gatheredUsage(span))
  const bytesOf = (text: Growth['input'], stored: number) =>
    text === undefined ? stored : text === null ? NULL_BYTES : text.bytes
  return {
    ...fields,
    inputBytes: bytesOf(input, before.inputBytes),
    outputBytes: bytesOf(output, before.outputBytes),
    patched,
    spans
  }
}
