/** Redirects to the trace with a given id, as found in logs and alerts, if the visitor may see the trace's project. */
import { useEffect, useState } from 'preact/hooks'
import { at, read } from '../state/api.ts'
import { go, useArrival, usePlace } from '../state/navigation.ts'
import { pathOf } from '../state/route.ts'
import { Problem, Waiting } from '../ui/problem.tsx'

export function FindPage({ traceId }: { traceId: string }) {
  const { search } = usePlace()
  const [error, setError] = useState<unknown>()
  useEffect(() => {
    const stop = new AbortController()
    read(at('traces/:traceId', { traceId }), { signal: stop.signal }).then(
      ({ slug }) => {
        go(`${pathOf({ page: 'trace', slug, traceId: traceId.toLowerCase() })}${search}`, { replace: true })
      },
      error => {
        if (!stop.signal.aborted) setError(error)
      }
    )
    return () => stop.abort()
  }, [traceId])
  useArrival(true)
  return (
    <div class="narrow">
      <h1 tabIndex={-1}>Trace</h1>
      {error === undefined ? <Waiting what="the trace" /> : <Problem error={error} />}
    </div>
  )
}
