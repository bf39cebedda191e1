/** The filters of a list. Each change is a history entry, so that the back button undoes the change. */

import { useEffect, useId, useState } from 'preact/hooks'
import type { FacetCounts, Facets } from '../contract.ts'
import { usePart } from '../state/lazy-part.ts'
import {
  countFilters,
  FILTER_NAMES,
  type Filter,
  type ListQuery,
  narrowed,
  withRunsOnly,
  withTime
} from '../state/list-query.ts'
import { preferences } from '../state/preferences.ts'
import { useStore } from '../state/store.ts'
import { LIST_RANGES, rangeName } from '../state/time-range.ts'
import { Icon } from './controls.tsx'
import { formatCount } from './format.ts'
import { Menu } from './menu.tsx'
import { shortTime } from './time.ts'

const loadTimeDialog = () => import('./time-dialog.tsx')

interface Props {
  readonly query: ListQuery
  readonly facets: Facets | undefined
  /** Number of traces for each choice, once loaded. */
  readonly counts?: FacetCounts | undefined
  /** Filters to offer. By default, all filters. */
  readonly only?: readonly Filter[]
  /** Time ranges to offer. By default, the list's ranges and all time. */
  readonly ranges?: readonly string[]
  /** Address of the setting that enables search; undefined if search is enabled. */
  readonly settings?: string | undefined
  change(query: ListQuery): void
}

const LABELS: Readonly<Record<Filter, string>> = {
  q: 'Words',
  status: 'Status',
  name: 'Name',
  model: 'Model',
  tag: 'Tag',
  env: 'Environment',
  session: 'Session',
  user: 'User'
}
const STATUSES = ['ok', 'error', 'running', 'unset']

export function FilterBar({ query, facets, counts, settings, only = FILTER_NAMES, ranges, change }: Props) {
  const [open, setOpen] = useState(false)
  const isRanking = query.sort !== 'newest'
  const set = (filter: Filter, value: string) => change(narrowed(query, { [filter]: value }))
  // A page that always has a time range does not count the range as a filter.
  const narrowing = ranges === undefined ? query : withTime(query, {})
  const count = countFilters(narrowing)
  const choices: Partial<Record<Filter, readonly string[]>> = {
    // Numbers over time cover only traces that have ended.
    status: ranges === undefined ? STATUSES : STATUSES.filter(each => each !== 'running'),
    model: facets?.models ?? [],
    env: facets?.environments ?? []
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
        {only.map(filter => {
          if (filter === 'q' && settings !== undefined) {
            return (
              <a key={filter} class="soft filter" href={settings} title="Search by words is off for this project">
                Search by words…
              </a>
            )
          }
          const off = isRanking && (filter === 'q' || filter === 'session' || filter === 'user')
          const value = query.filters[filter] ?? ''
          const values = choices[filter]
          const counted = countsOf(counts, filter)
          return values === undefined ? (
            <TypedFilter
              key={filter}
              label={LABELS[filter]}
              value={value}
              off={off}
              known={filter === 'name' && facets ? namesOf(facets, counts) : undefined}
              counted={counted}
              set={next => set(filter, next)}
            />
          ) : (
            <ChosenFilter
              key={filter}
              label={LABELS[filter]}
              value={value}
              values={values.includes(value) ? values : [value, ...values]}
              counted={counted}
              set={next => set(filter, next)}
            />
          )
        })}
        {/* Numbers over time do not tell runs from other traces. */}
        {ranges === undefined && (
          <label class="only" title="Leave out traces without a model call, agent, tool or retriever">
            <input
              type="checkbox"
              checked={query.runsOnly === true}
              onChange={event => change(withRunsOnly(query, event.currentTarget.checked))}
            />{' '}
            Runs only
          </label>
        )}
        {count > 0 && (
          <button
            type="button"
            class="link"
            onClick={() => change(ranges === undefined ? { filters: {}, sort: query.sort } : { ...query, filters: {} })}
          >
            Clear
          </button>
        )}
      </search>
      <TimeMenu query={query} ranges={ranges} change={change} />
    </div>
  )
}

type Counted = ReadonlyMap<string | null, number> | undefined

const FACETS: Partial<Record<Filter, 'statuses' | 'names' | 'models' | 'environments'>> = {
  status: 'statuses',
  name: 'names',
  model: 'models',
  env: 'environments'
}

function countsOf(counts: FacetCounts | undefined, filter: Filter): Counted {
  const facet = FACETS[filter]
  return facet && counts && new Map(counts[facet].map(({ value, traces }) => [value, traces]))
}

function namesOf(facets: Facets, counts: FacetCounts | undefined): readonly string[] {
  return [...new Set([...facets.names, ...(counts?.names ?? []).map(({ value }) => value ?? '')])]
}

function withCount(value: string, counted: Counted): string {
  const count = counted?.get(value) ?? (value === 'unassigned' ? counted?.get(null) : undefined)
  return count === undefined ? value : `${value} (${formatCount(count)})`
}

interface ChosenProps {
  readonly label: string
  readonly any?: string
  readonly value: string | undefined
  /** Repeated and empty values are left out. */
  readonly values: readonly (string | undefined)[]
  readonly counted?: Counted
  set(value: string): void
}

export function ChosenFilter({ label, any = 'any', value = '', values, counted, set }: ChosenProps) {
  const shown = [...new Set(values)].filter(each => each !== undefined && each !== '') as string[]
  return (
    <label class={`filter ${value === '' ? '' : 'is-set'}`}>
      <span>{label}</span>
      <select value={value} onChange={event => set(event.currentTarget.value)}>
        <option value="">{any}</option>
        {shown.map(each => (
          <option key={each} value={each}>
            {withCount(each, counted)}
          </option>
        ))}
      </select>
    </label>
  )
}

interface TypedProps {
  readonly label: string
  readonly value: string
  readonly off?: boolean
  readonly known?: readonly string[] | undefined
  readonly counted?: Counted
  set(value: string): void
}

export function TypedFilter({ label, value, off = false, known, counted, set }: TypedProps) {
  const [text, setText] = useState(value)
  const list = useId()
  useEffect(() => setText(value), [value])
  const commit = (next: string) => {
    if (next !== value) set(next)
  }
  return (
    <label
      class={`filter ${value === '' ? '' : 'is-set'}`}
      title={off ? 'Not available with slowest or costliest' : undefined}
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
          // A choice from the list applies at once, as does clearing the field.
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
            <option key={each} value={each} label={counted && withCount(each, counted)} />
          ))}
        </datalist>
      )}
    </label>
  )
}

function TimeMenu({
  query,
  ranges,
  change
}: Pick<Props, 'query' | 'change'> & { ranges: readonly string[] | undefined }) {
  const [dialog, setDialog] = useState(false)
  const { part } = usePart(loadTimeDialog, dialog)
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
        down
        label={label}
        items={[
          ...(ranges === undefined
            ? [{ label: 'All time', checked: label === 'All time', act: () => change(withTime(query, {})) }]
            : []),
          ...(ranges ?? LIST_RANGES).map(range => ({
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
