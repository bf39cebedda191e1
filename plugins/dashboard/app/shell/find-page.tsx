/** Redirects to the trace with a given id, as found in logs and alerts, if the visitor may see the trace's project. */
import { useEffect } from 'preact/hooks'
import { at } from '../state/api.ts'
import { useRead } from '../state/load.ts'
import { go, useArrival, usePlace } from '../state/navigation.ts'
import { pathOf } from '../state/route.ts'
import { Problem, Waiting } from '../ui/problem.tsx'

export function FindPage({ traceId }: { traceId: string }) {
  const { search } = usePlace()
  const { value, error } = useRead(at('traces/:traceId', { traceId }))
  useEffect(() => {
    if (value === undefined) return
    go(`${pathOf({ page: 'trace', slug: value.slug, traceId: traceId.toLowerCase() })}${search}`, { replace: true })
  }, [value])
  useArrival(true)
  return (
    <div class="narrow">
      <h1 tabIndex={-1}>Trace</h1>
      {error === undefined ? <Waiting what="the trace" /> : <Problem error={error} />}
    </div>
  )
}
