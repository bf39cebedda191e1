/** Thrown when the service rejects a request or cannot be reached. */
export class SpoorError extends Error {
  override readonly name = 'SpoorError'
  /** HTTP status; 0 if no response arrived. */
  readonly status: number
  readonly code: string | undefined
  readonly requestId: string | undefined

  constructor(message: string, status: number, code?: string, requestId?: string) {
    super(message)
    this.status = status
    this.code = code
    this.requestId = requestId
  }
}
