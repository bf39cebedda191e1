/** Takes spans as OpenTelemetry's exporters send them: over HTTP, in protobuf or JSON. */
import { readExporterAuthorization } from '../lib/access/authorization.ts'
import type { App } from '../lib/app.ts'
import { isProtobuf } from '../lib/http/otlp-address.ts'
import { Content, JsonText } from '../lib/http/route.ts'
import { encodeJson } from '../lib/otlp/wire/json-request.ts'
import { encodeProtobuf } from '../lib/otlp/wire/protobuf.ts'
import { ExportReply, ExportRequest, MAX_EXPORT_BYTES, PROTOBUF_TYPE } from '../lib/schema/otlp.ts'

export default function otlp(app: App) {
  app.route({
    method: 'POST',
    path: '/api/v1/otlp/v1/traces',
    operation: 'recordOtlp',
    access: 'traces:write',
    readAuthorization: readExporterAuthorization,
    summary: 'Record spans that OpenTelemetry sends',
    description:
      'OTLP over HTTP. Spans are gathered into traces by their trace ids, in any order and over any number of exports; a ' +
      'trace is running until its root span has come. What is sent again is recognised; what cannot be stored is counted ' +
      'in `partialSuccess`, and the rest is stored.',
    body: ExportRequest,
    maxBodyBytes: MAX_EXPORT_BYTES,
    binary: {
      type: PROTOBUF_TYPE,
      body: 'An `ExportTraceServiceRequest` of opentelemetry-proto.',
      reply: 'An `ExportTraceServiceResponse`, to a request in this encoding.',
      error: 'A `google.rpc.Status`, to a request in this encoding.'
    },
    takesBody: true,
    replies: { 200: ExportReply },
    outcomes: { 200: 'Every span is stored, or counted in `partialSuccess`.' },
    errors: ['invalid_request', 'trial_limit_reached'],
    async handler({ key, payload, headers }) {
      const isBinary = isProtobuf(headers)
      const { rejectedSpans, message } = await app.ingest.export(key, payload, isBinary ? 'protobuf' : 'json')
      if (!isBinary) return { body: new JsonText(encodeJson(rejectedSpans, message)) }
      return { body: new Content(PROTOBUF_TYPE, encodeProtobuf(rejectedSpans, message)) }
    }
  })
}
