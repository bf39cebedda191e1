/**
 * The bodies that clients may send (specification 2.1 to 2.3 and 2.7), as typebox schemas. Validation, the OpenAPI
 * document, the tools and the types all follow from them. Rules that a schema cannot express (the order of times,
 * U+0000 in text columns, 100 levels) are in lib/trace.
 */
import Type, { type Static } from 'typebox'
import { named } from './object.ts'

export const MAX_SPANS = 200
export const MAX_TAGS = 20
export const MAX_EVENTS = 50
/** The most characters of a name, of a short text such as a model, and of a tag. */
export const MAX_NAME = 500
export const MAX_TEXT = 200
export const MAX_TAG = 64
/** The most scores of a trace: section 8 of the specification sets it. The detail of a trace shows all of them. */
export const MAX_SCORES = 100
/** The most bytes of a request body, decoded. */
export const MAX_BODY_BYTES = 2_097_152
/** Bodies of more bytes, decoded, are read and made ready few at a time. Only exports in OTLP may have as many. */
export const LARGE_BODY_BYTES = 8 * 1024 * 1024
/** The most bytes of one stored document: a trace without its spans, or one span. */
export const MAX_DOCUMENT_BYTES = 768_000
/** The most levels of nesting in a body. The outermost object is level 1. */
export const MAX_JSON_DEPTH = 100

export const SPAN_KINDS = ['llm', 'agent', 'tool', 'chain', 'retriever', 'embedding', 'reranker', 'custom'] as const
export const STATUSES = ['ok', 'error', 'unset'] as const
export const DATA_TYPES = ['numeric', 'categorical', 'boolean'] as const
type DataType = (typeof DATA_TYPES)[number]
/** The type of a score's value for each data type, as typeof has it. */
export const VALUE_TYPES = { numeric: 'number', categorical: 'string', boolean: 'boolean' } as const

/** A text of 1 to `maxLength` characters (Unicode code points). */
const text = (maxLength: number, description: string) => Type.String({ minLength: 1, maxLength, description })
/** Any JSON value, kept exactly. */
const json = (description: string) =>
  Type.Unknown({ description: `${description} Any JSON value, kept exactly as sent.` })
const jsonObject = (description: string) =>
  Type.Object(
    {},
    { additionalProperties: true, description: `${description} An object of any JSON values, kept exactly as sent.` }
  )
const timestamp = (description = '') =>
  Type.String({
    format: 'date-time',
    description:
      `${description} ISO 8601; without \`Z\` or an offset it is read as UTC. Kept to the microsecond.`.trim()
  })
export const Timestamp = timestamp()
export const TraceId = Type.String({
  pattern: '^[0-9a-fA-F]{32}$',
  description: '32 hexadecimal characters, folded to lower case.'
})
const spanId = (description = '') =>
  Type.String({
    pattern: '^[0-9a-fA-F]{16}$',
    description: `${description} 16 hexadecimal characters, folded to lower case.`.trim()
  })
export const SpanId = spanId()
const SchemaVersion = Type.Literal(1, { description: 'The version of this body: always 1.' })
const Provider = text(MAX_TEXT, 'Who runs the model: `anthropic`, `openai` and the like.')
const Model = text(MAX_TEXT, 'The model, as its provider names it.')
const TokenCount = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const Usage = named('UsageInput', {
  inputTokens: Type.Optional(TokenCount),
  outputTokens: Type.Optional(TokenCount),
  totalTokens: Type.Optional(TokenCount)
})
const Cost = Type.Number({ minimum: 0, description: 'US dollars.' })
const tags = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: MAX_TAG }), { maxItems: MAX_TAGS, description })

export const EventInput = named('SpanEventInput', {
  name: text(MAX_NAME, 'What happened.'),
  timestamp: timestamp(),
  attributes: Type.Optional(jsonObject('What is known of it.'))
})

