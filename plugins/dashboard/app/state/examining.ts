/** Loads an answer that the server finds by examining a bounded number of traces per request. */
import { useRef } from 'preact/hooks'
import { type Loaded, useLoad } from './load.ts'

/** Maximum number of requests before the visitor is asked whether to examine more traces. */
const REQUESTS_AT_ONCE = 6

export interface LoadedInParts<T> extends Loaded<T> {
  /** Examines more traces. */
  more(): void
}

/**
 * Requests further parts until `isDone`, up to a limit; `more` raises the limit. `next` loads a part and adds the part
 * to what is known.
 */
export function useExamined<T>(
  key: string,
  next: (known: T | undefined, signal: AbortSignal) => Promise<T>,
  isDone: (known: T) => boolean
): LoadedInParts<T> {
  const begun = useRef<T>(undefined)
  const loaded = useLoad(key, async signal => {
    let known = await next(begun.current, signal)
    begun.current = undefined
    for (let i = 1; i < REQUESTS_AT_ONCE && !isDone(known); i++) known = await next(known, signal)
    return known
  })
  const more = () => {
    begun.current = loaded.value
    loaded.again()
  }
  return { ...loaded, more }
}
