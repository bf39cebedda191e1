/**
 * An OTLP export in JSON, as far as it is described here: the rest is OpenTelemetry's to say, and what it adds to the
 * protocol is passed over.
 */
import Type from 'typebox'

/** OTLP bodies, decoded: a full batch of the exporters (512 spans) with what models were told is beyond the other limit. */
export const MAX_EXPORT_BYTES = 8 * 1024 * 1024

/**
 * Spans, events, links, attributes and values of an export, all together: an empty one takes two bytes on the wire, and a
 * hundred times that in memory. A full batch of the exporters has a tenth of it.
 */
export const MAX_EXPORT_PARTS = 500_000

/**
 * What an export says of its processes and libraries, in characters, counted once for each of their spans: that is how
 * often it is stored. A full batch of the exporters has a hundredth of it.
 */
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
