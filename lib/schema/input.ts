/**
 * Schemas of request bodies (specification 2.1 to 2.3 and 2.7). Validation, the OpenAPI document, the tools and the
 * types all derive from these schemas. lib/trace checks rules that a schema cannot express (the order of times, U+0000
 * in text columns, nesting depth).
 */
import Type, { type Static } from 'typebox'
import { FIELD_VALUES } from './field-values.ts'
import { named } from './object.ts'
import { MAX_IMPORTED_SPANS } from './otlp-limits.ts'

export const MAX_SPANS = 200
export const MAX_TAGS = 20
export const MAX_EVENTS = 50
/** Maximum number of characters in a name, in a tag, and in a short string such as a model. */
export const MAX_NAME = 500
export const MAX_TEXT = 200
export const MAX_TAG = 64
/** Maximum number of scores per trace (specification, section 8). The trace detail shows all scores. */
export const MAX_SCORES = 100
/** Maximum size of a request body, in decoded bytes. */
export const MAX_BODY_BYTES = 2_097_152
/** Decoded size, in bytes, above which bodies are prepared a few at a time. Only OTLP exports may be larger. */
export const LARGE_BODY_BYTES = 8 * 1024 * 1024
/** Maximum size, in bytes, of a stored document: a trace without its spans, or a span. */
export const MAX_DOCUMENT_BYTES = 768_000
/** Maximum nesting depth of a body. The outermost object is level 1. */
export const MAX_JSON_DEPTH = 100

export const SPAN_KINDS = FIELD_VALUES.spanKind
export const STATUSES = FIELD_VALUES.status
export const DATA_TYPES = FIELD_VALUES.dataType

type DataType = (typeof DATA_TYPES)[number]
/** The `typeof` type of a score's value, by data type. */
export const VALUE_TYPES = { numeric: 'number', categorical: 'string', boolean: 'boolean' } as const

/** A string of 1 to `maxLength` characters (Unicode code points). */
const text = (maxLength: number, description: string) => Type.String({ minLength: 1, maxLength, description })
const json = (description: string) =>
  Type.Unknown({ description: `${description} Any JSON value is allowed and kept exactly as sent.` })
const jsonObject = (description: string) =>
  Type.Object(
    {},
    { additionalProperties: true, description: `${description} Values can be any JSON, kept exactly as sent.` }
  )
const timestamp = (description = 'A date and time.') =>
  Type.String({
    format: 'date-time',
    description: `${description} ISO 8601, UTC by default, kept to the microsecond.`
  })
export const Timestamp = timestamp()
export const TraceId = Type.String({
  pattern: '^[0-9a-fA-F]{32}$',
  description: 'A trace id has 32 hexadecimal characters, converted to lower case.'
})
const spanId = (description = 'The id of a span.') =>
  Type.String({
    pattern: '^[0-9a-fA-F]{16}$',
    description: `${description} 16 hexadecimal characters, converted to lower case.`
  })
export const SpanId = spanId()
const SchemaVersion = Type.Literal(1, { description: "The version of the body's format. Always 1." })
const Provider = text(MAX_TEXT, 'The provider of the model, such as `anthropic` or `openai`.')
const Model = text(MAX_TEXT, "The provider's name for the model.")
const TokenCount = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const Usage = named('UsageInput', {
  inputTokens: Type.Optional(TokenCount),
  outputTokens: Type.Optional(TokenCount),
  totalTokens: Type.Optional(TokenCount)
})
const Cost = Type.Number({ minimum: 0, description: 'The cost in US dollars.' })
const tags = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: MAX_TAG }), { maxItems: MAX_TAGS, description })

export const EventInput = named('SpanEventInput', {
  name: text(MAX_NAME, "The event's name."),
  timestamp: timestamp(),
  attributes: Type.Optional(jsonObject("The event's attributes."))
})

export const SpanInput = named('SpanInput', {
  id: spanId("The span's id, unique within its trace."),
  parentSpanId: Type.Optional(
    Type.Union([spanId(), Type.Null()], { description: 'The id of the parent span, which may arrive later.' })
  ),
  name: text(MAX_NAME, "The step's name."),
  kind: Type.Optional(Type.Enum([...SPAN_KINDS], { description: "The step's kind. The default is `custom`." })),
  status: Type.Optional(Type.Enum([...STATUSES], { description: "The step's outcome. The default is `unset`." })),
  startedAt: timestamp(),
  endedAt: timestamp('The end, not before `startedAt`.'),
  provider: Type.Optional(Provider),
  model: Type.Optional(Model),
  input: Type.Optional(json("The step's input.")),
  output: Type.Optional(json("The step's output.")),
  attributes: Type.Optional(jsonObject('Additional attributes of the step.')),
  events: Type.Optional(Type.Array(EventInput, { maxItems: MAX_EVENTS, description: 'Events within the step.' })),
  usage: Type.Optional(Usage),
  costUsd: Type.Optional(Cost)
})
export type SpanInput = Static<typeof SpanInput>

