/**
 * Provides realistic examples of bodies and responses, by operation: a shop's assistant answers a question about an
 * order. Tests check each example against its schema.
 */
import type { EndBody, IngestBody, MetadataPatch, ScoreInput, SpanInput, SpansBody } from '../schema/input.ts'

export interface Examples {
  /** Request bodies by name. */
  readonly body?: Readonly<Record<string, unknown>>
  /** Success responses by status. */
  readonly replies: Readonly<Record<number, unknown>>
}

export const REQUEST_ID = '9f86d081884c7d6500000042'

/**
 * The README, the guide and these examples use different trace ids, so that all examples can be sent to the same
 * server.
 */
export const TRACE_ID = '2f9b6c1e7a4d43f0b8e5d6a1c3f70948'
const MINIMAL_ID = '7d1c5f0e9b2a48c6a1f3d8e4b6709c25'
const STREAMED_ID = '0af7651916cd43dd8448eb211c80319c'
const LLM_SPAN_ID = '00f067aa0ba902b7'
const TOOL_SPAN_ID = 'b7ad6b7169203331'
export const SCORE_ID = '53995c3f42cd8ad8'
export const SESSION_ID = 'chat-1042'
const PROJECT_ID = '1'
const CURSOR = 'bjoxNzYzNzIzNTIyNTAwMDAwOjQy'

/** Trace ids in the paths of operations whose examples would disturb other examples if they used TRACE_ID. */
export const PATH_TRACE_IDS: Readonly<Record<string, string>> = {
  appendSpans: STREAMED_ID,
  endTrace: STREAMED_ID,
  deleteTrace: MINIMAL_ID
}

const minimal: IngestBody = {
  schemaVersion: 1,
  trace: {
    id: MINIMAL_ID,
    name: 'answer-question',
    startedAt: '2026-11-21T11:12:00Z',
    endedAt: '2026-11-21T11:12:02.5Z'
  }
}

const lookup: SpanInput = {
  id: TOOL_SPAN_ID,
  name: 'lookup_order',
  kind: 'tool',
  status: 'ok',
  startedAt: '2026-11-21T11:12:00.100Z',
  endedAt: '2026-11-21T11:12:00.900Z',
  input: { order: 48213 },
  output: { state: 'in transit' },
  events: [{ name: 'retry', timestamp: '2026-11-21T11:12:00.500Z', attributes: { reason: 'timeout' } }]
}

const answer: SpanInput = {
  id: LLM_SPAN_ID,
  parentSpanId: null,
  name: 'answer',
  kind: 'llm',
  status: 'ok',
  startedAt: '2026-11-21T11:12:01.000Z',
  endedAt: '2026-11-21T11:12:02.400Z',
  provider: 'anthropic',
  model: 'claude-sonnet-4-5',
  input: [{ role: 'user', content: 'Where is my order 48213?' }],
  output: { role: 'assistant', content: 'It arrives tomorrow before noon.' },
  attributes: { temperature: 0.2 },
  usage: { inputTokens: 612, outputTokens: 48 },
  costUsd: 0.002556
}

const full: IngestBody = {
  schemaVersion: 1,
  trace: {
    ...minimal.trace,
    id: TRACE_ID,
    status: 'ok',
    provider: 'anthropic',
    model: 'claude-sonnet-4-5',
    sessionId: SESSION_ID,
    userId: 'customer-7',
    tags: ['support', 'web'],
    input: { question: 'Where is my order 48213?' },
    output: { answer: 'It arrives tomorrow before noon.' },
    metadata: { release: '2.14.0' },
    usage: { inputTokens: 612, outputTokens: 48, totalTokens: 660 },
    costUsd: 0.002556,
    spans: [lookup, answer]
  }
}

/** Two bodies to record: one with the fewest fields, and one with every field. */
export const INGEST_EXAMPLES = { minimal, full }

