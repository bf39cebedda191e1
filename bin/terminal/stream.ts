/** Writes output that is too long for memory. */
import { AdminError } from '../../lib/admin-error.ts'

export interface Output {
  write(bytes: string | Uint8Array, done?: (error?: Error | null) => void): unknown
  on?(event: 'error', listener: (error: Error) => void): unknown
}

/** Returns a function that writes a chunk to `output`. Resolves when more can be written; rejects if nobody reads. */
export function streamTo(output: Output): (bytes: string | Uint8Array) => Promise<void> {
  let isWatched = false
  return bytes => {
    // The callback gets the same error, but without a listener the error would end the process.
    if (!isWatched) output.on?.('error', () => {})
    isWatched = true
    return new Promise((resolve, reject) => {
      output.write(bytes, error => {
        if (error) reject(new AdminError(`stdout does not take more (${error.message}): the output is not whole`))
        else resolve()
      })
    })
  }
}
