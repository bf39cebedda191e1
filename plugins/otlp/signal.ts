/** The common part of the routes of OTLP's signals (traces, logs, metrics). */
import type { TSchema } from 'typebox'
import { isProtobuf } from '../../lib/http/otlp/otlp-address.ts'
import { Content, JsonText, type RequestOf, type RouteOptions } from '../../lib/http/route.ts'
import { encodeJson } from '../../lib/otlp/wire/json-request.ts'
import { encodeProtobuf } from '../../lib/otlp/wire/protobuf.ts'
import type { OtlpEncoding } from '../../lib/otlp/wire/request.ts'
import { MAX_MESSAGE_BYTES, PROTOBUF_TYPE } from '../../lib/schema/otlp.ts'
import { readExporterAuthorization } from './authorization.ts'

export interface Signal {
  readonly path: string
  readonly operation: string
  /** The method of gRPC. */
  readonly grpc: string
  readonly summary: string
  readonly description: string
  /** The messages of opentelemetry-proto, such as `ExportTraceServiceRequest`. */
  readonly request: string
  readonly reply: string
  readonly body: TSchema
  /** MAX_MESSAGE_BYTES if it is left out. */
  readonly maxBodyBytes?: number
  readonly replyBody: TSchema
  readonly outcome: string
  readonly errors: RouteOptions['errors'] & {}
  /**
   * The field of a partial success that counts what was refused, in JSON. In protobuf it has the same number in all.
   */
  readonly rejected: string
  /** Takes an export, and says how much of it was refused and why. */
  take(
    request: Pick<RequestOf<unknown>, 'key' | 'payload'>,
    encoding: OtlpEncoding
  ): SignalOutcome | Promise<SignalOutcome>
}

export interface SignalOutcome {
  readonly rejected: number
  readonly message: string
}

/** The route of a signal. Its answer has the encoding of the request. */
export function signalRoute(signal: Signal): RouteOptions {
  const { path, operation, grpc, summary, description, request, reply, body, replyBody, outcome, errors } = signal
  const { maxBodyBytes = MAX_MESSAGE_BYTES } = signal
  return {
    method: 'POST',
    path,
    operation,
    access: 'traces:write',
    readAuthorization: readExporterAuthorization,
    summary,
    description,
    body,
    maxBodyBytes,
    binary: {
      type: PROTOBUF_TYPE,
      body: `An \`${request}\` of opentelemetry-proto.`,
      reply: `An \`${reply}\`, to a request in this encoding.`,
      error: 'A `google.rpc.Status`, to a request in this encoding.'
    },
    grpc,
    takesBody: true,
    replies: { 200: replyBody },
    outcomes: { 200: outcome },
    errors,
    async handler({ key, payload, headers }) {
      const encoding = isProtobuf(headers) ? 'protobuf' : 'json'
      const { rejected, message } = await signal.take({ key, payload }, encoding)
      if (encoding === 'json') return { body: new JsonText(encodeJson(rejected, message, signal.rejected)) }
      return { body: new Content(PROTOBUF_TYPE, encodeProtobuf(rejected, message)) }
    }
  }
}