const started: IngestBody = {
  schemaVersion: 1,
  trace: {
    id: STREAMED_ID,
    name: 'draft-newsletter',
    startedAt: '2026-11-21T11:12:00Z',
    input: 'Three new books for the spring newsletter, please.'
  }
}
const appended: SpansBody = { schemaVersion: 1, spans: [lookup, answer] }
const ended: EndBody = {
  schemaVersion: 1,
  endedAt: '2026-11-21T11:12:05.600Z',
  status: 'ok',
  output: 'Spring is for reading in the garden: three books to take with you.',
  usage: { inputTokens: 940, outputTokens: 120 },
  costUsd: 0.00462
}
const patch: MetadataPatch = { metadata: { reviewed: true, reviewer: 'ada' } }

const numeric: ScoreInput = {
  name: 'helpfulness',
  dataType: 'numeric',
  value: 0.92,
  comment: 'Answers the question and names a time.'
}
const categorical: ScoreInput = { name: 'verdict', dataType: 'categorical', value: 'correct' }
const boolean: ScoreInput = { name: 'grounded', dataType: 'boolean', value: true, spanId: LLM_SPAN_ID }

/** An export of one model call, with OpenTelemetry's own attribute names. */
const exported = {
  resourceSpans: [
    {
      resource: { attributes: [{ key: 'service.name', value: { stringValue: 'shop-assistant' } }] },
      scopeSpans: [
        {
          spans: [
            {
              traceId: '5b8efff798038103d269b633813fc60c',
              spanId: 'eee19b7ec3c1b174',
              name: 'chat claude-sonnet-4-5',
              kind: 3,
              startTimeUnixNano: '1795259521000000000',
              endTimeUnixNano: '1795259522400000000',
              attributes: [
                { key: 'gen_ai.operation.name', value: { stringValue: 'chat' } },
                { key: 'gen_ai.response.model', value: { stringValue: 'claude-sonnet-4-5' } },
                { key: 'gen_ai.usage.input_tokens', value: { intValue: '612' } }
              ]
            }
          ]
        }
      ]
    }
  ]
}

const logs = {
  resourceLogs: [
    {
      scopeLogs: [
        {
          logRecords: [
            {
              traceId: '5b8efff798038103d269b633813fc60c',
              spanId: 'eee19b7ec3c1b174',
              timeUnixNano: '1795259521000000000',
              eventName: 'gen_ai.user.message',
              body: { kvlistValue: { values: [{ key: 'content', value: { stringValue: 'Where is my order?' } }] } }
            }
          ]
        }
      ]
    }
  ]
}

const summary = {
  id: TRACE_ID,
  name: 'answer-question',
  status: 'ok',
  environment: 'production',
  startedAt: '2026-11-21T11:12:00.000Z',
  endedAt: '2026-11-21T11:12:02.500Z',
  durationMs: 2500,
  provider: 'anthropic',
  model: 'claude-sonnet-4-5',
  sessionId: SESSION_ID,
  userId: 'customer-7',
  tags: ['support', 'web'],
  usage: { inputTokens: 612, outputTokens: 48, totalTokens: 660 },
  costUsd: 0.002556,
  spanCount: 2,
  errorCount: 0,
  estimatedBytes: 1418,
  ingestedAt: '2026-11-21T11:12:02.731Z',
  scores: { helpfulness: { scoreId: SCORE_ID, dataType: 'numeric', value: 0.92, evaluatorId: null } }
}

const spans = [
  {
    ...lookup,
    traceId: TRACE_ID,
    parentSpanId: null,
    durationMs: 800,
    provider: null,
    model: null,
    attributes: {},
    usage: null,
    costUsd: null
  },
  {
    ...answer,
    traceId: TRACE_ID,
    durationMs: 1400,
    events: [],
    usage: { inputTokens: 612, outputTokens: 48, totalTokens: 660 }
  }
]

const score = {
  id: SCORE_ID,
  traceId: TRACE_ID,
  spanId: null,
  ...numeric,
  source: 'api',
  evaluatorId: null,
  runId: null,
  createdAt: '2026-11-21T11:20:00.000Z'
}

const detail = {
  trace: {
    ...summary,
    input: full.trace.input,
    output: full.trace.output,
    metadata: full.trace.metadata,
    metadataUpdatedAt: null,
    bodyHash: '2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae'
  },
  spans,
  scores: [score]
}

