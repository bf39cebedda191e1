/** Builds the routes of the OTLP signals (traces, logs, metrics). */
import type { TSchema } from 'typebox'
import { isProtobuf } from '../../lib/http/otlp/otlp-address.ts'
import { Content, JsonText, type RequestOf, type RouteOptions } from '../../lib/http/route.ts'
import { encodeJson } from '../../lib/otlp/wire/json-request.ts'
import { encodeProtobuf } from '../../lib/otlp/wire/protobuf.ts'
import type { OtlpEncoding } from '../../lib/otlp/wire/request.ts'
import { MAX_MESSAGE_BYTES, PROTOBUF_TYPE } from '../../lib/schema/otlp.ts'
import { readExporterAuthorization } from './authorization.ts'

export interface SignalRoute {
  readonly path: string
  readonly operation: string
  /** Path of the gRPC method. */
  readonly grpc: string
  readonly summary: string
  readonly description: string
  /** Names of opentelemetry-proto messages, such as `ExportTraceServiceRequest`. */
  readonly request: string
  readonly reply: string
  readonly body: TSchema
  /** Maximum size of a body in bytes; MAX_MESSAGE_BYTES by default. */
  readonly maxBodyBytes?: number
  readonly replyBody: TSchema
  readonly outcome: string
  readonly errors: RouteOptions['errors'] & {}
  /**
   * JSON name of the partial-success field that counts rejected items. The field has the same protobuf number in all
   * signals.
   */
  readonly rejected: string
  /** Processes an export. Returns the number of rejected items and the reason. */
  take(
    request: Pick<RequestOf<unknown>, 'key' | 'payload'>,
    encoding: OtlpEncoding
  ): SignalOutcome | Promise<SignalOutcome>
}

export interface SignalOutcome {
  readonly rejected: number
  readonly message: string
}

/** Returns the route of a signal. Responses use the request's encoding. */
export function signalRoute(signal: SignalRoute): RouteOptions {
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
      reply: `An \`${reply}\`, in the encoding of the request.`,
      error: 'A `google.rpc.Status`, in the encoding of the request.'
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
