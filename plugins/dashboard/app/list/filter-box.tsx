/**
 * The filter box: chips for the current filters, and a field for adding more. Follows the ARIA combobox
 * pattern. Each change is a history entry, so that the back button undoes the change.
 */
import { useId, useRef, useState } from 'preact/hooks'
import { describeTerm, parseFilters, renderTerm, type TextFault } from '../state/filter-text.ts'
import { usePart } from '../state/lazy-part.ts'
import {
  filterTerms,
  type ListQuery,
  type Term,
  withoutFilters,
  withoutTerm,
  withRunsOnly,
  withTerms
} from '../state/list-query.ts'
import { Icon, LinkButton } from '../ui/controls.tsx'
import { asLine } from '../ui/text.ts'
import { TimeMenu } from '../ui/time-menu.tsx'
import { type FilterEntry, loneValue } from './filter-entries.ts'

// Suggestions are loaded when the field is focused first.
const loadFilterList = () => import('./filter-list.tsx')

interface Props {
  readonly slug: string
  readonly query: ListQuery
  /** Address of the setting that enables full-text search; undefined if search is enabled. */
  readonly settings: string | undefined
  change(query: ListQuery): void
}

export function FilterBox({ slug, query, settings, change }: Props) {
  const [text, setText] = useState('')
  const [open, setOpen] = useState(false)
  const [active, setActive] = useState(-1)
  const [fault, setFault] = useState<Fault | undefined>()
  const field = useRef<HTMLInputElement>(null)
  const list = useId()
  const [entries, setEntries] = useState<readonly FilterEntry[]>([])
  const { part: filterList } = usePart(loadFilterList, open)
  const terms = filterTerms(query.filters)

  const close = () => {
    setOpen(false)
    setActive(-1)
    setEntries([])
  }
  const edit = (next: string) => {
    setText(next)
    setOpen(true)
    setActive(-1)
    setFault(undefined)
  }
  const apply = (typed: string) => {
    const { terms: read, faults } = parseFilters(typed)
    const isOff = settings !== undefined && read.some(({ filter }) => filter === 'q')
    const added = isOff ? read.filter(({ filter }) => filter !== 'q') : read
    if (added.length > 0) change(withTerms(query, added))
    const words = isOff ? read.filter(({ filter }) => filter === 'q').map(renderTerm) : []
    setText([...faults.map(({ part }) => part), ...words].join(' '))
    setFault(faults[0] ?? (isOff ? { message: 'Full-text search is off for this project.', isOff } : undefined))
    close()
  }
  /** Replaces the part that cannot be understood, and applies the text unless a value is missing. */
  const correct = ({ part, better }: Fault) => {
    const next = text.replace(part ?? '', () => better ?? '')
    if (better?.endsWith(':')) edit(next)
    else apply(next)
    field.current?.focus()
  }
  const choose = (entry: FilterEntry) => {
    if (entry.isComplete) apply(entry.text)
    else edit(entry.text)
    field.current?.focus()
  }
  const remove = (term: Term) => change(withoutTerm(query, term))
  const rewrite = (term: Term) => {
    remove(term)
    edit(renderTerm(term))
    field.current?.focus()
  }
  const press = (event: KeyboardEvent) => {
    if (event.key === 'Escape' && open) {
      event.preventDefault()
      return close()
    }
    const last = terms.at(-1)
    if (event.key === 'Backspace' && text === '' && last !== undefined) {
      event.preventDefault()
      return rewrite(last)
    }
    if (event.key === 'ArrowDown' && !open) return setOpen(true)
    const count = entries.length + 1
    const to = { ArrowDown: active + 1, ArrowUp: active - 1 }[event.key]
    if (to === undefined || entries.length === 0) return
    event.preventDefault()
    // One position, −1, is the field itself.
    setActive(((to + 1 + count) % count) - 1)
  }
  return (
    <div class="filters">
      <search class="filter-box" aria-label="Filter the traces">
        {terms.length > 0 && (
          <ul class="chips" aria-label="Filters">
            {terms.map(term => (
              <Chip key={renderTerm(term)} term={term} edit={rewrite} remove={remove} />
            ))}
          </ul>
        )}
        <form
          onSubmit={event => {
            event.preventDefault()
            const entry = entries[active] ?? loneValue(entries, text)
            if (entry !== undefined) choose(entry)
            else apply(text)
          }}
        >
          <Icon name="filter" />
          <input
            ref={field}
            id="filter"
            type="text"
            role="combobox"
            aria-label="Add a filter"
            aria-expanded={open && entries.length > 0}
            aria-controls={list}
            aria-autocomplete="list"
            aria-activedescendant={active === -1 ? undefined : `${list}-${active}`}
            aria-invalid={fault !== undefined}
            aria-describedby={fault === undefined ? undefined : `${list}-fault`}
            placeholder={terms.length > 0 ? 'Add a filter' : 'Filter: status:error, step:search_orders, cost:>0.1…'}
            spellcheck={false}
            autocomplete="off"
            value={text}
            onFocus={() => setOpen(true)}
            onBlur={close}
            onInput={event => edit(event.currentTarget.value)}
            onKeyDown={press}
          />
        </form>
        {open && filterList && (
          <filterList.FilterList
            id={list}
            slug={slug}
            query={query}
            text={text}
            active={active}
            shown={setEntries}
            choose={choose}
          />
        )}
        {fault !== undefined && (
          <p id={`${list}-fault`} class="is-error small" role="alert">
            {fault.message}{' '}
            {fault.better !== undefined && (
              <>
                Did you mean{' '}
                <button type="button" class="link" onClick={() => correct(fault)}>
                  {fault.better}
                </button>
                ?{' '}
              </>
            )}
            {fault.isOff && settings !== undefined && <a href={settings}>Turn it on in the settings</a>}
          </p>
        )}
      </search>
      <div class="filters-end">
        <label class="only" title="Hide traces without a model call, agent, tool or retriever">
          <input
            type="checkbox"
            checked={query.runsOnly === true}
            onChange={event => change(withRunsOnly(query, event.currentTarget.checked))}
          />{' '}
          Runs only
        </label>
        {(terms.length > 0 || query.runsOnly) && (
          <LinkButton onClick={() => change(withoutFilters(query))}>Clear filters</LinkButton>
        )}
        <TimeMenu query={query} change={change} />
      </div>
    </div>
  )
}

/** Why a text was not applied, and what to write instead. */
interface Fault extends Partial<TextFault> {
  readonly message: string
  /** Whether full-text search is off. */
  readonly isOff?: boolean
}

interface ChipProps {
  readonly term: Term
  edit(term: Term): void
  remove(term: Term): void
}

function Chip({ term, edit, remove }: ChipProps) {
  const { title, value } = describeTerm(term)
  const shown = asLine(value, 60)
  return (
    <li class="filter-chip">
      <button type="button" class="plain" title="Edit this filter" onClick={() => edit(term)}>
        <span class="soft">{title}</span> {shown}
      </button>
      <button
        type="button"
        class="plain"
        aria-label={`Remove the filter ${title} ${shown}`}
        onClick={() => remove(term)}
      >
        <Icon name="close" />
      </button>
    </li>
  )
}
