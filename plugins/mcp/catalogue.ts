/** Names, descriptions and examples of the tools, as an agent sees them. A tool's behaviour is defined by its route. */

import type { ToolText } from '../../lib/mcp/route-tool.ts'
import type { Annotations, ToolView } from '../../lib/mcp/tool.ts'
import { traceView } from '../../lib/mcp/trace-view.ts'
import { usageView } from '../../lib/mcp/usage-view.ts'
import { LIST_VIEWS } from '../../lib/mcp/views.ts'
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
    'Returns the JSON Schema for record_trace, with valid minimal and full examples. Call it once before the first ' +
    'record_trace, and again after an invalid_trace error. It reads no project data.',
  annotations: READS
}

export const CATALOGUE: readonly CatalogueEntry[] = [
  {
    name: 'record_trace',
    operation: 'recordTrace',
    title: 'Record a trace',
    description:
      'Stores one run with its spans. Use it after a run has finished, and set trace.endedAt; otherwise, the trace ' +
      'stays running until it is ended over HTTP. Generate the ids yourself: 32 random hexadecimal digits for the ' +
      'trace, 16 for each span; do not reuse the ids in the examples. Sending the same trace again is safe ' +
      '(duplicate: true); different content with the same id is rejected as trace_id_conflict. A trace cannot be ' +
      'changed afterwards.',
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    examples: Object.values(INGEST_EXAMPLES)
  },
  {
    name: 'add_score',
    operation: 'addScore',
    title: 'Score a trace',
    description:
      'Adds a rating or verdict to a recorded trace or, with spanId, to one of its spans. The type of value must ' +
      'match dataType: a number, a string or a boolean. Every call adds a score, so do not repeat a successful call; ' +
      'the newest score with each name is the one that counts.',
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    examples: Object.values(EXAMPLES.addScore?.body ?? {}).map(score => ({ traceId: TRACE_ID, ...(score as object) }))
  },
  {
    name: 'list_traces',
    operation: 'listTraces',
    title: 'List traces',
    description:
      'Answers "what ran lately": traces, newest, slowest or costliest first, filtered by status, name, model, tag, ' +
      'environment, session, user or time (filters combine with AND). With runsOnly, omits traces without a model, ' +
      'agent, tool or retriever call. For failures, scores, words or cost limits, call search_traces; for one run, ' +
      'get_trace. For the next page, call again with `after` set to nextCursor. If nothing is found, `hint` lists ' +
      'the nearest existing values.',
    annotations: READS,
    examples: [
      { status: 'error', limit: 20 },
      { name: 'answer-question', from: '2026-11-21T00:00:00Z', to: '2026-11-22T00:00:00Z' },
      { sort: 'costliest', environment: 'production', limit: 10 }
    ],
    view: LIST_VIEWS.traces
  },
  {
    name: 'search_traces',
    operation: 'searchTraces',
    title: 'Search traces',
    description:
      'Answers "which runs have X": a failed step (`step`, `stepKind`, `error`), any failure (`errors`), scores, ' +
      "words (`q`), duration, cost or tokens, with every filter of list_traces and any sort. Returns each run's " +
      'first error (that of the matching step, if it failed) and the beginning of its input and output; call ' +
      'get_trace for one run. If nothing is found, `hint` lists the nearest existing values. If `reached` is set, ' +
      'call again with `after` set to nextCursor.',
    annotations: READS,
    examples: [
      { errors: true, userId: 'customer-7', limit: 5 },
      { stepKind: 'tool', error: 'TimeoutError', from: '2026-11-21T00:00:00Z' },
      { score: ['helpfulness<0.5'], q: '"delivery address"' }
    ],
    view: LIST_VIEWS.search
  },
  {
    name: 'get_trace',
    operation: 'getTrace',
    title: 'Read a trace',
    description:
      'Answers "what happened in this run": one trace with its spans and scores. A long trace is returned as an ' +
      'outline: its span tree with shortened contents and a note. To read more, call again: with `spanIds` for full ' +
      "spans, with `field` for parts of the trace's own input, output or metadata, or with `after` for the next part " +
      'of a long tree. Use `detail` "full" only if you need everything.',
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
    title: 'List scores',
    description:
      'Answers "how were runs rated": scores of all traces, newest first, filtered by name, environment or time. ' +
      "For traces with a low score, call search_traces; for one trace's scores, get_trace_scores. If " +
      '`environment` is set, any page may be short or empty: continue until nextCursor is null.',
    annotations: READS,
    examples: [{ name: 'helpfulness', limit: 20 }],
    view: LIST_VIEWS.scores
  },
  {
    name: 'get_trace_scores',
    operation: 'listTraceScores',
    title: "Read a trace's scores",
    description:
      "Returns all of a trace's scores, newest first, with comments. get_trace also includes them, but its response " +
      'is longer.',
    annotations: READS,
    examples: [{ traceId: TRACE_ID }]
  },
  {
    name: 'list_spans',
    operation: 'listSpans',
    title: 'List steps',
    description:
      'Answers "which steps": failed tool calls or slow model calls (`sort` "slowest") across traces, newest first, ' +
      "filtered by kind, name, status, model, minimum duration, or the trace's traceId, traceName, tag, user, " +
      'session, environment or time. Returns why a step failed and the sizes of its texts; `texts` adds the ' +
      'beginning of each, and get_trace with `spanIds` returns them in full. For grouped failures, call list_errors. ' +
      'A page may be short or empty: continue until nextCursor is null. If nothing is found, `hint` lists the ' +
      'nearest existing values.',
    annotations: READS,
    examples: [
      { kind: 'tool', status: 'error', limit: 10 },
      { kind: 'llm', sort: 'slowest', from: '2026-11-16T00:00:00Z', limit: 10 }
    ],
    view: LIST_VIEWS.spans
  },
  {
    name: 'list_errors',
    operation: 'listErrors',
    title: 'Group failures',
    description:
      'Answers "what fails", "which tool failed most" (`steps`, with `kind` "tool"), "since when": failed steps ' +
      'grouped by name, error type and message (ids, paths, times and numbers are ignored), with count, traces, ' +
      "first and last time, and an example to read with get_trace, filtered by the trace's tag, user, session, " +
      'traceName or environment. Without `from` and `to`, it covers the last 7 days. If `complete` is false, narrow ' +
      'the period or call again with `after` set to nextCursor. passedOn counts steps that failed because a step ' +
      'inside them did. For individual failures, call list_spans with `status` "error".',
    annotations: READS,
    examples: [{ limit: 20 }, { kind: 'tool', from: '2026-11-21T00:00:00Z' }, { tag: 'prompt:v13' }],
    view: LIST_VIEWS.errors
  },
  {
    name: 'list_sessions',
    operation: 'listSessions',
    title: 'List sessions',
    description:
      'Answers "which conversations": sessions, newest first by their last trace, with traces, errors, tokens and ' +
      "cost, filtered by userId or id prefix. For one session's traces, call search_traces with sessionId. A page " +
      'may be short or empty: continue until nextCursor is null. If nothing is found, `hint` lists the nearest ' +
      'existing values.',
    annotations: READS,
    examples: [{ limit: 10 }, { userId: 'customer-7', limit: 5 }, { prefix: 'chat-' }],
    view: LIST_VIEWS.sessions
  },
  {
    name: 'list_users',
    operation: 'listUsers',
    title: 'List users',
    description:
      'Answers "which users": users, newest first by their last trace, with traces, errors, tokens and cost for ' +
      'whole days (UTC), filtered by environment or id prefix. To rank users by cost or errors, call get_usage with ' +
      '`by` "user"; for one user\'s sessions, list_sessions. If nothing is found, `hint` lists the nearest existing ' +
      'values.',
    annotations: READS,
    examples: [{ limit: 10 }, { prefix: 'customer-' }, { from: '2026-11-21T00:00:00Z', environment: 'production' }],
    view: LIST_VIEWS.users
  },
  {
    name: 'list_changes',
    operation: 'listChanges',
    title: 'List changes',
    description:
      'Answers "what was written since": the traces that were recorded or changed since a cursor, in their current ' +
      'state, whenever they started. To start, set `after` to "now"; in each later call, set it to the last ' +
      'nextCursor. Without `after`, the list starts with all stored traces. For the newest traces, call list_traces.',
    annotations: READS,
    examples: [{ after: 'now' }],
    view: LIST_VIEWS.changes
  },
  {
    name: 'get_project',
    operation: 'getProject',
    title: 'Describe the project',
    description:
      'Returns the project of the API key: its name, how many traces and spans it holds, how much of its storage is ' +
      'used, when the last trace arrived, and what the key can do.',
    annotations: READS
  },
  {
    name: 'get_usage',
    operation: 'getUsage',
    title: 'Sum traces over time',
    description:
      'Answers "what did it cost", "why did it double" (`interval` "day"), "which prompt or user costs most", "which ' +
      'calls have no price" (`withoutCost`), "which tool fails most" (`by` "step", `stepKind` "tool", `sort` ' +
      '"errors"): sums of traces, errors, tokens, cost and durations (p50, p95), in total and by model, name, ' +
      'environment, user, step or tag:KEY, by hour or day, for all traces or those with a tag, user, session, name, ' +
      'model or environment. To compare two prompts, set `by` to "tag:prompt", or filter by each tag. Without `from` ' +
      'and `to`, it covers the last 7 days. For the traces themselves, call search_traces. With `scores`, each group ' +
      'includes its mean scores. If nothing is found, `hint` lists existing values.',
    annotations: READS,
    examples: [
      { by: 'model' },
      { by: 'step', stepKind: 'tool', sort: 'errors', limit: 10 },
      { by: 'model', tag: 'prompt:v13' },
      { by: 'tag:prompt', from: '2026-11-21T00:00:00Z', to: '2026-11-28T00:00:00Z' },
      { interval: 'day' }
    ],
    view: usageView
  },
  {
    name: 'delete_trace',
    operation: 'deleteTrace',
    title: 'Delete a trace',
    description:
      'Permanently deletes a trace with all its spans and scores. Use it only if the user asks for that trace id.',
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    examples: [{ traceId: TRACE_ID }]
  }
]
