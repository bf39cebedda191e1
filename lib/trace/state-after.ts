/** The states that traces are in after what was decided is written: what is known so need not be read. */
import { countBytes, countErrors } from './count.ts'
import type { TraceChange, TraceState } from './decide.ts'
import { type PreparedTrace, type SpanHead, shortHash } from './prepared.ts'

/** What the service adds to the state of a trace that it records. */
type Stamp = Pick<TraceState, 'seq' | 'version' | 'environment'>
export type StartedState = Omit<TraceState, keyof Stamp>

const NULL_BYTES = Buffer.byteLength('null')
/** Ids and hashes are copies: as parts of a longer text they would keep all of it. */
const hashesOf = (spans: readonly SpanHead[]) => spans.map(span => [copyOf(span.id), copyOf(shortHash(span))] as const)
const copyOf = (digits: string): string => Buffer.from(digits, 'latin1').toString('latin1')

/** A trace that was recorded and goes on; with a stamp, its whole state. */
export function startedState(trace: PreparedTrace): StartedState {
  const { hash, startedAt, provider, model, costUsd, inputTokens, outputTokens, totalTokens, tags, spans } = trace
  return {
    running: true,
    bodyHash: hash,
    endHash: null,
    startedAt,
    provider,
    model,
    costUsd,
    inputTokens,
    outputTokens,
    totalTokens,
    tags,
    spanCount: spans.length,
    errorCount: countErrors(spans),
    documentBytes: trace.bytes,
    estimatedBytes: trace.bytes + countBytes(spans),
    metadata: trace.metadata,
    outputBytes: trace.output === null ? NULL_BYTES : Buffer.byteLength(trace.output),
    spanHashes: new Map(hashesOf(spans)),
    isGathered: false,
    gathered: undefined
  }
}

/** A trace that took a change and goes on. */
export function changedState(state: TraceState, change: TraceChange, version: number): TraceState {
  const { spanCount, errorCount, estimatedBytes, spans } = change
  const spanHashes = new Map([...state.spanHashes, ...hashesOf(spans)])
  return { ...state, version, spanCount, errorCount, estimatedBytes, spanHashes }
}
