/** An error raised by a Pool or its transactions. */
export class PoolError extends Error {
  override readonly name = 'PoolError'
  readonly code: 'POOL_FULL' | 'POOL_CLOSED' | 'NOT_CONNECTED' | 'CONNECTION_LOST' | 'TX_ABORTED' | 'CLIENT_GONE'
  constructor(code: PoolError['code'], message: string, cause?: unknown) {
    super(message, { cause })
    this.code = code
  }
}
