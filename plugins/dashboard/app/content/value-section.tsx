/** A value of a trace or span under a heading: as messages if it is a conversation, otherwise as JSON. */
import type { Body } from './bodies.ts'
import { conversationOf } from './bodies.ts'
import { JsonView } from './json-view.tsx'
import { Messages } from './messages-view.tsx'

interface Props {
  readonly title: string
  readonly body: Body
  readonly part: 'input' | 'output' | 'metadata' | 'events'
  /** Whether Markdown is rendered. */
  readonly rendered: boolean
}

export function ValueSection({ title, body, part, rendered }: Props) {
  const node = body[part]
  const messages = part === 'input' || part === 'output' ? conversationOf(body)[part] : undefined
  return (
    <section class="half">
      <h3>{title}</h3>
      {node === undefined ? (
        <p class="soft">Not recorded.</p>
      ) : messages === undefined ? (
        <JsonView text={body.text} node={node} label={title} />
      ) : (
        <Messages messages={messages} rendered={rendered} />
      )}
    </section>
  )
}
