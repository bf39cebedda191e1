/** Says that a list is empty, names values that exist, and offers to look further. */
import { type ListQuery, withoutFilters, withTime } from '../state/list-query.ts'
import { ALL_TIME } from '../state/time-range.ts'
import { Button } from './controls.tsx'

interface Props {
  readonly what: 'traces' | 'steps'
  readonly query: ListQuery
  /** The server's explanation, which names values that exist. */
  readonly hint: string | null
  change(query: ListQuery): void
}

export function NoMatches({ what, query, hint, change }: Props) {
  const isFiltered = query.runsOnly === true || Object.keys(query.filters).length > 0
  return (
    <div class="empty">
      <h2>{isFiltered ? `No ${what} match these filters` : `No ${what} in this time range`}</h2>
      {hint !== null && <p class="soft">{hint}</p>}
      <p class="empty-acts">
        {query.range !== ALL_TIME && (
          <Button onClick={() => change(withTime(query, { range: ALL_TIME }))}>Show all time</Button>
        )}
        {isFiltered && <Button onClick={() => change(withoutFilters(query))}>Clear filters</Button>}
      </p>
    </div>
  )
}
