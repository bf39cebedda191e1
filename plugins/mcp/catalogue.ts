/** Names, descriptions and examples of the tools, as an agent sees them. A tool's behaviour is defined by its route. */

import type { ToolText } from '../../lib/mcp/route-tool.ts'
import { searchView } from '../../lib/mcp/search-view.ts'
import { failuresView, spansView } from '../../lib/mcp/step-views.ts'
import type { Annotations, ToolView } from '../../lib/mcp/tool.ts'
import { traceView } from '../../lib/mcp/trace-view.ts'
import { EXAMPLES, INGEST_EXAMPLES } from '../../lib/openapi/examples.ts'

export interface CatalogueEntry extends ToolText {
  /** Operation of the route behind the tool. */
  readonly operation: string
  readonly view?: ToolView
}

const READS: Annotations = { readOnlyHint: true, openWorldHint: false }
const TRACE_ID = INGEST_EXAMPLES.full.trace.id

export const INGEST_SCHEMA: ToolText = {
  name: 'get_ingest_schema',
  title: 'Get the schema of a trace',
  description:
    'Returns the JSON Schema of what record_trace takes, and a minimal and a full example that are valid. Call it once ' +
    'before the first record_trace, or when one was refused as invalid_trace. It reads nothing from the project.',
  annotations: READS
}

