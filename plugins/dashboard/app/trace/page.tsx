/** The page of a trace. The outline loads first, then the selected span's body. The page's URL holds the selection. */

import { useEffect, useRef, useState } from 'preact/hooks'
import type { Outline } from '../contract.ts'
import { at } from '../state/api.ts'
import { useLoad } from '../state/load.ts'
import { useArrival } from '../state/navigation.ts'
import { fetchOutline } from '../state/outline.ts'
import { pathOf } from '../state/route.ts'
import { Problem, Waiting } from '../ui/problem.tsx'
import { OpenedTrace } from './opened-trace.tsx'

interface Props {
  readonly slug: string
  readonly traceId: string
}

export function TraceView({ slug, traceId }: Props) {
  const path = at('p/:slug/traces/:traceId/outline', { slug, traceId })
  const [part, setPart] = useState<{ path: string; outline: Outline } | undefined>()
  const arrived = (outline: Outline) => setPart({ path, outline })
  const { value, error, again } = useLoad(path, signal => fetchOutline({ slug, traceId }, { signal, arrived }))
  const [newer, setNewer] = useState<{ path: string; outline: Outline } | undefined>()
  const whole = newer?.path === path ? newer.outline : value
  const outline = whole ?? (part?.path === path && error === undefined ? part.outline : undefined)
  const asking = useRef(false)
  const [gone, setGone] = useState<unknown>()
  const refresh = async () => {
    // At most one request waits for an unreachable server, instead of one per second.
    if (whole === undefined || asking.current) return
    asking.current = true
    try {
      const answer = await fetchOutline({ slug, traceId }, { version: whole.version })
      if (answer !== undefined) setNewer({ path, outline: answer })
    } catch (error) {
      // The trace may have been deleted.
      setGone(error)
    } finally {
      asking.current = false
    }
  }
  const retry = () => {
    setGone(undefined)
    again()
  }
  useEffect(() => {
    document.title = outline === undefined ? 'Trace · spoor' : `${outline.trace.name} · spoor`
  }, [outline?.trace.name])
  useArrival(outline !== undefined)
  if (outline === undefined || gone !== undefined) {
    return (
      <div class="narrow">
        <h1 tabIndex={-1}>Trace</h1>
        {error === undefined && gone === undefined ? (
          <Waiting what="the trace" />
        ) : (
          <Problem error={gone ?? error} again={retry} />
        )}
        <p>
          <a href={pathOf({ page: 'traces', slug })}>Go to traces</a>
        </p>
      </div>
    )
  }
  return <OpenedTrace key={traceId} slug={slug} outline={outline} isPart={whole === undefined} refresh={refresh} />
}
