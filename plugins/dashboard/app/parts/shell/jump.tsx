/** Goes to what somebody has the name or id of. */
import { useState } from 'preact/hooks'
import { writeQuery } from '../../lib/filters.ts'
import { pathOf } from '../../lib/route.ts'
import { go } from '../../state/place.ts'
import { Dialog } from '../dialog.tsx'

interface Target {
  readonly label: string
  readonly address: string
}

function targetsOf(slug: string, text: string): Target[] {
  const value = text.trim()
  if (value === '') return []
  const list = pathOf({ page: 'traces', slug })
  const filtered = (label: string, filter: 'name' | 'session' | 'user' | 'tag'): Target => ({
    label,
    address: `${list}${writeQuery({ filters: { [filter]: value }, sort: 'newest' })}`
  })
  const id = /^[0-9a-f]{32}$/i.test(value)
  return [
    ...(id
      ? [{ label: 'the trace with this id', address: pathOf({ page: 'trace', slug, traceId: value.toLowerCase() }) }]
      : []),
    filtered('traces of this name', 'name'),
    filtered('traces of this session', 'session'),
    filtered('traces of this user', 'user'),
    filtered('traces with this tag', 'tag')
  ]
}

export function Jump({ slug, onClose }: { slug: string; onClose(): void }) {
  const [text, setText] = useState('')
  const targets = targetsOf(slug, text)
  return (
    <Dialog title="Jump" onClose={onClose}>
      <form
        onSubmit={event => {
          event.preventDefault()
          if (targets[0] === undefined) return
          onClose()
          go(targets[0].address)
        }}
      >
        <label class="field">
          <span>Trace id, name, session, user or tag</span>
          <input
            autoFocus
            value={text}
            onInput={event => setText(event.currentTarget.value)}
            spellcheck={false}
            autocomplete="off"
          />
        </label>
      </form>
      <ul class="targets">
        {targets.map(({ label, address }) => (
          <li key={label}>
            <a href={address} onClick={onClose}>
              {label}
            </a>
          </li>
        ))}
      </ul>
    </Dialog>
  )
}
