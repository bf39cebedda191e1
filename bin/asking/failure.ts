/** Explains rejected requests to people. */
import { AdminError, InputError } from '../../lib/admin-error.ts'

/** A rejected request. `code` is undefined if the response is not from spoor. */
export interface Rejection {
  readonly status: number
  readonly code: string | undefined
  readonly message: string
}

/** Thrown if the same request may succeed later. */
export class PassingFailure extends AdminError {}

/** Thrown if the requested resource does not exist. */
export class NotFound extends AdminError {}

/** Returns the error to report. `where` names the server or the database, and `key` the source of the key. */
export function explainRejection({ status, code, message }: Rejection, where: string, key: string): Error {
  if (status === 0) {
    const advice = 'check that it is running and that SPOOR_URL or --url is correct'
    return new PassingFailure(`cannot reach a server at ${where} (${message}): ${advice}`)
  }
  if (status === 429 || status >= 500) {
    const reason = code === undefined ? `HTTP ${status}` : message
    return new PassingFailure(`${where} cannot serve this request now: ${reason}`)
  }
  if (code === undefined) {
    return new AdminError(`${where} returned HTTP ${status}, but the response is not from spoor: check the address`)
  }
  if (code === 'invalid_api_key') return new AdminError(`${where} rejects the key from ${key}: ${message}`)
  if (code === 'insufficient_scope') return new AdminError(`the key from ${key} does not allow this: ${message}`)
  if (status === 404) return new NotFound(message)
  return code === 'invalid_request' ? new InputError(message) : new AdminError(message)
}
