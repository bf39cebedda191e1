/** Loads data for a component. A value is kept while the same key is reloaded, and dropped when the key changes. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import type { Answer, Path } from '../contract.ts'
import { type ApiPath, read } from './api.ts'

export interface Loaded<T> {
  readonly value: T | undefined
  readonly error: unknown
  readonly loading: boolean
  /** Reloads the data. The current value stays until the response arrives. */
  again(): void
}

/** Loads the data that `key` identifies, if `key` is defined. The `known` callback returns a cached value. */
export function useLoad<T>(
  key: string | undefined,
  load: (signal: AbortSignal) => Promise<T>,
  known?: (key: string) => T | undefined
): Loaded<T> {
  const [answers, setAnswers] = useState<{ key: string | undefined; value?: T; error?: unknown }>({ key: undefined })
  const [turn, setTurn] = useState(0)
  const latest = useRef(load)
  latest.current = load
  const current = answers.key === key
  const value = current && answers.value !== undefined ? answers.value : key === undefined ? undefined : known?.(key)
  useEffect(() => {
    if (key === undefined) return
    const stop = new AbortController()
    latest.current(stop.signal).then(
      loaded => {
        if (!stop.signal.aborted) setAnswers({ key, value: loaded })
      },
      error => {
        // The previous value stays beside the error.
        if (!stop.signal.aborted) setAnswers(before => (before.key === key ? { ...before, error } : { key, error }))
      }
    )
    return () => stop.abort(new DOMException('not shown any more', 'AbortError'))
  }, [key, turn])
  const again = useCallback(() => setTurn(before => before + 1), [])
  const error = current ? answers.error : undefined
  return { value, error, loading: key !== undefined && value === undefined && error === undefined, again }
}

/** Loads the response at an address. */
export function useRead<P extends Path>(address: ApiPath<P>): Loaded<Answer<'GET', P>> {
  return useLoad(address, signal => read(address, { signal }))
}

/** Calls a function every `ms` milliseconds while the tab is visible, and when it becomes visible. 0 disables calls. */
export function useInterval(ms: number, call: () => void): void {
  const latest = useRef(call)
  latest.current = call
  useEffect(() => {
    if (ms === 0) return
    const timer = setInterval(() => {
      if (!document.hidden) latest.current()
    }, ms)
    const seen = () => {
      if (!document.hidden) latest.current()
    }
    document.addEventListener('visibilitychange', seen)
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', seen)
    }
  }, [ms])
}