export const CATALOGUE: readonly CatalogueEntry[] = [
  {
    name: 'record_trace',
    operation: 'recordTrace',
    title: 'Record a trace',
    description:
      'Stores one run with its spans. Use it when a run is over, with trace.endedAt; without endedAt the trace stays ' +
      'running until it is ended over HTTP. Make the ids yourself: 32 random hexadecimal digits for the trace, 16 for ' +
      'each span; do not reuse those of the examples. Sending the same trace again is safe (duplicate: true); other ' +
      'content under the same id is refused as trace_id_conflict. A trace cannot be changed afterwards.',
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    examples: Object.values(INGEST_EXAMPLES)
  },
  {
    name: 'add_score',
    operation: 'addScore',
    title: 'Score a trace',
    description:
      'Attaches a rating or verdict to a recorded trace, or to one span of it with spanId. value must be of the type ' +
      'that dataType names: a number, a string or a boolean. Every call adds a score, so do not repeat one that ' +
      'succeeded; the newest score of a name is the one that counts.',
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    examples: Object.values(EXAMPLES.addScore?.body ?? {}).map(score => ({ traceId: TRACE_ID, ...(score as object) }))
  },
  {
    name: 'list_traces',
    operation: 'listTraces',
    title: 'Find traces',
    description:
      'Lists traces, newest first, or the slowest or costliest first with sort. Use it to find runs by status, name, ' +
      'model, tag, environment, session, user or time; filters combine with AND. With runsOnly, it leaves out traces ' +
      'without a model call, agent, tool or retriever. Returns summaries without input, ' +
      'output or spans: call get_trace for one run. A small limit keeps the result short; pass nextCursor as after ' +
      'for the next page.',
    annotations: READS,
    examples: [
      { status: 'error', limit: 20 },
      { name: 'answer-question', from: '2026-11-21T00:00:00Z', to: '2026-11-22T00:00:00Z' },
      { sort: 'costliest', environment: 'production', limit: 10 }
    ]
  },
  {
    name: 'search_traces',
    operation: 'searchTraces',
    title: 'Search traces',
    description:
      'Finds runs by what happened in them: a failed step (step, stepKind and error), any failure (errors), scores, ' +
      'words (q), duration, cost and tokens, with every filter of list_traces and any sort. Use it for questions ' +
      "such as which runs failed in a tool, or why a user's last session failed. Returns an outline of each run " +
      'with its first error and the beginnings of input and output; call get_trace for one run. If nothing is found, ' +
      'note names the nearest values that exist. If reached is set, call again with nextCursor as after.',
    annotations: READS,
    examples: [
      { errors: true, userId: 'customer-7', limit: 5 },
      { stepKind: 'tool', error: 'TimeoutError', from: '2026-11-21T00:00:00Z' },
      { score: ['helpfulness<0.5'], q: '"delivery address"' }
    ],
    view: searchView
  },
  {
    name: 'get_trace',
    operation: 'getTrace',
    title: 'Read a trace',
    description:
      'Returns one trace with its spans and scores. A long trace comes as an outline, the tree of its spans with what ' +
      'they hold cut short, and says so: then call again with spanIds for the spans that matter, with field for the ' +
      'input, output or metadata of the trace itself in parts, with after for more of a long tree, and with detail ' +
      '"full" only if everything is needed, since a client may cut a long result.',
    annotations: READS,
    examples: [
      { traceId: TRACE_ID },
      { traceId: TRACE_ID, spanIds: ['00f067aa0ba902b7'] },
      { traceId: TRACE_ID, field: 'output' }
    ],
    view: traceView
  },
  {
    name: 'list_scores',
    operation: 'listScores',
    title: 'Find scores',
    description:
      'Lists scores across the whole project, newest first, filtered by name, environment or time. Use it to compare ' +
      'runs by their scores; for those of one trace call get_trace_scores. With an environment a page may be short or ' +
      'empty before the last one: go on until nextCursor is null.',
    annotations: READS,
    examples: [{ name: 'helpfulness', limit: 20 }]
  },
  {
    name: 'get_trace_scores',
    operation: 'listTraceScores',
    title: 'Read the scores of a trace',
    description:
      'Returns all scores of one trace, newest first, with their comments. get_trace has them too; this is shorter.',
    annotations: READS,
    examples: [{ traceId: TRACE_ID }]
  },
  {
    name: 'list_spans',
    operation: 'listSpans',
    title: 'Find steps',
    description:
      'Lists steps (spans) across traces, newest first, by kind, name, status, model, environment, time or ' +
      'minimum duration: failed calls of a tool, slow model calls. Returns why a step failed and the sizes of ' +
      'its texts; read texts with get_trace and spanIds, or with texts (at most 20 steps). A small limit keeps ' +
      'the result short. Go on until nextCursor is null: a page may be short or empty before. For failures as a ' +
      'whole call list_errors. If nothing is found, hint names what exists instead.',
    annotations: READS,
    examples: [
      { kind: 'tool', status: 'error', limit: 20 },
      { kind: 'llm', minDurationMs: 30_000, from: '2026-11-16T00:00:00Z', limit: 20 }
    ],
    view: spansView
  },
  {
    name: 'list_errors',
    operation: 'listErrors',
    title: 'Group failures',
    description:
      'Groups failed steps by name, error type and message (ids, paths, times and numbers do not matter): count, ' +
      'traces, first and last time, an example to read with get_trace. Call it first for "what fails", "which ' +
      'tool failed most", "since when". Without times, the last 7 days. complete says whether all traces were ' +
      'looked at; if not, narrow the times or pass nextCursor as after for the rest. passedOn counts steps that ' +
      'failed since a step inside them did. For single failures call list_spans with status error.',
    annotations: READS,
    examples: [{ limit: 20 }, { kind: 'tool', from: '2026-11-21T00:00:00Z' }],
    view: failuresView
  },
  {
    name: 'list_sessions',
    operation: 'listSessions',
    title: 'Find sessions',
    description:
      'Lists sessions (conversations), newest first by their last trace, with sums: traces, errors, tokens, cost. ' +
      'Use it for the last sessions of a user (userId), or for sessions whose id begins with prefix; for the traces ' +
      'of one session call list_traces with sessionId. If nothing is found, hint names what exists instead. A page ' +
      'may be short or empty before the last one: go on until nextCursor is null.',
    annotations: READS,
    examples: [{ limit: 10 }, { userId: 'customer-7', limit: 5 }, { prefix: 'chat-' }]
  },
  {
    name: 'get_project',
    operation: 'getProject',
    title: 'Describe the project',
    description:
      'Returns the project of the API key: its name, how many traces and spans it holds, how much of its storage is ' +
      'used, when the last trace came in, and what the key may do.',
    annotations: READS
  },
  {
    name: 'get_usage',
    operation: 'getUsage',
    title: 'Sum traces over time',
    description:
      'Sums traces, errors, tokens, cost and durations (p50, p95), in total and split by model, name, environment, ' +
      'user, step or tag:KEY, over a time or by hour or day. Use it for "what did it cost", "which prompt ' +
      'or user costs most", "which tool fails most" (by step: errors), "why did it double" (interval day); use ' +
      'list_traces for the traces themselves. An empty result says in hint what exists.',
    annotations: READS,
    examples: [
      { by: 'model' },
      { by: 'step', limit: 10 },
      { by: 'tag:prompt', from: '2026-11-21T00:00:00Z', to: '2026-11-28T00:00:00Z' },
      { interval: 'day' }
    ]
  },
  {
    name: 'delete_trace',
    operation: 'deleteTrace',
    title: 'Delete a trace',
    description: 'Deletes a trace with all its spans and scores, for good. Only when the user asks for it, by its id.',
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    examples: [{ traceId: TRACE_ID }]
  }
]
