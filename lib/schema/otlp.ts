/**
 * The schema of an OTLP export in JSON. It describes only the outermost fields; OpenTelemetry defines the rest, and
 * fields that it adds to the protocol are ignored.
 */
import Type from 'typebox'

/**
 * The most bytes of an export of spans, decoded. An exporter sends up to 512 spans at once, whatever is in them, and
 * drops all of them if they are too much.
 */
export const MAX_EXPORT_BYTES = 64 * 1024 * 1024
/** The most bytes of other OTLP bodies, and of a message of gRPC, which does not say beforehand how long it is. */
export const MAX_MESSAGE_BYTES = 8 * 1024 * 1024

/**
 * The most parts of an export: spans, events, links, attributes and values together. An empty part takes two bytes on
 * the wire, and a hundred times as much in memory. A full batch of an exporter has a tenth of this.
 */
export const MAX_EXPORT_PARTS = 500_000

/**
 * The most values of a large export in JSON, which are counted before it is parsed. A span of ten attributes has 21
 * parts and about 55 values, so that most exports reach MAX_EXPORT_PARTS first.
 */
export const MAX_EXPORT_VALUES = 4 * MAX_EXPORT_PARTS

/**
 * The most characters that describe the processes and libraries of an export. They are counted for each span, because
 * each span stores them. A full batch of an exporter has a hundredth of this.
 */
/** The most spans of a trace that OpenTelemetry records, if OTLP_MAX_SPANS does not say otherwise. */
export const DEFAULT_MAX_SPANS = 10_000
export const MAX_EXPORT_ORIGINS = 64 * 1024 * 1024

export const PROTOBUF_TYPE = 'application/x-protobuf'

export const ExportRequest = Type.Object(
  {
    resourceSpans: Type.Optional(
      Type.Array(Type.Object({}, { additionalProperties: true }), {
        description: 'Spans, by the process and by the library that made them: `ResourceSpans` of opentelemetry-proto.'
      })
    )
  },
  { title: 'ExportTraceServiceRequest', description: 'An export as OpenTelemetry has it.' }
)

export const ExportReply = Type.Object(
  {
    partialSuccess: Type.Optional(
      Type.Object(
        {
          rejectedSpans: Type.Optional(Type.String({ description: 'How many, as decimal text.' })),
          errorMessage: Type.Optional(Type.String({ description: 'Why, with one span of each kind to look at.' }))
        },
        { description: 'Only where spans were refused. Sending them again changes nothing.' }
      )
    )
  },
  { title: 'ExportTraceServiceResponse' }
)

export const LogsRequest = Type.Object(
  {
    resourceLogs: Type.Optional(
      Type.Array(Type.Object({}, { additionalProperties: true }), {
        description: '`ResourceLogs` of opentelemetry-proto.'
      })
    )
  },
  { title: 'ExportLogsServiceRequest', description: 'Log records as OpenTelemetry has them.' }
)

export const LogsReply = Type.Object(
  {
    partialSuccess: Type.Optional(
      Type.Object(
        {
          rejectedLogRecords: Type.Optional(Type.String({ description: 'How many, as decimal text.' })),
          errorMessage: Type.Optional(Type.String({ description: 'Why.' }))
        },
        { description: 'Only where messages of model calls name no span. Sending them again changes nothing.' }
      )
    )
  },
  { title: 'ExportLogsServiceResponse' }
)

export const MetricsRequest = Type.Object(
  {
    resourceMetrics: Type.Optional(
      Type.Array(Type.Object({}, { additionalProperties: true }), {
        description: '`ResourceMetrics` of opentelemetry-proto.'
      })
    )
  },
  { title: 'ExportMetricsServiceRequest', description: 'Metrics as OpenTelemetry has them.' }
)

export const MetricsReply = Type.Object(
  {},
  { title: 'ExportMetricsServiceResponse', description: 'Empty.', additionalProperties: true }
)
