/** Compares two traces side by side. The address holds both traces and the selected row. */

import { useMemo } from 'preact/hooks'
import { TRACE_ROW } from '../content/bodies.ts'
import type { Outline } from '../contract.ts'
import { at } from '../state/api.ts'
import { isTraceId, readComparison, writeComparison } from '../state/comparison.ts'
import { useKeys } from '../state/keys.ts'
import { useLoad } from '../state/load.ts'
import { fetchOutline } from '../state/outline.ts'
import { goSearch, useArrival, usePlace } from '../state/place.ts'
import { Problem, Waiting } from '../ui/problem.tsx'
import { alignSteps, findRow, stepsOf } from './align.ts'
import { Choose } from './choose-form.tsx'
import { CompareHead } from './compare-head.tsx'
import { RowPanel } from './row-panel.tsx'
import { RowsView } from './rows-view.tsx'

export function ComparePage({ slug }: { slug: string }) {
  const { search } = usePlace()
  const comparison = readComparison(search)
  const a = useOutline(slug, comparison.a)
  const b = useOutline(slug, comparison.b)
  const isReady = a.value !== undefined && b.value !== undefined
  const isChosen = isTraceId(comparison.a) && isTraceId(comparison.b)
  useArrival(isReady || !isChosen || a.error !== undefined || b.error !== undefined)
  if (isReady) return <Compared slug={slug} a={a.value!} b={b.value!} picked={comparison.span ?? TRACE_ROW} />
  return (
    <div class="narrow">
      <h1 tabIndex={-1}>Compare</h1>
      {!isChosen && <Choose key={search} comparison={comparison} />}
      {isChosen &&
        ([a, b] as const).map(({ error, again }, i) =>
          error === undefined ? null : (
            <div key={i}>
              <h2>{i === 0 ? 'Trace A' : 'Trace B'}</h2>
              <Problem error={error} again={again} />
            </div>
          )
        )}
      {isChosen && (a.error !== undefined || b.error !== undefined) && <Choose key={search} comparison={comparison} />}
      {(a.loading || b.loading) && <Waiting what="both traces" />}
    </div>
  )
}

function useOutline(slug: string, id: string) {
  const path = at('p/:slug/traces/:traceId/outline', { slug, traceId: id })
  return useLoad(isTraceId(id) ? path : undefined, signal => fetchOutline(path, signal))
}

interface ComparedProps {
  readonly slug: string
  readonly a: Outline
  readonly b: Outline
  readonly picked: string
}

function Compared({ slug, a, b, picked }: ComparedProps) {
  const rows = useMemo(() => alignSteps(stepsOf(a.spans), stepsOf(b.spans)), [a, b])
  const row = findRow(rows, picked)
  const selected = row?.key ?? TRACE_ROW
  const show = (first: Outline, second: Outline, span: string) => {
    const query = { a: first.trace.id, b: second.trace.id, ...(span !== TRACE_ROW && { span }) }
    goSearch(writeComparison(query), { replace: true })
  }
  const pick = (key: string) => show(a, b, key)
  const move = (by: 1 | -1) => {
    const keys = [TRACE_ROW, ...rows.map(({ key }) => key)]
    const next = keys[keys.indexOf(selected) + by]
    if (next !== undefined) pick(next)
  }
  useKeys({ j: () => move(1), k: () => move(-1) })
  return (
    <div class="trace-page compare-page">
      <CompareHead slug={slug} a={a} b={b} swap={() => show(b, a, selected.replace(/^b:/, ''))} />
      <div class="panes">
        <RowsView a={a} b={b} rows={rows} selected={selected} pick={pick} />
        <RowPanel slug={slug} a={a} b={b} row={row} />
      </div>
    </div>
  )
}
