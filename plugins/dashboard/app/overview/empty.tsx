/** Shown if no trace matches, with links that widen the selection. */
import type { ListQuery } from '../state/list-query.ts'

interface Props {
  readonly query: ListQuery
  readonly list: string
  longest(): void
  clear(): void
}

export function Empty({ query, list, longest, clear }: Props) {
  const isFiltered = Object.keys(query.filters).length > 0
  return (
    <div class="empty">
      <h2>No trace{isFiltered && ' like this'} ended in this time</h2>
      <p class="buttons">
        {query.range !== '1y' && (
          <button type="button" onClick={longest}>
            Look at a year
          </button>
        )}
        {isFiltered && (
          <button type="button" onClick={clear}>
            Clear the filters
          </button>
        )}
        <a class="button" href={list}>
          To the traces
        </a>
      </p>
    </div>
  )
}