export const SpanInput = named('SpanInput', {
  id: spanId('Unique in its trace.'),
  parentSpanId: Type.Optional(
    Type.Union([spanId(), Type.Null()], { description: 'The span that this one is part of; it may arrive later.' })
  ),
  name: text(MAX_NAME, 'What the step is called.'),
  kind: Type.Optional(Type.Enum([...SPAN_KINDS], { description: 'What the step does; left out: `custom`.' })),
  status: Type.Optional(Type.Enum([...STATUSES], { description: 'How the step ended; left out: `unset`.' })),
  startedAt: timestamp(),
  endedAt: timestamp('Not before `startedAt`.'),
  provider: Type.Optional(Provider),
  model: Type.Optional(Model),
  input: Type.Optional(json('What the step was given.')),
  output: Type.Optional(json('What the step gave.')),
  attributes: Type.Optional(jsonObject('Whatever else is known of the step.')),
  events: Type.Optional(Type.Array(EventInput, { maxItems: MAX_EVENTS, description: 'Moments within the step.' })),
  usage: Type.Optional(Usage),
  costUsd: Type.Optional(Cost)
})
export type SpanInput = Static<typeof SpanInput>

const spans = (description: string) => Type.Array(SpanInput, { maxItems: MAX_SPANS, description })

export const TraceInput = named('TraceInput', {
  id: TraceId,
  name: text(MAX_NAME, 'What the run is called.'),
  status: Type.Optional(
    Type.Enum([...STATUSES], { description: 'How the run ended; must be absent when `endedAt` is absent.' })
  ),
  startedAt: timestamp(),
  endedAt: Type.Optional(timestamp('Present: a complete trace; absent: a running one. Not before `startedAt`.')),
  provider: Type.Optional(Provider),
  model: Type.Optional(Model),
  sessionId: Type.Optional(text(MAX_TEXT, 'The conversation or session that the run belongs to.')),
  userId: Type.Optional(text(MAX_TEXT, 'On whose behalf the run was made.')),
  tags: Type.Optional(tags('Labels to find the trace by.')),
  input: Type.Optional(json('What the run was given.')),
  output: Type.Optional(json('What the run gave.')),
  metadata: Type.Optional(jsonObject('Whatever else is known of the run; can be merged into later.')),
  usage: Type.Optional(Usage),
  costUsd: Type.Optional(Cost),
  spans: Type.Optional(spans('The steps of the run.'))
})
export type TraceInput = Static<typeof TraceInput>

export const IngestBody = named('IngestBody', { schemaVersion: SchemaVersion, trace: TraceInput })
export type IngestBody = Static<typeof IngestBody>

export const SpansBody = named('SpansBody', {
  schemaVersion: SchemaVersion,
  spans: Type.Array(SpanInput, { minItems: 1, maxItems: MAX_SPANS, description: 'Finished steps of the run.' })
})
export type SpansBody = Static<typeof SpansBody>

export const EndBody = named('EndBody', {
  schemaVersion: SchemaVersion,
  endedAt: timestamp("Not before the trace's `startedAt`."),
  status: Type.Optional(Type.Enum([...STATUSES], { description: 'How the run ended; left out: `unset`.' })),
  provider: Type.Optional(Provider),
  model: Type.Optional(Model),
  output: Type.Optional(json('What the run gave.')),
  usage: Type.Optional(Usage),
  costUsd: Type.Optional(Cost),
  metadata: Type.Optional(jsonObject("Merged into the trace's metadata, key by key.")),
  tags: Type.Optional(tags("Added to the trace's tags.")),
  spans: Type.Optional(spans('A last batch of finished steps.'))
})
export type EndBody = Static<typeof EndBody>

export const MetadataPatch = named('MetadataPatch', {
  metadata: jsonObject('Each key replaces the key of that name outright; the others are untouched.')
})
export type MetadataPatch = Static<typeof MetadataPatch>

export const ScoreName = Type.String({
  pattern: '^[A-Za-z0-9_-]+$',
  maxLength: 64,
  description: 'What is judged. A name may be scored again: the newest score counts.'
})
/** The schema of a score's value, by its data type. */
export const SCORE_VALUES = {
  numeric: Type.Number(),
  categorical: Type.String({ maxLength: 200 }),
  boolean: Type.Boolean()
}
const scoreMore = {
  comment: Type.Optional(Type.String({ maxLength: 2000 })),
  spanId: Type.Optional(spanId('The span that is judged; left out: the whole trace.'))
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
