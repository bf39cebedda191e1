/**
 * Errors on demand: a request for a model named `fail-400`, `fail-429` or `fail-500` gets that error in the provider's
 * format.
 */

export type House = 'openai' | 'anthropic' | 'google'

interface Failure {
  readonly message: string
  readonly openai: { readonly type: string; readonly code: string | null }
  readonly anthropic: { readonly type: string }
  readonly google: string
}

const FAILURES: Readonly<Record<string, Failure>> = {
  400: {
    message: 'The temperature must be between 0 and 2.',
    openai: { type: 'invalid_request_error', code: 'invalid_value' },
    anthropic: { type: 'invalid_request_error' },
    google: 'INVALID_ARGUMENT'
  },
  404: {
    message: 'There is no such address.',
    openai: { type: 'invalid_request_error', code: null },
    anthropic: { type: 'not_found_error' },
    google: 'NOT_FOUND'
  },
  429: {
    message: 'Rate limit reached: try again in 20 s.',
    openai: { type: 'requests', code: 'rate_limit_exceeded' },
    anthropic: { type: 'rate_limit_error' },
    google: 'RESOURCE_EXHAUSTED'
  },
  500: {
    message: 'The server had an error while processing your request.',
    openai: { type: 'server_error', code: null },
    anthropic: { type: 'api_error' },
    google: 'INTERNAL'
  }
}

/** Returns the status that a model's name asks for. Some clients put the provider's name before the model's. */
export function failureOf(model: unknown): number | undefined {
  const status = /(?:^|[/:])fail-(400|429|500)$/.exec(String(model))?.[1]
  return status === undefined ? undefined : Number(status)
}

export function errorBody(house: House, status: number, requestId: string): object {
  const { message, openai, anthropic, google } = FAILURES[status]!
  if (house === 'google') return { error: { code: status, message, status: google } }
  if (house === 'openai') return { error: { message, param: null, ...openai } }
  return { type: 'error', error: { ...anthropic, message }, request_id: requestId }
}
