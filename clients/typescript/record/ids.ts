/** Creates random W3C Trace Context ids, which are never all zeros. */
import { randomFillSync } from 'node:crypto'

const POOL = Buffer.alloc(4096)
let used = POOL.length

function hex(bytes: number): string {
  if (used + bytes > POOL.length) {
    randomFillSync(POOL)
    used = 0
  }
  used += bytes
  const text = POOL.toString('hex', used - bytes, used)
  return /[^0]/.test(text) ? text : hex(bytes)
}

export const newTraceId = (): string => hex(16)
export const newSpanId = (): string => hex(8)
