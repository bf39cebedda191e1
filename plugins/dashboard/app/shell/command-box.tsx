/** Opens pages by name or id and runs commands. Follows the ARIA combobox pattern. */

import { useEffect, useId, useMemo, useRef, useState } from 'preact/hooks'
import { ApiError, at, errorMessageOf, read } from '../state/api.ts'
import { isTraceId } from '../state/comparison.ts'
import { useRead } from '../state/load.ts'
import { go } from '../state/navigation.ts'
import { prefer, preferences } from '../state/preferences.ts'
import { useViews } from '../state/saved-views.ts'
import { RECENT, session, signOut } from '../state/session.ts'
import { useStore } from '../state/store.ts'
import { Dialog } from '../ui/dialog.tsx'
import { formatCounted } from '../ui/format.ts'
import { asLine } from '../ui/text.ts'
import {
  atFirst,
  distinct,
  type Entry,
  KINDS,
  knownEntries,
  matching,
  nameEntry,
  type PageCommand,
  readRecent,
  searchEntries,
  sessionEntry,
  tagEntry,
  traceEntry,
  userEntry,
  writeRecent
} from './command-entries.ts'

const THEMES = ['theme-light', 'theme-dark', 'theme-system'] as const

interface Props {
  readonly slug: string
  onClose(): void
  openHelp(): void
}

export function CommandBox({ slug, onClose, openHelp }: Props) {
  const known = useStore(session)
  const user = known?.user?.id ?? 0
  const { theme, zone } = useStore(preferences)
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState(0)
  const list = useId()
  const typed = text.trim()
  const facets = useRead(at('p/:slug/facets', { slug })).value
  const views = useViews(slug).value
  const lookup = useLookup(slug, typed)
  const recent = useMemo(() => readRecent(kept(), user, slug), [user, slug])
  const entries = useMemo(() => {
    const commands: PageCommand[] = [
      ...THEMES.filter(each => each !== `theme-${theme}`),
      zone === 'utc' ? 'zone-local' : 'zone-utc',
      ...(liveButton() === null ? [] : (['live'] as const)),
      'keys',
      'help',
      'sign-out'
    ]
    const names = facets?.names ?? []
    const all = knownEntries({ slug, projects: known?.projects ?? [], views: views ?? [], names, commands })
    if (typed === '') return atFirst(all, recent)
    // Entries found by the server are offered even if they do not contain the typed text.
    const found = lookup.entries
    const hasSearch = known?.projects.some(project => project.slug === slug && project.search) === true
    return inOrder(distinct([...found, ...matching(all, typed), ...searchEntries(slug, typed, hasSearch)]))
  }, [slug, known, theme, zone, views, facets, typed, recent, lookup.entries])
  useEffect(() => setChosen(0), [typed])
  const active = Math.min(chosen, entries.length - 1)
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    box.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' })
  }, [active, entries])

  const choose = (entry: Entry) => {
    onClose()
    if ('command' in entry.target) {
      const { command } = entry.target
      if (command === 'help') openHelp()
      else DONE[command]()
      return
    }
    keep(writeRecent(recent, entry, user, slug))
    go(entry.target.address)
  }
  const press = (event: KeyboardEvent) => {
    const to: Record<string, number> = {
      ArrowDown: (active + 1) % entries.length,
      ArrowUp: (active - 1 + entries.length) % entries.length,
      PageDown: Math.min(active + 8, entries.length - 1),
      PageUp: Math.max(active - 8, 0)
    }
    const next = to[event.key]
    if (next === undefined || entries.length === 0) return
    event.preventDefault()
    setChosen(next)
  }
  const said =
    typed === ''
      ? ''
      : entries.length > 0
        ? formatCounted(entries.length, 'entry', 'entries')
        : lookup.asking
          ? 'Searching…'
          : (lookup.error ?? 'No trace, session, user, tag or page has this name or ID.')
  return (
    <Dialog title="Search or jump to…" onClose={onClose}>
      <form
        class="command-box"
        onSubmit={event => {
          event.preventDefault()
          const entry = entries[active]
          if (entry !== undefined) choose(entry)
        }}
      >
        <label class="field">
          <span>Words, ID, name, tag, view, page or command</span>
          <input
            role="combobox"
            aria-expanded="true"
            aria-controls={list}
            aria-autocomplete="list"
            aria-activedescendant={entries.length === 0 ? undefined : `${list}-${active}`}
            value={text}
            onInput={event => setText(event.currentTarget.value)}
            onKeyDown={press}
            spellcheck={false}
            autocomplete="off"
          />
        </label>
        <div class="entries" id={list} role="listbox" aria-label="Entries" ref={box} tabIndex={-1}>
          {entries.map((entry, i) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the field handles the keys.
            <div
              key={JSON.stringify(entry.target)}
              id={`${list}-${i}`}
              class="entry"
              role="option"
              aria-selected={i === active}
              tabIndex={-1}
              onPointerMove={() => setChosen(i)}
              onClick={() => choose(entry)}
            >
              <span class="clip">{asLine(entry.label, 100)}</span>
              {entry.note !== undefined && <span class="soft clip">{asLine(entry.note, 80)}</span>}
              <span class="soft small">{KINDS[entry.kind]}</span>
            </div>
          ))}
        </div>
        <p class="soft small" role="status">
          {said}
        </p>
      </form>
    </Dialog>
  )
}

