/** The service refused a request, or could not be asked. */
export class SpoorError extends Error {
  override readonly name = 'SpoorError'
  /** 0: no answer came. */
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
