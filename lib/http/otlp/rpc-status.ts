/**
 * Encodes errors as protobuf `google.rpc.Status`, which is the response body in OTLP over HTTP and the error detail in
 * OTLP over gRPC.
 */
import protobuf from 'protobufjs'
import { RETRY_AFTER_S, type Refusal, type RefusalCode } from '../../errors.ts'

/** gRPC status codes. */
const INVALID_ARGUMENT = 3
const NOT_FOUND = 5
const ALREADY_EXISTS = 6
const PERMISSION_DENIED = 7
const RESOURCE_EXHAUSTED = 8
const FAILED_PRECONDITION = 9
const UNIMPLEMENTED = 12
const INTERNAL = 13
const UNAVAILABLE = 14
const UNAUTHENTICATED = 16

/**
 * gRPC code of each error. Exporters retry after codes such as RESOURCE_EXHAUSTED, OUT_OF_RANGE and UNAVAILABLE, so a
 * body that is too large must be rejected with a different code.
 */
const RPC_CODES: { readonly [code in RefusalCode]: number } = {
  invalid_json: INVALID_ARGUMENT,
  invalid_trace: INVALID_ARGUMENT,
  invalid_request: INVALID_ARGUMENT,
  invalid_api_key: UNAUTHENTICATED,
  sign_in_required: UNAUTHENTICATED,
  insufficient_scope: PERMISSION_DENIED,
  trial_limit_reached: PERMISSION_DENIED,
  forbidden: PERMISSION_DENIED,
  fresh_sign_in_required: PERMISSION_DENIED,
  code_required: PERMISSION_DENIED,
  factor_required: PERMISSION_DENIED,
  not_found: NOT_FOUND,
  method_not_allowed: UNIMPLEMENTED,
  trace_id_conflict: ALREADY_EXISTS,
  trace_finished: FAILED_PRECONDITION,
  span_conflict: ALREADY_EXISTS,
  conflict: FAILED_PRECONDITION,
  cursor_expired: FAILED_PRECONDITION,
  payload_too_large: INVALID_ARGUMENT,
  unsupported_encoding: INVALID_ARGUMENT,
  quota_exhausted: RESOURCE_EXHAUSTED,
  too_many_requests: RESOURCE_EXHAUSTED,
  too_many_attempts: RESOURCE_EXHAUSTED,
  internal_error: INTERNAL,
  not_configured: INTERNAL,
  unavailable: UNAVAILABLE
}

export const rpcCodeOf = ({ code }: Pick<Refusal, 'code'>): number => RPC_CODES[code]

/** Protobuf tags. A tag combines a field's number with the wire type: 0 for a number, 2 for length-delimited data. */
const TAG = { code: 8, message: 18, details: 26, typeUrl: 10, value: 18, retryDelay: 10, seconds: 8 }
const RETRY_INFO = 'type.googleapis.com/google.rpc.RetryInfo'

/** Encodes a refusal as a `google.rpc.Status`, with the retry delay if the client should retry. */
export function encodeStatus(refusal: Pick<Refusal, 'code' | 'message'>): Uint8Array {
  const code = rpcCodeOf(refusal)
  const status = protobuf.Writer.create().uint32(TAG.code).int32(code).uint32(TAG.message).string(refusal.message)
  if (code !== RESOURCE_EXHAUSTED && code !== UNAVAILABLE) return status.finish()
  const delay = protobuf.Writer.create().uint32(TAG.seconds).int64(RETRY_AFTER_S).finish()
  const info = protobuf.Writer.create().uint32(TAG.retryDelay).bytes(delay).finish()
  const any = protobuf.Writer.create().uint32(TAG.typeUrl).string(RETRY_INFO).uint32(TAG.value).bytes(info).finish()
  return status.uint32(TAG.details).bytes(any).finish()
}
