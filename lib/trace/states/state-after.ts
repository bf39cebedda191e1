/** The states that traces are in after what was decided is written: what is known so need not be read. */

import { type PreparedTrace, type SpanHead, shortHash } from '../prepared.ts'
import { countBytes, countErrors } from '../span-sums.ts'
import type { TraceChange, TraceState } from './decide.ts'

/** What the service adds to the state of a trace that it records. */
type Stamp = Pick<TraceState, 'seq' | 'version' | 'environment'>
/** A state that is kept from one change to the next, with its map of the spans. */
export interface KeptState extends TraceState {
  readonly spanHashes: Map<string, string>
}
export type StartedState = Omit<KeptState, keyof Stamp>

const NULL_BYTES = Buffer.byteLength('null')
/** Ids and hashes are copies: as parts of a longer text they would keep all of it. */
const copyOf = (digits: string): string => Buffer.from(digits, 'latin1').toString('latin1')
function addHashes(known: Map<string, string>, spans: readonly SpanHead[]): Map<string, string> {
  for (const span of spans) known.set(copyOf(span.id), copyOf(shortHash(span)))
  return known
}

/** A trace that was recorded and goes on; with a stamp, its whole state. */
export function startedState(trace: PreparedTrace): StartedState {
  const { spans } = trace
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
    metadata: trace.metadata,
    outputBytes: trace.output === null ? NULL_BYTES : Buffer.byteLength(trace.output),
    spanHashes: addHashes(new Map(), spans),
    isGathered: false,
    gathered: undefined,
    copy: undefined
  }
}

/**
 * A trace that took a change and goes on. The map of its spans goes over to it from the state before, which is over: a copy
 * for every append would cost the square of how many there are.
 */
export function changedState(state: KeptState, change: TraceChange, version: number): KeptState {
  const { spanCount, errorCount, estimatedBytes, spans } = change
  return { ...state, version, spanCount, errorCount, estimatedBytes, spanHashes: addHashes(state.spanHashes, spans) }
}
