/** Output that is too long to be held. */
import { AdminError } from '../lib/admin/admin-error.ts'

export interface Output {
  write(text: string, done?: (error?: Error | null) => void): unknown
  on?(event: 'error', listener: (error: Error) => void): unknown
}

/** Writes to `output` piece by piece: each call resolves when its text is on the way, and fails where nobody reads on. */
export function streamTo(output: Output): (text: string) => Promise<void> {
  let isWatched = false
  return text => {
    // The same error comes to the callback; without a listener it would end the process.
    if (!isWatched) output.on?.('error', () => {})
    isWatched = true
    return new Promise((resolve, reject) => {
      output.write(text, error => {
        if (error) reject(new AdminError(`stdout does not take more (${error.message}): the output is not whole`))
        else resolve()
      })
    })
  }
}
