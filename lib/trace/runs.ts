/**
 * Decides whether a trace is a run: whether it has a model call, agent, tool or retriever. Instrumentation also sends
 * traces of mere requests and database statements, which lists can leave out. The decision is stored with the trace as
 * one bit (`traces.is_run`). Spans are only added, so each write decides from what it adds, and a trace stays a run.
 */
import type { SPAN_KINDS } from '../schema/input.ts'
import type { TraceFields } from './prepared.ts'

type SpanKind = (typeof SPAN_KINDS)[number]

/**
 * Kinds of the spans that make a trace a run. An embedding and a reranking are calls of a model too. `chain` and
 * `custom` say nothing, because spans of any program have these kinds.
 */
export const RUN_KINDS: readonly string[] = [
  'llm',
  'embedding',
  'reranker',
  'agent',
  'tool',
  'retriever'
] satisfies SpanKind[]

/**
 * The fields by which a trace states a model call itself, because a client need not send the call as a span. Token
 * counts are not among them: an end can take them back, and the bit is never turned off.
 */
export type CallFields = Pick<TraceFields, 'model' | 'costUsd'>

/** Whether spans of these kinds make their trace a run. */
export function haveRunKind(spans: Iterable<{ readonly kind: string }>): boolean {
  for (const { kind } of spans) if (RUN_KINDS.includes(kind)) return true
  return false
}

/** Whether a trace with these fields and these stored spans is a run. */
export const isRun = (fields: CallFields, spans: Iterable<{ readonly kind: string }>): boolean =>
  fields.model !== null || fields.costUsd !== null || haveRunKind(spans)
