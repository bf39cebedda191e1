/**
 * Schema of an export line: the trace detail as the API returns it, plus data that only a restore needs. In `trace` and
 * `spans`, this schema checks the fields added by the service. Fields recorded by the client are checked like a request
 * body. Derived fields (counts, durations, the score summary) are allowed but not read.
 */

import Type, { type Static, type TSchema } from 'typebox'
import { DATA_TYPES, MAX_SCORES, SCORE_VALUES, ScoreName, SpanId, SpanInput, Timestamp } from './input.ts'
import { closed } from './object.ts'
import { MAX_IMPORTED_SPANS } from './otlp-limits.ts'

const orNull = <T extends TSchema>(schema: T) => Type.Optional(Type.Union([schema, Type.Null()]))
const Derived = Type.Optional(Type.Unknown())
const Hash = Type.String({ pattern: '^[0-9a-f]{64}$' })
const { usage: Usage } = SpanInput.properties

const ExportedTrace = Type.Object({
  /** The trace's environment. Omitted if it was never recorded; null means unassigned. */
  environment: orNull(Type.String()),
  keyId: orNull(Type.String({ pattern: '^[0-9A-Za-z_-]{1,64}$' })),
  ingestedAt: orNull(Timestamp),
  metadataUpdatedAt: orNull(Timestamp),
  /** If omitted, the value is computed from the line as if the trace had been recorded whole. */
  bodyHash: Type.Optional(Hash),
  estimatedBytes: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }))
})

const ExportedScore = closed({
  id: SpanId,
  traceId: Derived,
  spanId: orNull(SpanId),
  name: ScoreName,
  dataType: Type.Enum([...DATA_TYPES]),
  value: Type.Union(Object.values(SCORE_VALUES)),
  comment: orNull(Type.String({ maxLength: 2000 })),
  source: Type.Optional(Type.Enum(['api', 'annotation', 'eval'])),
  evaluatorId: orNull(Type.String()),
  runId: orNull(Type.String()),
  createdAt: Timestamp
})
export type ExportedScore = Static<typeof ExportedScore>

/** Messages, or the arguments or result of a tool. */
const Messages = Type.Unknown()
const OptionalCount = Type.Optional(Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]))
/** Token counts and cost of a coding agent's call (lib/trace/span-messages.ts). */
const Facts = closed({
  inputTokens: OptionalCount,
  outputTokens: OptionalCount,
  totalTokens: OptionalCount,
  costUsd: Type.Optional(Type.Number({ minimum: 0 }))
})
const ExportedMessages = closed({
  spanId: SpanId,
  micros: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
  place: Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1 }),
  digest: Type.String({ pattern: '^[0-9a-f]{32}$' }),
  input: Messages,
  output: Messages,
  /** A SpanEvent, which a restore checks. */
  event: Type.Optional(Type.Object({})),
  facts: Type.Optional(Facts),
  call: Type.Optional(Type.String({ minLength: 1, maxLength: 300 }))
})

export const ExportLine = closed({
  trace: ExportedTrace,
  spans: Type.Optional(Type.Array(Type.Object({}), { maxItems: MAX_IMPORTED_SPANS })),
  /** The trace's scores, newest first. */
  scores: Type.Optional(Type.Array(ExportedScore, { maxItems: MAX_SCORES })),
  /** Recorded facts that responses do not show. */
  recorded: Type.Optional(
    closed({
      /** The usage as sent, if different from `trace.usage`. */
      usage: Usage,
      /** The usage of spans as sent, by span id. */
      spanUsage: Type.Optional(Type.Object({})),
      /** The end body's hash, if the trace was streamed. */
      endHash: Type.Optional(Hash),
      /** Ranks of the trace's fields, if OpenTelemetry recorded the trace (lib/trace/states/gathered.ts). */
      ranks: Type.Optional(Type.Object({})),
      /** Hashes of the spans whose texts were cut, as sent, by span id (lib/trace/states/cut-texts.ts). */
      spanHashes: Type.Optional(Type.Object({})),
      /** Call details by span id (lib/trace/call-details.ts). */
      callDetails: Type.Optional(Type.Object({})),
      /** Messages that arrived separately from their spans as log records (lib/trace/span-messages.ts). */
      messages: Type.Optional(Type.Array(ExportedMessages))
    })
  )
})
export type ExportLine = Static<typeof ExportLine>