const spans = (description: string) => Type.Array(SpanInput, { maxItems: MAX_SPANS, description })

export const TraceInput = named('TraceInput', {
  id: TraceId,
  name: text(MAX_NAME, "The run's name."),
  status: Type.Optional(
    Type.Enum([...STATUSES], { description: "The run's outcome. It must be absent if `endedAt` is absent." })
  ),
  startedAt: timestamp(),
  endedAt: Type.Optional(timestamp('The end time, not before `startedAt`. Absent while running.')),
  provider: Type.Optional(Provider),
  model: Type.Optional(Model),
  sessionId: Type.Optional(text(MAX_TEXT, "The run's conversation or session.")),
  userId: Type.Optional(text(MAX_TEXT, 'The user on whose behalf the run was made.')),
  tags: Type.Optional(tags('Labels for finding the trace.')),
  input: Type.Optional(json("The run's input.")),
  output: Type.Optional(json("The run's output.")),
  metadata: Type.Optional(jsonObject('Additional data about the run. Later requests can add to it.')),
  usage: Type.Optional(Usage),
  costUsd: Type.Optional(Cost),
  spans: Type.Optional(spans('The steps of the run.'))
})
export type TraceInput = Static<typeof TraceInput>

/**
 * The request body that would record the trace of an export line. A complete trace may have more spans than clients may
 * send.
 */
export const ImportedBody = Type.Object(
  {
    schemaVersion: SchemaVersion,
    trace: Type.Object(
      { ...TraceInput.properties, spans: Type.Optional(Type.Array(SpanInput, { maxItems: MAX_IMPORTED_SPANS })) },
      { additionalProperties: false }
    )
  },
  { additionalProperties: false }
)

export const IngestBody = named('IngestBody', { schemaVersion: SchemaVersion, trace: TraceInput })
export type IngestBody = Static<typeof IngestBody>

export const SpansBody = named('SpansBody', {
  schemaVersion: SchemaVersion,
  spans: Type.Array(SpanInput, { minItems: 1, maxItems: MAX_SPANS, description: 'Finished steps of the run.' })
})
export type SpansBody = Static<typeof SpansBody>

export const EndBody = named('EndBody', {
  schemaVersion: SchemaVersion,
  endedAt: timestamp("The end time, not before the trace's `startedAt`."),
  status: Type.Optional(Type.Enum([...STATUSES], { description: "The run's outcome. The default is `unset`." })),
  provider: Type.Optional(Provider),
  model: Type.Optional(Model),
  output: Type.Optional(json("The run's output.")),
  usage: Type.Optional(Usage),
  costUsd: Type.Optional(Cost),
  metadata: Type.Optional(jsonObject("An object that is merged into the trace's metadata, key by key.")),
  tags: Type.Optional(tags('Tags to add to the trace.')),
  spans: Type.Optional(spans('A final batch of finished steps.'))
})
export type EndBody = Static<typeof EndBody>

export const MetadataPatch = named('MetadataPatch', {
  metadata: jsonObject('Each key replaces the stored value of that key. Other keys are unchanged.')
})
export type MetadataPatch = Static<typeof MetadataPatch>

export const ScoreName = Type.String({
  pattern: '^[A-Za-z0-9_-]+$',
  maxLength: 64,
  description: 'The name of the quality being scored. If a name is scored again, the newest score counts.'
})
/** The schema of a score's value, by data type. */
export const SCORE_VALUES = {
  numeric: Type.Number(),
  categorical: Type.String({ maxLength: 200 }),
  boolean: Type.Boolean()
}
const scoreMore = {
  comment: Type.Optional(Type.String({ maxLength: 2000 })),
  spanId: Type.Optional(spanId('The id of the scored span. Defaults to the whole trace.'))
}
const scoreInput = <D extends DataType>(title: string, dataType: D) =>
  named(title, { name: ScoreName, dataType: Type.Literal(dataType), value: SCORE_VALUES[dataType], ...scoreMore })

export const ScoreInput = Type.Union(
  [
    scoreInput('NumericScoreInput', 'numeric'),
    scoreInput('CategoricalScoreInput', 'categorical'),
    scoreInput('BooleanScoreInput', 'boolean')
  ],
  { title: 'ScoreInput' }
)
export type ScoreInput = Static<typeof ScoreInput>
