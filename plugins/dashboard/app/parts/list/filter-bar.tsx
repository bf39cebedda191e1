/** What narrows the list. Each change is an entry of the history, so that back undoes it. */
import { useEffect, useId, useState } from 'preact/hooks'
import type { Facets } from '../../lib/answers.ts'
import { countFilters, FILTER_NAMES, type Filter, type ListQuery, narrowed, withTime } from '../../lib/filters.ts'
import { RANGES, rangeName, shortTime } from '../../lib/time.ts'
import { loadDialogs, usePart } from '../../state/later.ts'
import { preferences } from '../../state/preferences.ts'
import { useStore } from '../../state/store.ts'
import { Icon } from '../icons.tsx'
import { Menu } from '../menu.tsx'

interface Props {
  readonly query: ListQuery
  readonly facets: Facets | undefined
  change(query: ListQuery): void
}

const LABELS: Readonly<Record<Filter, string>> = {
  status: 'Status',
  name: 'Name',
  model: 'Model',
  tag: 'Tag',
  env: 'Environment',
  session: 'Session',
  user: 'User'
}
const STATUSES = ['ok', 'error', 'running', 'unset']

export function FilterBar({ query, facets, change }: Props) {
  const [open, setOpen] = useState(false)
  const isRanking = query.sort !== 'newest'
  const set = (filter: Filter, value: string) => change(narrowed(query, { [filter]: value }))
  const count = countFilters(query)
  const environments = facets?.environments.map(each => each ?? 'unassigned') ?? []
  const choices: Partial<Record<Filter, readonly string[]>> = {
    status: STATUSES,
    model: facets?.models ?? [],
    env: [...new Set(environments)]
  }
  return (
    <div class="filters">
      <button
        type="button"
        class="filters-open"
        aria-expanded={open}
        aria-controls="filters"
        onClick={() => setOpen(!open)}
      >
        <Icon name="filter" /> Filters{count > 0 ? ` (${count})` : ''}
      </button>
      <search id="filters" class={open ? 'is-open' : ''} aria-label="Filter the traces">
        {FILTER_NAMES.map(filter => {
          const off = isRanking && (filter === 'session' || filter === 'user')
          const value = query.filters[filter] ?? ''
          const values = choices[filter]
          return values === undefined ? (
            <TypedFilter
              key={filter}
              label={LABELS[filter]}
              value={value}
              off={off}
              known={filter === 'name' ? facets?.names : undefined}
              set={next => set(filter, next)}
            />
          ) : (
            <ChosenFilter
              key={filter}
              label={LABELS[filter]}
              value={value}
              values={values}
              set={next => set(filter, next)}
            />
          )
        })}
        {count > 0 && (
          <button type="button" class="link" onClick={() => change({ filters: {}, sort: query.sort })}>
            Clear
          </button>
        )}
      </search>
      <TimeMenu query={query} change={change} />
    </div>
  )
}

function ChosenFilter(props: { label: string; value: string; values: readonly string[]; set(value: string): void }) {
  const { label, value, values, set } = props
  const shown = value === '' || values.includes(value) ? values : [value, ...values]
  return (
    <label class={`filter ${value === '' ? '' : 'is-set'}`}>
      <span>{label}</span>
      <select value={value} onChange={event => set(event.currentTarget.value)}>
        <option value="">any</option>
        {shown.map(each => (
          <option key={each} value={each}>
            {each}
          </option>
        ))}
      </select>
    </label>
  )
}

interface TypedProps {
  readonly label: string
  readonly value: string
  readonly off: boolean
  readonly known: readonly string[] | undefined
  set(value: string): void
}

function TypedFilter({ label, value, off, known, set }: TypedProps) {
  const [text, setText] = useState(value)
  const list = useId()
  useEffect(() => setText(value), [value])
  const commit = (next: string) => {
    if (next !== value) set(next)
  }
  return (
    <label
      class={`filter ${value === '' ? '' : 'is-set'}`}
      title={off ? 'Not together with slowest or costliest' : undefined}
    >
      <span>{label}</span>
      <input
        type="search"
        value={text}
        placeholder="any"
        disabled={off}
        spellcheck={false}
        autocomplete="off"
        list={known === undefined ? undefined : list}
        onInput={event => {
          const next = event.currentTarget.value
          setText(next)
          // What is chosen from the list counts at once, as does an emptied field.
          if (
            next === '' ||
            (known?.includes(next) && !(event instanceof InputEvent && event.inputType.startsWith('insertText')))
          ) {
            commit(next)
          }
        }}
        onChange={event => commit(event.currentTarget.value.trim())}
        onKeyDown={event => {
          if (event.key === 'Enter') commit(event.currentTarget.value.trim())
        }}
      />
      {known !== undefined && (
        <datalist id={list}>
          {known.map(each => (
            <option key={each} value={each} />
          ))}
        </datalist>
      )}
    </label>
  )
}

function TimeMenu({ query, change }: Pick<Props, 'query' | 'change'>) {
  const [dialog, setDialog] = useState(false)
  const { part } = usePart(loadDialogs, dialog)
  const { zone } = useStore(preferences)
  const isRanking = query.sort !== 'newest'
  const now = new Date()
  const word = (iso: string | undefined, other: string) => (iso === undefined ? other : shortTime(iso, zone, now))
  const label =
    query.range !== undefined
      ? rangeName(query.range)
      : query.from !== undefined || query.to !== undefined
        ? `${word(query.from, 'the first')} – ${word(query.to, 'now')}`
        : 'All time'
  if (isRanking) {
    return (
      <span class="soft" title="Slowest and costliest are of all time.">
        All time
      </span>
    )
  }
  return (
    <>
      <Menu
        end
        class="time"
        label={
          <>
            {label} <Icon name="down" />
          </>
        }
        items={[
          { label: 'All time', checked: label === 'All time', act: () => change(withTime(query, {})) },
          ...RANGES.map(range => ({
            label: rangeName(range),
            checked: query.range === range,
            act: () => change(withTime(query, { range }))
          })),
          'line',
          {
            label: 'From … to …',
            checked: query.from !== undefined || query.to !== undefined,
            act: () => setDialog(true)
          }
        ]}
      />
      {dialog && part !== undefined && (
        <part.TimeDialog
          query={query}
          onClose={() => setDialog(false)}
          change={next => {
            setDialog(false)
            change(next)
          }}
        />
      )}
    </>
  )
}
