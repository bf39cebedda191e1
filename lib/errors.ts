/**
 * Lists every error that an API client can receive: code, status and meaning. Codes are stable. Most codes come from
 * section 7 of the specification; this service adds method_not_allowed, cursor_expired, unsupported_encoding,
 * too_many_requests and unavailable.
 */
export const ERRORS = {
  invalid_json: { status: 400, meaning: 'The body is not valid JSON.' },
  invalid_trace: { status: 400, meaning: 'The body of an ingest, spans or end request violates the schema or a rule.' },
  invalid_request: { status: 400, meaning: 'The query, or the body of a request other than ingest, is invalid.' },
  invalid_api_key: { status: 401, meaning: 'The key is missing, malformed, unknown, expired or revoked.' },
  insufficient_scope: { status: 403, meaning: "The key lacks this route's scope." },
  trial_limit_reached: { status: 403, meaning: 'The trial account has used up its trace allowance.' },
  forbidden: { status: 403, meaning: 'The key belongs to another environment, or the origin is not allowed.' },
  not_found: { status: 404, meaning: 'The requested item does not exist in this project.' },
  method_not_allowed: {
    status: 405,
    meaning: 'The path exists but does not support this method; see the Allow header.'
  },
  trace_id_conflict: { status: 409, meaning: 'A trace with this id but different content already exists.' },
  trace_finished: { status: 409, meaning: 'The trace has already ended.' },
  span_conflict: {
    status: 409,
    meaning: 'A span with this id but different content already exists; the whole batch was rejected.'
  },
  conflict: { status: 409, meaning: 'The trace already has 100 scores.' },
  cursor_expired: { status: 410, meaning: 'The cursor is no longer valid. Start again without a cursor.' },
  payload_too_large: {
    status: 413,
    meaning: 'The request is over 2 MiB, or a stored document would exceed its limit.'
  },
  unsupported_encoding: { status: 415, meaning: 'The Content-Encoding is not gzip, deflate or br.' },
  quota_exhausted: { status: 429, meaning: 'The store rejected the write; nothing was stored. Retry later.' },
  too_many_requests: { status: 429, meaning: 'The project has too many requests in flight. Retry later.' },
  internal_error: { status: 500, meaning: 'An unexpected error.' },
  not_configured: { status: 500, meaning: 'The deployment is not configured; the server log says what is missing.' },
  unavailable: {
    status: 503,
    meaning: 'The server cannot respond now, usually because it cannot reach the database; retry later.'
  }
} as const

export type ErrorCode = keyof typeof ERRORS
export const ERROR_CODES = Object.keys(ERRORS) as readonly ErrorCode[]

/** Additional codes that only the dashboard receives. These codes are not part of the API. */
export const DASHBOARD_ERRORS = {
  sign_in_required: { status: 401, meaning: 'Nobody is signed in, or the session has ended.' },
  fresh_sign_in_required: { status: 403, meaning: 'The session is valid, but the sign-in is not recent enough.' },
  code_required: { status: 403, meaning: 'The password is correct, but a second-factor code is also required.' },
  factor_required: { status: 403, meaning: 'The account requires a second factor in addition to the password.' },
  too_many_attempts: { status: 429, meaning: 'Too many password attempts; retry later.' }
} as const

export type RefusalCode = ErrorCode | keyof typeof DASHBOARD_ERRORS
const STATUSES: { readonly [code in RefusalCode]: { readonly status: number } } = { ...ERRORS, ...DASHBOARD_ERRORS }

/** Value, in seconds, of the Retry-After header in 429 and 503 responses. */
export const RETRY_AFTER_S = 1

/**
 * A rejection reported to the client. Any module may throw a Refusal, and lib/http/server.ts converts the Refusal to a
 * response.
 */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly code: RefusalCode
  /** Additional response headers for this refusal. */
  readonly headers: Readonly<Record<string, string>>
  constructor(code: RefusalCode, message: string, headers: Readonly<Record<string, string>> = {}) {
    // A refusal needs no stack trace, and capturing a stack trace takes much CPU time on a server flooded with bad
    // requests.
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(message)
    Error.stackTraceLimit = stackTraceLimit
    this.code = code
    this.headers = headers
  }
  get status(): number {
    return STATUSES[this.code].status
  }
}
