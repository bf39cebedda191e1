import type { Excerpt, TraceListItem, TracePage } from '../contract.ts'
import { type ListQuery, type ListSort, SORTS } from '../state/list-query.ts'
import { Icon } from '../ui/icons.tsx'
import { openRow } from '../ui/table.tsx'
import { asLine } from '../ui/text.ts'
import { Cell, type CellContext } from './cells.tsx'
import { type ListColumn, scoreOfColumn } from './columns.ts'

interface Props {
  readonly traces: readonly TraceListItem[]
  readonly columns: readonly ListColumn[]
  readonly context: CellContext
  readonly excerpts: TracePage['excerpts']
  readonly selected: ReadonlySet<string>
  /** Traces that arrived while the list was open. */
  readonly fresh: ReadonlySet<string>
  readonly query: ListQuery
  select(id: string, range: boolean): void
  selectAll(on: boolean): void
  sort(sort: ListSort): void
}

/** Sort order of each column that the server can sort by. */
const SORTED: Readonly<Record<string, ListSort>> = { started: 'newest', latency: 'slowest', cost: 'costliest' }
const SORT_NAMES: Readonly<Record<ListSort, string>> = {
  newest: 'newest first',
  slowest: 'slowest first',
  costliest: 'costliest first'
}

export function TraceTable(props: Props) {
  const { traces, columns, context, excerpts, selected, fresh, query, select, selectAll, sort } = props
  const all = traces.length > 0 && traces.every(({ id }) => selected.has(id))
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard.
    <section class="table" tabIndex={0} aria-label="Traces">
      <table class="traces">
        <thead>
          <tr>
            <th class="box" scope="col">
              <input
                type="checkbox"
                aria-label="Select all of this page"
                checked={all}
                onChange={event => selectAll(event.currentTarget.checked)}
              />
            </th>
            {columns.map(({ name, title, number }) => {
              const by = SORTED[name]
              const isBy = by !== undefined && query.sort === by
              return (
                <th key={name} scope="col" class={number ? 'number' : ''} aria-sort={isBy ? 'descending' : undefined}>
                  {by === undefined ? (
                    title
                  ) : (
                    <button type="button" class="plain" title={`Sort: ${SORT_NAMES[by]}`} onClick={() => sort(by)}>
                      {title}
                      {isBy && <Icon name="down" />}
                    </button>
                  )}
                </th>
              )
            })}
          </tr>
        </thead>
        {/* biome-ignore lint/a11y/useKeyWithClickEvents: each row has a link for the keyboard. */}
        <tbody onClick={openRow}>
          {traces.map(trace => [
            <tr
              key={trace.id}
              class={`${fresh.has(trace.id) ? 'is-fresh' : ''} ${selected.has(trace.id) ? 'is-selected' : ''}`}
            >
              <td class="box">
                <input
                  type="checkbox"
                  aria-label={`Select ${asLine(trace.name, 60)}`}
                  checked={selected.has(trace.id)}
                  onClick={event => select(trace.id, event.shiftKey)}
                />
              </td>
              {columns.map(({ name, title, number }) => (
                <td
                  key={name}
                  data-label={title}
                  class={`${number ? 'number' : ''} of-${scoreOfColumn(name) === undefined ? name : 'score'}`}
                >
                  <Cell name={name} trace={trace} context={context} />
                </td>
              ))}
            </tr>,
            excerpts?.[trace.id] && (
              <tr key={`${trace.id} excerpt`} class="excerpt">
                <td class="box" />
                <td colSpan={columns.length}>{markedText(excerpts[trace.id]!)}</td>
              </tr>
            )
          ])}
        </tbody>
      </table>
    </section>
  )
}

function markedText({ text, marks }: Excerpt) {
  let at = 0
  const pieces = marks.map(([start, end]) => {
    const before = text.slice(at, start)
    at = end
    return [before, <mark key={start}>{text.slice(start, end)}</mark>]
  })
  return [pieces, text.slice(at)]
}

export function SortMenuItems(query: ListQuery, sort: (sort: ListSort) => void, kept: readonly string[]) {
  return SORTS.map(each => ({
    label: SORT_NAMES[each].replace(/^./, first => first.toUpperCase()),
    checked: query.sort === each,
    ...(each !== 'newest' && kept.length > 0 && { note: `without the filter of ${kept.join(' and ')}` }),
    act: () => sort(each)
  }))
}
