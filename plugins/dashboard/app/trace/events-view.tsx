import type { Body } from '../content/bodies.ts'
import { countMembers, memberAt, membersOf, readString, sourceOf } from '../content/json-text.ts'
import { JsonView } from '../content/json-view.tsx'
import { Moment } from '../ui/facts.tsx'
import { asLine } from '../ui/text.ts'
import { clockTime, type Zone } from '../ui/time.ts'
import { CutNote } from './conversations.tsx'

export function Events({ body, zone }: { body: Body; zone: Zone }) {
  const { text, events } = body
  const members = events === undefined ? [] : membersOf(text, events)
  if (events === undefined || members.length === 0) {
    return (
      <>
        <CutNote body={body} half="events" />
        <p class="soft">No events.</p>
      </>
    )
  }
  return (
    <ol class="events">
      {members.map(({ index, node }) => {
        const [name, at, attributes] = ['name', 'timestamp', 'attributes'].map(key => memberAt(text, node, key))
        const iso = at?.kind === 'string' ? readString(text, at) : undefined
        const isEmpty = attributes === undefined || attributes.kind !== 'object' || countMembers(text, attributes) === 0
        return (
          <li key={index}>
            <p>
              {iso !== undefined && <Moment iso={iso} zone={zone} text={clockTime(iso, zone, true)} />}{' '}
              <b>
                {name === undefined
                  ? ''
                  : asLine(name.kind === 'string' ? readString(text, name) : sourceOf(text, name), 200)}
              </b>
            </p>
            {!isEmpty && <JsonView text={text} node={attributes!} label="Attributes of the event" />}
          </li>
        )
      })}
    </ol>
  )
}
