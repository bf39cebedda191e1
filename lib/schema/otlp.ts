/**
 * Schemas of OTLP exports in JSON. The schemas describe only the outermost fields. OpenTelemetry defines the rest, and
 * fields that later protocol versions add are ignored.
 */
import Type from 'typebox'

/**
 * Maximum decoded size of a span export, in bytes. An exporter sends up to 512 spans at once, regardless of size, and
 * drops the whole batch if the export is too large.
 */
export const MAX_EXPORT_BYTES = 64 * 1024 * 1024
/**
 * Maximum size of other OTLP bodies and of gRPC messages, in bytes. The size of a gRPC message is not known beforehand.
 */
export const MAX_MESSAGE_BYTES = 8 * 1024 * 1024

/**
 * Maximum number of spans, events, links, attributes and values in an export. An empty part takes two bytes on the wire
 * and a hundred times as much in memory. An exporter's full batch has about a tenth of this number.
 */
export const MAX_EXPORT_PARTS = 500_000

/**
 * Maximum number of values in a large JSON export, counted before parsing. A span with ten attributes has 21 parts and
 * about 55 values, so most exports reach MAX_EXPORT_PARTS first.
 */
export const MAX_EXPORT_VALUES = 4 * MAX_EXPORT_PARTS

/** Name of the attribute that lists what was cut from a span. */
export const TRUNCATED = 'spoor.truncated'

/**
 * Maximum number of characters that describe an export's processes and libraries. The description is counted once per
 * span, because each span stores a copy. An exporter's full batch has about a hundredth of this number.
 */
export const MAX_EXPORT_ORIGINS = 64 * 1024 * 1024

export const PROTOBUF_TYPE = 'application/x-protobuf'

export const ExportRequest = Type.Object(
  {
    resourceSpans: Type.Optional(
      Type.Array(Type.Object({}, { additionalProperties: true }), {
        description: 'The spans, grouped by resource and scope, as `ResourceSpans` from opentelemetry-proto.'
      })
    )
  },
  { title: 'ExportTraceServiceRequest', description: 'An OpenTelemetry span export.' }
)

export const ExportReply = Type.Object(
  {
    partialSuccess: Type.Optional(
      Type.Object(
        {
          rejectedSpans: Type.Optional(
            Type.String({ description: 'The number of rejected spans, as a decimal string.' })
          ),
          errorMessage: Type.Optional(Type.String({ description: 'The reasons, with an example span for each.' }))
        },
        { description: 'Present only if spans were rejected. Sending them again does not help.' }
      )
    )
  },
  { title: 'ExportTraceServiceResponse' }
)

export const LogsRequest = Type.Object(
  {
    resourceLogs: Type.Optional(
      Type.Array(Type.Object({}, { additionalProperties: true }), {
        description: 'The log records, as `ResourceLogs` of opentelemetry-proto.'
      })
    )
  },
  { title: 'ExportLogsServiceRequest', description: 'An OpenTelemetry log export.' }
)

export const LogsReply = Type.Object(
  {
    partialSuccess: Type.Optional(
      Type.Object(
        {
          rejectedLogRecords: Type.Optional(
            Type.String({ description: 'The number of rejected log records, as a decimal string.' })
          ),
          errorMessage: Type.Optional(Type.String({ description: 'The reason.' }))
        },
        {
          description: 'Present only if some records are not kept. Sending them again does not help.'
        }
      )
    )
  },
  { title: 'ExportLogsServiceResponse' }
)

export const MetricsRequest = Type.Object(
  {
    resourceMetrics: Type.Optional(
      Type.Array(Type.Object({}, { additionalProperties: true }), {
        description: 'The metrics, as `ResourceMetrics` of opentelemetry-proto.'
      })
    )
  },
  { title: 'ExportMetricsServiceRequest', description: 'An OpenTelemetry metrics export.' }
)

export const MetricsReply = Type.Object(
  {},
  { title: 'ExportMetricsServiceResponse', description: 'An empty object.', additionalProperties: true }
)
