import { useEffect, useRef, useState } from 'preact/hooks'
import type { TraceListItem } from '../contract.ts'

export interface Selected {
  readonly ids: ReadonlySet<string>
  select(id: string, range: boolean): void
  all(on: boolean): void
  clear(): void
}

/** Selection of rows, limited to the rows shown. */
export function useSelection(traces: readonly TraceListItem[]): Selected {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set())
  const last = useRef<string | undefined>(undefined)
  useEffect(() => {
    const shown = new Set(traces.map(({ id }) => id))
    setIds(before =>
      [...before].every(id => shown.has(id)) ? before : new Set([...before].filter(id => shown.has(id)))
    )
  }, [traces])
  return {
    ids,
    select(id, range) {
      const order = traces.map(trace => trace.id)
      const [from, to] = [order.indexOf(last.current ?? id), order.indexOf(id)]
      const touched = range && from !== -1 ? order.slice(Math.min(from, to), Math.max(from, to) + 1) : [id]
      last.current = id
      setIds(before => {
        const next = new Set(before)
        const on = !before.has(id)
        for (const each of touched) {
          if (on) next.add(each)
          else next.delete(each)
        }
        return next
      })
    },
    all: on => setIds(on ? new Set(traces.map(({ id }) => id)) : new Set()),
    clear: () => setIds(new Set())
  }
}
