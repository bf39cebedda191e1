/** The suggestions below the filter box. */
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { SuggestedValues } from '../contract.ts'
import type { ListQuery } from '../state/list-query.ts'
import { formatCount } from '../ui/format.ts'
import { asLine } from '../ui/text.ts'
import { entriesFor, type FilterEntry, lastPart } from './filter-entries.ts'
import { hasValues, suggest } from './suggest.ts'

interface Props {
  readonly id: string
  readonly slug: string
  readonly query: ListQuery
  readonly text: string
  /** Index of the entry that the keyboard selected, or −1. */
  readonly active: number
  /** Receives the entries that are shown, which the keyboard selects from. */
  shown(entries: readonly FilterEntry[]): void
  choose(entry: FilterEntry): void
}

const TYPING_MS = 120

export function FilterList({ id, slug, query, text, active, shown, choose }: Props) {
  const known = useValues(slug, query, text)
  const entries = useMemo(() => entriesFor(text, known), [text, known])
  useEffect(() => shown(entries), [entries])
  useEffect(() => document.getElementById(`${id}-${active}`)?.scrollIntoView({ block: 'nearest' }), [active])
  return (
    <div class="filter-list" hidden={entries.length === 0}>
      <div id={id} role="listbox" aria-label="Suggestions" tabIndex={-1}>
        {entries.map((entry, i) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field handles the keys.
          <div
            key={entry.text}
            id={`${id}-${i}`}
            class="entry"
            role="option"
            aria-selected={i === active}
            tabIndex={-1}
            // The field keeps the focus, so that the list stays open until the click.
            onPointerDown={event => event.preventDefault()}
            onMouseDown={event => event.preventDefault()}
            onClick={() => choose(entry)}
          >
            <span class="clip" title={entry.label}>
              {asLine(entry.label, 100)}
            </span>
            {entry.note !== undefined && <span class="soft clip note">{entry.note}</span>}
            {entry.count !== undefined && <span class="soft">{formatCount(entry.count)}</span>}
          </div>
        ))}
      </div>
      {known !== undefined && known.newest !== null && (
        <p class="soft small">Counted among the newest {formatCount(known.newest)} traces.</p>
      )}
    </div>
  )
}

/** Loads the values of the field that is being typed. */
function useValues(slug: string, query: ListQuery, typed: string): SuggestedValues | undefined {
  const [found, setFound] = useState<{ key: string; field: string; values: SuggestedValues } | undefined>()
  const { field, value } = lastPart(typed)
  const name = field !== undefined && hasValues(field.name) ? field.name : undefined
  const key = `${name} ${value}`
  useEffect(() => {
    if (name === undefined || found?.key === key) return
    const stop = new AbortController()
    const timer = setTimeout(() => {
      suggest(slug, query, name, value, stop.signal).then(
        values => setFound({ key, field: name, values }),
        // Without suggestions, the value can still be typed.
        () => {}
      )
    }, TYPING_MS)
    return () => {
      clearTimeout(timer)
      stop.abort()
    }
  }, [slug, key])
  // Values for the previous text stay until a response arrives.
  return name !== undefined && found?.field === name ? found.values : undefined
}
