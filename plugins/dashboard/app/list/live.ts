/** Live updates of the list: new traces appear at the top, and running traces complete. */

import { useEffect, useRef, useState } from 'preact/hooks'
import type { TraceListItem, TraceMatch, TracePage } from '../contract.ts'
import { at, read } from '../state/api.ts'
import { keepPage, loadPage } from '../state/list-pages.ts'
import { type ListQuery, toServer } from '../state/list-query.ts'
import { useInterval } from '../state/load.ts'
import { presentTime } from '../state/preferences.ts'

const OFTEN_MS = 2000
/** Polling interval after a minute without a new trace. */
const SELDOM_MS = 5000
const QUIET_MS = 60_000

export interface Live {
  readonly on: boolean
  toggle(): void
  readonly traces: TracePage['traces']
  readonly details: TracePage['details']
  readonly metadata: TracePage['metadata']
  readonly fresh: ReadonlySet<string>
  /** Number of new traces held back because the visitor has scrolled down. */
  readonly waiting: number
  show(): void
}

const NONE: ReadonlySet<string> = new Set()

/** Whether the traces that are shown have these summaries, in this order. */
function areSame(shown: readonly TraceMatch[], summaries: readonly TraceListItem[]): boolean {
  const texts = shown.map(({ firstError, inputPreview, outputPreview, excerpt, moreExcerpts, ...summary }) =>
    JSON.stringify(summary)
  )
  return texts.length === summaries.length && summaries.every((summary, i) => JSON.stringify(summary) === texts[i])
}

export function useLive(
  slug: string,
  search: string,
  query: ListQuery,
  page: TracePage | undefined,
  metadata: readonly string[]
): Live {
  const key = `${slug} ${search} ${metadata}`
  const possible = query.sort === 'newest' && query.after === undefined && query.before === undefined
  const [wanted, setWanted] = useState(false)
  const [newer, setNewer] = useState<{ key: string; page: TracePage } | undefined>()
  const [shown, setShown] = useState<{ key: string; page: TracePage } | undefined>()
  const [fresh, setFresh] = useState(NONE)
  const lastNew = useRef(Date.now())
  const asking = useRef(false)
  const current = shown?.key === key ? shown.page : page
  const isEmpty = current !== undefined && current.traces.length === 0
  // An empty list without filters always polls, so that a new project shows its first trace.
  const isUnfiltered = Object.keys(query.filters).length === 0 && !query.runsOnly
  const on = possible && current !== undefined && (wanted || (isEmpty && isUnfiltered))
  const pause = Date.now() - lastNew.current > QUIET_MS ? SELDOM_MS : OFTEN_MS

  const take = (next: TracePage) => {
    const before = new Set(current?.traces.map(({ id }) => id))
    setFresh(new Set(next.traces.filter(({ id }) => !before.has(id)).map(({ id }) => id)))
    setShown({ key, page: next })
    setNewer(undefined)
    keepPage(slug, search, next)
  }
  useInterval(on ? pause : 0, async () => {
    if (asking.current) return
    asking.current = true
    try {
      const seen = newer?.key === key ? newer.page : current
      const { traces } = await read(at('p/:slug/trace-summaries', { slug }, toServer(query, presentTime())))
      if (seen !== undefined && areSame(seen.traces, traces)) return
      const next = await loadPage(slug, query, undefined, metadata)
      const before = new Set((newer?.key === key ? newer.page : current)?.traces.map(({ id }) => id))
      if (next.traces.some(({ id }) => !before.has(id))) lastNew.current = Date.now()
      if (scrollY < 80) take(next)
      else setNewer({ key, page: next })
    } catch {
      // Polling errors are not shown. Errors are shown only when the list itself is loaded.
    } finally {
      asking.current = false
    }
  })
  useEffect(() => setFresh(NONE), [key])
  const known = new Set(current?.traces.map(({ id }) => id))
  const coming = newer?.key === key ? newer.page : undefined
  return {
    on,
    toggle: () => setWanted(!wanted),
    traces: current?.traces ?? [],
    details: current?.details ?? {},
    metadata: current?.metadata ?? {},
    fresh,
    waiting: coming === undefined ? 0 : coming.traces.filter(({ id }) => !known.has(id)).length,
    show() {
      if (coming !== undefined) take(coming)
      scrollTo(0, 0)
    }
  }
}