const sums = { traceCount: 3, errorCount: 1, inputTokens: 2140, outputTokens: 310, costUsd: 0.011 }
const session = {
  id: SESSION_ID,
  ...sums,
  partial: false,
  firstStartedAt: '2026-11-21T11:02:00.000Z',
  lastStartedAt: summary.startedAt
}
const user = {
  id: 'customer-7',
  ...sums,
  firstDay: '2026-11-03T00:00:00.000Z',
  lastStartedAt: summary.startedAt
}

const listedSpan = {
  id: TOOL_SPAN_ID,
  traceId: TRACE_ID,
  parentSpanId: null,
  name: 'lookup_order',
  kind: 'tool',
  status: 'error',
  startedAt: '2026-11-21T11:12:00.100Z',
  endedAt: '2026-11-21T11:12:00.900Z',
  durationMs: 800,
  provider: null,
  model: null,
  traceName: 'answer-question',
  environment: 'production',
  usage: null,
  costUsd: null,
  error: { type: 'TimeoutError', message: 'Order 48213: no answer from 10.0.3.7:5432 after 800 ms' },
  inputBytes: 15,
  outputBytes: 0,
  attributesBytes: 97,
  eventCount: 0
}
const failures = {
  name: 'lookup_order',
  kind: 'tool',
  type: 'TimeoutError',
  message: 'Order <number>: no answer from <address> after <number> ms',
  count: 17,
  passedOn: 0,
  traces: 15,
  firstSeen: '2026-11-19T08:30:11.000Z',
  lastSeen: '2026-11-21T11:12:00.100Z',
  example: { traceId: TRACE_ID, spanId: TOOL_SPAN_ID, message: listedSpan.error.message }
}

const firstError = {
  spanId: TOOL_SPAN_ID,
  step: 'lookup_order',
  kind: 'tool',
  type: 'TimeoutError',
  message: 'The order service did not respond within 800 ms.'
}

const requestId = REQUEST_ID
const recorded = { ok: true, traceId: TRACE_ID, projectId: PROJECT_ID, spanCount: 2, running: false, requestId }

/** The answer to `status=error&stepKind=tool&errors=true`, newest first, with every match. */
const searchPage = {
  traces: [
    {
      ...summary,
      status: 'error',
      errorCount: 1,
      firstError,
      inputPreview: 'Where is my order 48213?',
      outputPreview: 'It arrives tomorrow before noon.',
      excerpt: null,
      moreExcerpts: []
    }
  ],
  nextCursor: null,
  pageSize: 50,
  examined: 4210,
  reached: null,
  hint: null,
  index: null
}
const usage = {
  traces: 1204,
  errors: 17,
  inputTokens: 1_531_020,
  outputTokens: 240_811,
  costUsd: 3.077424,
  computedCostUsd: 0,
  withoutCost: 3,
  p50Ms: 2731,
  p95Ms: 9140
}