/** Sorts entries by kind. Within a kind, entries found by the server come first. */
function inOrder(entries: readonly Entry[]): Entry[] {
  const kinds = Object.keys(KINDS)
  return entries.toSorted((one, other) => kinds.indexOf(one.kind) - kinds.indexOf(other.kind))
}

/** The live button exists only on a trace list that can update live. */
const liveButton = () => document.querySelector<HTMLButtonElement>('main button.live')

const DONE: Readonly<Record<Exclude<PageCommand, 'help'>, () => void>> = {
  'theme-light': () => prefer({ theme: 'light' }),
  'theme-dark': () => prefer({ theme: 'dark' }),
  'theme-system': () => prefer({ theme: 'system' }),
  'zone-utc': () => prefer({ zone: 'utc' }),
  'zone-local': () => prefer({ zone: 'local' }),
  keys: () => prefer({ keys: !preferences.get().keys }),
  live: () => liveButton()?.click(),
  'sign-out': () => void signOut()
}

function kept(): string | null {
  try {
    return localStorage.getItem(RECENT)
  } catch {
    return null
  }
}

function keep(text: string): void {
  try {
    localStorage.setItem(RECENT, text)
  } catch {
    // Without storage, the entry is not remembered.
  }
}

const TYPING_MS = 150
const MOST = 3

interface IdLookup {
  readonly entries: readonly Entry[]
  readonly asking: boolean
  readonly error: string | undefined
}

const NOTHING: IdLookup = { entries: [], asking: false, error: undefined }

/** Looks up the typed text on the server, so that the command box offers only entries that exist. */
function useLookup(slug: string, typed: string): IdLookup {
  const [found, setFound] = useState<{ typed: string; lookup: IdLookup }>({ typed: '', lookup: NOTHING })
  useEffect(() => {
    if (typed === '') return
    const stop = new AbortController()
    const timer = setTimeout(async () => {
      const lookups = isTraceId(typed.toLowerCase())
        ? [findTrace(slug, typed.toLowerCase(), stop.signal)]
        : [
            findListed(slug, typed, 'name', stop.signal),
            findGroups(slug, typed, 'sessions', stop.signal),
            findGroups(slug, typed, 'users', stop.signal),
            findListed(slug, typed, 'tag', stop.signal)
          ]
      const answers = await Promise.allSettled(lookups)
      if (stop.signal.aborted) return
      const failed = answers.find(answer => answer.status === 'rejected')
      const entries = answers.flatMap(answer => (answer.status === 'fulfilled' ? answer.value : []))
      const error = failed === undefined ? undefined : errorMessageOf(failed.reason)
      setFound({ typed, lookup: { entries, asking: false, error } })
    }, TYPING_MS)
    return () => {
      clearTimeout(timer)
      stop.abort()
    }
  }, [slug, typed])
  if (typed === '') return NOTHING
  // Entries found for the previous text stay until a response arrives.
  return found.typed === typed ? found.lookup : { ...found.lookup, asking: true, error: undefined }
}

/** Finds the trace with this id, in this project or in another project that the visitor may see. */
async function findTrace(slug: string, id: string, signal: AbortSignal): Promise<Entry[]> {
  const { traces } = await read(at('p/:slug/traces', { slug }, `ids=${id}`), { signal })
  if (traces[0] !== undefined) return [traceEntry(slug, id, traces[0].name)]
  try {
    const elsewhere = await read(at('traces/:traceId', { traceId: id }), { signal })
    return [traceEntry(elsewhere.slug, id, `in the project ${elsewhere.slug}`)]
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return []
    throw error
  }
}

async function findListed(slug: string, typed: string, filter: 'name' | 'tag', signal: AbortSignal): Promise<Entry[]> {
  const query = new URLSearchParams({ [filter]: typed, limit: '1' })
  const { traces } = await read(at('p/:slug/traces', { slug }, query), { signal })
  return traces.length === 0 ? [] : [filter === 'name' ? nameEntry(slug, typed) : tagEntry(slug, typed)]
}

async function findGroups(
  slug: string,
  typed: string,
  what: 'sessions' | 'users',
  signal: AbortSignal
): Promise<Entry[]> {
  const query = new URLSearchParams({ prefix: typed, ...(what === 'users' && { range: '1y' }) })
  const { groups } = await read(at(`p/:slug/${what}`, { slug }, query), { signal })
  const entry = what === 'sessions' ? sessionEntry : userEntry
  return groups.slice(0, MOST).map(({ id }) => entry(slug, id))
}
