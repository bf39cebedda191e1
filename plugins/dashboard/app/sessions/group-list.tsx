/** A project's sessions or users, most recently seen first. */

import { useState } from 'preact/hooks'
import type { SessionPage, UserPage } from '../contract.ts'
import { at, read } from '../state/api.ts'
import { useLoad } from '../state/load.ts'
import { goSearch, useArrival, usePlace } from '../state/place.ts'
import { preferences } from '../state/preferences.ts'
import { pathOf } from '../state/route.ts'
import { useStore } from '../state/store.ts'
import { formatCounted } from '../ui/format.ts'
import { Problem, Waiting } from '../ui/problem.tsx'
import { shortTime } from '../ui/time.ts'
import { GroupTable } from './group-table.tsx'
import { type GroupKind, type GroupQuery, readGroupQuery, writeGroupQuery } from './groups.ts'
import { RangeChoice } from './range-choice.tsx'

const WORDS = {
  sessions: { title: 'Sessions', one: 'session', field: 'sessionId' },
  users: { title: 'Users', one: 'user', field: 'userId' }
} as const

/** Recently viewed pages, so that going back shows them at once. */
const KEPT = 10
const pages = new Map<string, SessionPage | UserPage>()

export function GroupList({ slug, kind }: { slug: string; kind: GroupKind }) {
  const { search } = usePlace()
  const { zone } = useStore(preferences)
  const query = readGroupQuery(search)
  const { title, one, field } = WORDS[kind]
  const key = at(`p/:slug/${kind}`, { slug }, writeGroupQuery(query))
  const loaded = useLoad(
    key,
    async signal => {
      const page = await read(key, { signal })
      pages.set(key, page)
      for (const old of pages.keys()) if (pages.size > KEPT) pages.delete(old)
      return page
    },
    () => pages.get(key)
  )
  const facets = useLoad(`facets ${slug}`, signal => read(at('p/:slug/facets', { slug }), { signal })).value
  const { value: page, error, again } = loaded
  useArrival(page !== undefined)
  const change = (next: GroupQuery) => goSearch(writeGroupQuery(next))
  const { after: _, ...first } = query
  const isFiltered = query.prefix !== undefined || query.env !== undefined
  const base = pathOf({ page: kind, slug })
  return (
    <div class="list-page">
      <div class="head">
        <h1 tabIndex={-1}>{title}</h1>
      </div>
      <div class="filters">
        <search class="is-open" aria-label={`Filter the ${kind}`}>
          <PrefixFilter
            value={query.prefix ?? ''}
            set={prefix => change({ ...(query.env && { env: query.env }), prefix })}
          />
          <label class={`filter ${query.env === undefined ? '' : 'is-set'}`}>
            <span>Environment</span>
            <select value={query.env ?? ''} onChange={event => change({ ...first, env: event.currentTarget.value })}>
              <option value="">any</option>
              {[...new Set([...(facets?.environments ?? []), ...(query.env === undefined ? [] : [query.env])])].map(
                each => (
                  <option key={each} value={each}>
                    {each}
                  </option>
                )
              )}
            </select>
          </label>
          {kind === 'users' && <RangeChoice range={query.range} set={range => change({ ...first, range })} />}
          {isFiltered && (
            <button
              type="button"
              class="link"
              onClick={() => change(query.range === undefined ? {} : { range: query.range })}
            >
              Clear
            </button>
          )}
        </search>
      </div>
      {kind === 'sessions' && query.env !== undefined && (
        <p class="soft">Each {one} that has a trace in this environment; the numbers are those of all its traces.</p>
      )}
      {error !== undefined && <Problem error={error} again={again} />}
      {page === undefined && error === undefined && <Waiting what={kind} />}
      {page !== undefined && 'countedFrom' in page && page.countedFrom !== null && (
        <p class="soft">
          Traces are counted back to {shortTime(page.countedFrom, zone, new Date())} so far; older ones follow.
        </p>
      )}
      {page !== undefined && page.groups.length === 0 && page.nextCursor === null && (
        <p class="empty">
          {query.after !== undefined ? (
            `No other ${one} was seen earlier.`
          ) : isFiltered ? (
            `No ${one} is like this.`
          ) : (
            <>
              No trace is of a {one}
              {kind === 'users' && ' in this time'}. Applications name it as <code>{field}</code> of a trace.
            </>
          )}
        </p>
      )}
      {page !== undefined && page.groups.length > 0 && (
        <GroupTable slug={slug} kind={kind} groups={page.groups} zone={zone} />
      )}
      {page !== undefined && (page.groups.length > 0 || page.nextCursor !== null || query.after !== undefined) && (
        <nav class="pager" aria-label="Pages of the list">
          <span class="soft" role="status">
            {formatCounted(page.groups.length, one)} on this page
          </span>
          {query.after !== undefined && (
            <a class="button" href={`${base}${writeGroupQuery(first)}`}>
              First page
            </a>
          )}
          {page.nextCursor !== null && (
            <a class="button" href={`${base}${writeGroupQuery({ ...query, after: page.nextCursor })}`}>
              seen earlier →
            </a>
          )}
        </nav>
      )}
    </div>
  )
}

function PrefixFilter({ value, set }: { value: string; set(value: string): void }) {
  const [text, setText] = useState<{ of: string; now: string }>({ of: value, now: value })
  const shown = text.of === value ? text.now : value
  const commit = (next: string) => {
    if (next !== value) set(next)
  }
  return (
    <label class={`filter ${value === '' ? '' : 'is-set'}`}>
      <span>Begins with</span>
      <input
        type="search"
        value={shown}
        placeholder="any"
        spellcheck={false}
        autocomplete="off"
        onInput={event => {
          setText({ of: value, now: event.currentTarget.value })
          if (event.currentTarget.value === '') commit('')
        }}
        onChange={event => commit(event.currentTarget.value.trim())}
      />
    </label>
  )
}