export const EXAMPLES: Readonly<Record<string, Examples>> = {
  getKey: {
    replies: {
      200: {
        keyId: 'Zk3rT9xQ2mWb7LpA',
        projectId: PROJECT_ID,
        scopes: ['traces:write', 'traces:read'],
        expiresAt: null,
        lastUsedAt: '2026-11-21T11:12:00.000Z',
        environment: 'production'
      }
    }
  },
  getProject: {
    replies: {
      200: {
        id: PROJECT_ID,
        name: 'default',
        slug: 'default',
        description: '',
        traceCount: 1204,
        spanCount: 9631,
        estimatedBytes: 21_570_300,
        lastTraceAt: '2026-11-21T11:12:02.731Z',
        createdAt: '2026-11-01T08:00:00.000Z',
        storage: { limitBytes: 10_737_418_240, level: 'ok' },
        keyScopes: ['traces:write', 'traces:read']
      }
    }
  },
  recordTrace: {
    body: { minimal, full, running: started },
    replies: { 200: { ...recorded, duplicate: true }, 201: { ...recorded, duplicate: false } }
  },
  appendSpans: {
    body: { spans: appended },
    replies: { 200: { ok: true, traceId: STREAMED_ID, added: 2, duplicate: 0, spanCount: 2, requestId } }
  },
  endTrace: {
    body: { end: ended },
    replies: { 200: { ok: true, traceId: STREAMED_ID, duplicate: false, spanCount: 2, requestId } }
  },
  recordOtlp: {
    body: { export: exported },
    replies: {
      200: {
        partialSuccess: {
          rejectedSpans: '1',
          errorMessage: `1 rejected: spans without a start time (such as span ${TOOL_SPAN_ID} of trace ${TRACE_ID})`
        }
      }
    }
  },
  recordOtlpLogs: {
    body: { logs },
    replies: {
      200: {
        partialSuccess: {
          rejectedLogRecords: '2',
          errorMessage: '2 rejected: messages must have the ids of a trace and a span'
        }
      }
    }
  },
  acceptOtlpMetrics: { body: { metrics: { resourceMetrics: [] } }, replies: { 200: {} } },
  listTraces: { replies: { 200: { traces: [summary], nextCursor: CURSOR, prevCursor: null, pageSize: 1 } } },
  searchTraces: { replies: { 200: searchPage } },
  getTrace: { replies: { 200: detail } },
  patchTraceMetadata: {
    body: { patch },
    replies: {
      200: {
        ok: true,
        traceId: TRACE_ID,
        metadata: { ...full.trace.metadata, ...patch.metadata },
        changed: true,
        requestId
      }
    }
  },
  deleteTrace: { replies: { 200: { ok: true, traceId: TRACE_ID } } },
  deleteTraces: {
    body: {
      traces: { traceIds: [MINIMAL_ID, STREAMED_ID] },
      user: { userId: 'customer-8' },
      session: { sessionId: 'chat-1043' },
      count: { userId: 'customer-8', dryRun: true }
    },
    replies: { 200: { ok: true, deleted: 1000, remaining: 204 } }
  },
  addScore: { body: { numeric, categorical, boolean }, replies: { 201: { ok: true, score, requestId } } },
  listTraceScores: { replies: { 200: { traceId: TRACE_ID, scores: [score] } } },
  deleteScore: { replies: { 200: { ok: true, traceId: TRACE_ID, scoreId: SCORE_ID } } },
  listSpans: {
    replies: { 200: { spans: [listedSpan], nextCursor: CURSOR, reached: null, hint: null, pageSize: 1 } }
  },
  listErrors: {
    replies: {
      200: {
        from: '2026-11-14T12:00:00.000Z',
        to: '2026-11-21T12:00:00.000Z',
        errors: [failures],
        steps: [
          { name: failures.name, kind: failures.kind, count: 17, passedOn: failures.passedOn, traces: failures.traces }
        ],
        failureCount: 17,
        groupCount: 1,
        complete: true,
        reached: null,
        nextCursor: null,
        hint: null,
        pageSize: 50
      }
    }
  },
  listSessions: { replies: { 200: { sessions: [session], hint: null, nextCursor: null, pageSize: 50 } } },
  getSession: {
    replies: {
      200: {
        session: { ...session, runningCount: 0, durationMs: 9200, users: ['customer-7'] },
        traces: [{ ...summary, firstError }],
        nextCursor: CURSOR,
        pageSize: 1
      }
    }
  },
  listUsers: {
    replies: {
      200: {
        users: [user],
        from: '2026-10-23T00:00:00.000Z',
        countedFrom: null,
        hint: null,
        nextCursor: null,
        pageSize: 50
      }
    }
  },
  listScores: { replies: { 200: { scores: [score], nextCursor: null, pageSize: 50 } } },
  listChanges: { replies: { 200: { traces: [summary], nextCursor: CURSOR, caughtUp: true, pageSize: 50 } } },
  getUsage: {
    replies: {
      200: {
        from: '2026-11-14T11:12:00.000Z',
        to: '2026-11-21T11:12:00.000Z',
        by: 'model',
        interval: 'none',
        approximate: false,
        countedFrom: null,
        total: usage,
        rows: [{ start: null, key: summary.model, kind: null, isOther: false, steps: null, ...usage }],
        others: 0,
        hint: null
      }
    }
  }
}
