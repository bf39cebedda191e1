/** `spoor-client`: records an application's traces and reads stored traces. */
export type {
  KeyDescription,
  Project,
  Score,
  ScoreList,
  ScoreListQuery,
  Span as StoredSpan,
  Trace as StoredTrace,
  TraceDetail,
  TraceList,
  TraceListQuery,
  TraceSummary
} from './api-types.ts'
export type { SpoorOptions } from './options.ts'
export type { Evaluated, Evaluator, Verdict } from './read/evaluate.ts'
export { SpoorError } from './read/reads.ts'
export type { RecordedUsage, SpanKind, Status } from './record/fields.ts'
export type { Parent } from './record/parents.ts'
export type { EndOptions, ScoreOptions, ScoreValue, Span, SpanOptions, Step, StepOptions } from './record/step.ts'
export type { Trace, TraceOptions } from './record/trace.ts'
export type { FlushOptions } from './send/outbox.ts'
export type { Flushed, Loss } from './send/outcome.ts'
export { type ObserveOptions, Spoor } from './spoor.ts'

/** Judges all complete traces that match the query and lack a score of this evaluator. Failures do not stop the run. */
export const evaluate: typeof import('./read/evaluate.ts').evaluate = async (...given) =>
  (await import('./read/evaluate.ts')).evaluate(...given)
