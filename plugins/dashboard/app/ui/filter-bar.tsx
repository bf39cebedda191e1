/**
 * The filters of pages with numbers over time. Each change is a history entry, so that the back button undoes the
 * change.
 */

import type { ComponentChildren } from 'preact'
import { useEffect, useId, useState } from 'preact/hooks'
import type { FacetCounts, Facets } from '../contract.ts'
import { type COUNTED_FILTERS, countFilters, type ListQuery, narrowed, withTime } from '../state/list-query.ts'
import { Icon } from './controls.tsx'
import { formatCount } from './format.ts'
import { TimeMenu } from './time-menu.tsx'

type CountedFilter = (typeof COUNTED_FILTERS)[number]

interface Props {
  readonly query: ListQuery
  readonly facets: Facets | undefined
  /** Number of traces for each choice, once loaded. */
  readonly counts?: FacetCounts | undefined
  readonly only: readonly CountedFilter[]
  /** Time ranges to offer. */
  readonly ranges: readonly string[]
  change(query: ListQuery): void
}

const LABELS: Readonly<Record<CountedFilter, string>> = {
  status: 'Status',
  name: 'Name',
  model: 'Model',
  env: 'Environment'
}
/** Numbers over time cover only traces that have ended. */
const STATUSES = ['ok', 'error', 'unset']

export function FilterBar({ query, facets, counts, only, ranges, change }: Props) {
  const set = (filter: CountedFilter, value: string) => change(narrowed(query, { [filter]: value }))
  // The page always has a time range, so the range does not count as a filter.
  const count = countFilters(withTime(query, {}))
  const choices: Partial<Record<CountedFilter, readonly string[]>> = {
    status: STATUSES,
    model: facets?.models ?? [],
    env: facets?.environments ?? []
  }
  return (
    <FilterFrame
      label="Filter the traces"
      count={count}
      time={<TimeMenu query={query} ranges={ranges} change={change} />}
      clear={() => change({ ...query, filters: {} })}
    >
      {only.map(filter => {
        const value = query.filters[filter] ?? ''
        const values = choices[filter]
        const counted = countsOf(counts, filter)
        return values === undefined ? (
          <TypedFilter
            key={filter}
            label={LABELS[filter]}
            value={value}
            known={facets ? namesOf(facets, counts) : undefined}
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
    </FilterFrame>
  )
}

interface FrameProps {
  readonly label: string
  /** Number of filters in force. */
  readonly count: number
  readonly time: ComponentChildren
  clear(): void
  readonly children: ComponentChildren
}

/** A page's filters, followed by its time. On a narrow screen, a button unfolds the filters. */
export function FilterFrame({ label, count, time, clear, children }: FrameProps) {
  const [open, setOpen] = useState(false)
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
      <search id="filters" class={open ? 'is-open' : ''} aria-label={label}>
        {children}
        {count > 0 && (
          <button type="button" class="link" onClick={clear}>
            Clear
          </button>
        )}
      </search>
      {time}
    </div>
  )
}

type Counted = ReadonlyMap<string | null, number> | undefined

const FACETS: Readonly<Record<CountedFilter, 'statuses' | 'names' | 'models' | 'environments'>> = {
  status: 'statuses',
  name: 'names',
  model: 'models',
  env: 'environments'
}

function countsOf(counts: FacetCounts | undefined, filter: CountedFilter): Counted {
  return counts && new Map(counts[FACETS[filter]].map(({ value, traces }) => [value, traces]))
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
  readonly known?: readonly string[] | undefined
  readonly counted?: Counted
  readonly placeholder?: string
  set(value: string): void
}

export function TypedFilter({ label, value, known, counted, placeholder = 'any', set }: TypedProps) {
  const [text, setText] = useState(value)
  const list = useId()
  useEffect(() => setText(value), [value])
  const commit = (next: string) => {
    if (next !== value) set(next)
  }
  return (
    <label class={`filter ${value === '' ? '' : 'is-set'}`}>
      <span>{label}</span>
      <input
        type="search"
        value={text}
        placeholder={placeholder}
        spellcheck={false}
        autocomplete="off"
        list={known === undefined ? undefined : list}
        onInput={event => {
          const next = event.currentTarget.value
          setText(next)
          // A choice from the list applies immediately, as does clearing the field.
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
