/** Shows owners the audit log of their account, page by page, newest entries first. */
import { useState } from 'preact/hooks'
import type { AuditItem } from '../contract.ts'
import { at, errorMessageOf, read } from '../state/api.ts'
import { useRead } from '../state/load.ts'
import { tell } from '../state/toasts.ts'
import { MoreButton } from '../ui/controls.tsx'
import { Moment } from '../ui/facts.tsx'
import { asLine } from '../ui/text.ts'
import type { Zone } from '../ui/time.ts'
import { GROUP_CHOICES, textOfAction, wordsOfDetail } from './audit-entry.ts'
import { Listing } from './listing.tsx'

const MOST_FACTS = 300

export function AuditLog({ slug, zone }: { slug: string; zone: Zone }) {
  const [group, setGroup] = useState('')
  return (
    <section>
      <p class="soft">
        Actions by people, keys and commands in this account and its projects, and its members’ sign-ins, but not the
        recording of traces. Entries are never deleted.
      </p>
      <p class="audit-choice">
        <select aria-label="Actions" value={group} onChange={event => setGroup(event.currentTarget.value)}>
          {GROUP_CHOICES.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
        <a
          href={new URL(`api/p/${slug}/audit-file${group && `?group=${group}`}`, document.baseURI).href}
          download
          data-outside
        >
          Download as NDJSON
        </a>
      </p>
      <Entries key={group} slug={slug} group={group} zone={zone} />
    </section>
  )
}

interface EntriesProps {
  readonly slug: string
  readonly group: string
  readonly zone: Zone
}

function Entries({ slug, group, zone }: EntriesProps) {
  const addressOf = (before?: number) => {
    const query = { ...(group && { group }), ...(before !== undefined && { before: String(before) }) }
    return at('p/:slug/audit', { slug }, new URLSearchParams(query))
  }
  const loaded = useRead(addressOf())
  const [older, setOlder] = useState<readonly AuditItem[]>([])
  const [next, setNext] = useState<number | null | undefined>()
  const before = next === undefined ? loaded.value?.next : next
  const entries = [...(loaded.value?.entries ?? []), ...older]
  const showMore = async () => {
    try {
      const page = await read(addressOf(before ?? undefined))
      setOlder([...older, ...page.entries])
      setNext(page.next)
    } catch (error) {
      tell(errorMessageOf(error), true)
    }
  }
  const none =
    loaded.value === undefined || entries.length > 0
      ? undefined
      : group === 'views' && !loaded.value.views
        ? 'Opened traces are recorded if the server runs with AUDIT_VIEWS=on.'
        : 'No entries.'
  return (
    <>
      <Listing
        loaded={loaded}
        what="the audit log"
        columns={['Time', 'Who', 'Action', 'Project', 'From']}
        actions={false}
        none={none}
      >
        {entries.map(entry => (
          <tr key={entry.id}>
            <td>
              <Moment iso={entry.at} zone={zone} />
            </td>
            <td data-title="Who">{asLine(entry.by, 120)}</td>
            <td data-title="Action">
              {textOfAction(entry)} <span class="soft">{asLine(wordsOfDetail(entry).join(', '), MOST_FACTS)}</span>
            </td>
            <td data-title="Project">{entry.project}</td>
            <td data-title="From">{entry.client}</td>
          </tr>
        ))}
      </Listing>
      {before != null && <MoreButton onClick={() => void showMore()}>Show older entries</MoreButton>}
    </>
  )
}
