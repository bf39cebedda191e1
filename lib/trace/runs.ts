/**
 * Decides whether a trace is a run, that is, whether it has a model call, agent, tool or retriever. Instrumentation
 * also sends traces of mere requests and database statements, which lists can leave out. The decision is stored with
 * the trace as one bit (`traces.is_run`). Spans are only added, so each write decides from what it adds, and a trace
 * stays a run.
 */
import type { SPAN_KINDS } from '../schema/input.ts'
import type { TraceFields } from './prepared.ts'

type SpanKind = (typeof SPAN_KINDS)[number]

/**
 * Kinds of the spans that make a trace a run. Embeddings and rerankings are model calls too. `chain` and `custom` are
 * not listed, because spans of any program can have these kinds.
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
 * The fields by which a trace itself reports a model call, which a client need not send as a span. Token counts are not
 * among these fields, because an end can remove them, but the bit is never turned off.
 */
export type CallFields = Pick<TraceFields, 'model' | 'costUsd'>

/** Whether any of these spans has a kind that makes its trace a run. */
export function haveRunKind(spans: Iterable<{ readonly kind: string }>): boolean {
  for (const { kind } of spans) if (RUN_KINDS.includes(kind)) return true
  return false
}

/** Whether a trace with these fields and these stored spans is a run. */
export const isRun = (fields: CallFields, spans: Iterable<{ readonly kind: string }>): boolean =>
  fields.model !== null || fields.costUsd !== null || haveRunKind(spans)
