/** Loads an answer that the server finds by examining a bounded number of traces per request. */
import { useRef } from 'preact/hooks'
import { type Loaded, useLoad } from './load.ts'

/** Usual maximum number of requests before the visitor is asked whether to examine more traces. */
const REQUESTS_AT_ONCE = 6

export interface LoadedInParts<T> extends Loaded<T> {
  /** Examines more traces. */
  more(): void
}

/**
 * Requests further parts until `isDone`, up to `atOnce` requests; `more` examines as many again. `next` loads a part
 * and adds the part to what is known. Without a key, nothing is loaded.
 */
export function useExamined<T>(
  key: string | undefined,
  next: (known: T | undefined, signal: AbortSignal) => Promise<T>,
  isDone: (known: T) => boolean,
  atOnce = REQUESTS_AT_ONCE
): LoadedInParts<T> {
  const begun = useRef<T>(undefined)
  const loaded = useLoad(key, async signal => {
    let known = await next(begun.current, signal)
    begun.current = undefined
    for (let i = 1; i < atOnce && !isDone(known); i++) known = await next(known, signal)
    return known
  })
  const more = () => {
    begun.current = loaded.value
    loaded.again()
  }
  return { ...loaded, more }
}
