/** `spoor/client`: records traces from an application, loses none, and reads what is stored. */
export type {
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
export { type Evaluated, type Evaluator, evaluate, type Verdict } from './read/evaluate.ts'
export { SpoorError } from './read/reads.ts'
export type { SpanKind, Status, Usage } from './record/fields.ts'
export type { EndOptions, ScoreOptions, ScoreValue, Span, SpanOptions, Step, StepOptions } from './record/step.ts'
export type { Parent, Trace, TraceOptions } from './record/trace.ts'
export type { Flushed, Loss } from './send/outcome.ts'
export type { FlushOptions } from './send/sender.ts'
export { type ObserveOptions, Spoor } from './spoor.ts'
