/** The input and output of a step or trace, as messages if possible, otherwise as recorded. */
import type { ComponentChildren, ComponentType } from 'preact'
import { type Body, conversationOf } from '../content/bodies.ts'
import { type JsonNode, readString, sourceOf } from '../content/json-text.ts'
import { JsonView } from '../content/json-view.tsx'
import { foldedCount, speaks } from '../content/message.ts'
import { Messages, ReadText } from '../content/messages-view.tsx'
import { NONE } from '../ui/format.ts'
import { type CutHalf, describeCuts, storedCutsOf } from './cuts.ts'

/** The previous model call, whose conversation the current call may repeat. */
export interface EarlierCall {
  readonly name: string
  readonly body: Body
}

/** A text to show, from the step or from the trace that the step's row stands for. */
interface Section {
  readonly title: string
  readonly half: 'input' | 'output'
  readonly body: Body
  readonly kind: string
}

interface Props {
  readonly body: Body
  readonly kind: string
  /** The trace's own body, if the row stands for the trace as well. */
  readonly whole?: Body | undefined
  readonly rendered: boolean
  readonly earlier?: EarlierCall | undefined
  readonly running: boolean
  /** Shows the data that was sent along with the messages, once its code is loaded. */
  readonly CallParameters?: ComponentType<{ readonly body: Body; readonly node: JsonNode | undefined }> | undefined
}

/** Returns the texts to show. The trace's text is shown apart from its only root's if they differ. */
function sectionsOf({ body, kind, whole }: Pick<Props, 'body' | 'kind' | 'whole'>): Section[] {
  return (['input', 'output'] as const).flatMap(half => {
    const title = half === 'input' ? 'Input' : 'Output'
    const own = body[half]
    const traces = whole?.[half]
    const isSame = own !== undefined && traces !== undefined && textAt(body, own) === textAt(whole!, traces)
    const ofSpan = { title, half, body, kind }
    const ofTrace = whole === undefined ? [] : [{ title, half, body: whole, kind: 'trace' }]
    if (traces === undefined || isSame) return [ofSpan]
    return own === undefined ? ofTrace : [...ofTrace, { ...ofSpan, title: `${title} of the root step` }]
  })
}

const textAt = (body: Body, node: JsonNode): string => sourceOf(body.text, node)

export function Conversations(props: Props) {
  const { body, kind, rendered, earlier, running, CallParameters } = props
  const cuts = storedCutsOf(body.text, body.attributes)
  const sections = sectionsOf(props)
  if (sections.every(each => each.body[each.half] === undefined) && cuts.length === 0) {
    return <p class="soft">{running ? 'Nothing received yet.' : 'No input or output was recorded.'}</p>
  }
  const before = earlier && conversationOf(earlier.body).input
  return (
    <>
      {sections.map(({ title, half, body: held, kind: of }) => {
        const node = held[half]
        const messages = conversationOf(held, speaks(of))[half]
        const folded =
          half === 'input' && held === body && messages !== undefined && before !== undefined
            ? foldedCount(before, messages)
            : 0
        return (
          <Half key={title} title={title} text={held.text} node={node} note={describeCuts(cuts, half)}>
            {messages !== undefined ? (
              <Messages messages={messages} rendered={rendered} folded={folded} earlier={earlier?.name ?? ''} />
            ) : node?.kind === 'string' ? (
              <div class="plain-value">
                <ReadText text={readString(held.text, node)} rendered={rendered} name={title} isCode />
              </div>
            ) : undefined}
            {half === 'input' && messages !== undefined && kind === 'llm' && CallParameters !== undefined && (
              <CallParameters body={held} node={node} />
            )}
          </Half>
        )
      })}
    </>
  )
}

interface HalfProps {
  readonly title: string
  readonly text: string
  readonly node: JsonNode | undefined
  /** A sentence about what is missing. */
  readonly note?: string | undefined
  /** If undefined, the value is shown as JSON. */
  readonly children?: ComponentChildren
}

function Half({ title, text, node, note, children }: HalfProps) {
  const shown = Array.isArray(children) ? children.some(Boolean) : children
  return (
    <section class="half">
      <h3>{title}</h3>
      {note !== undefined && <p class="cut-note">{note}</p>}
      {node === undefined ? (
        note === undefined && <p class="soft">{NONE}</p>
      ) : shown ? (
        children
      ) : (
        <JsonView text={text} node={node} label={title} />
      )}
    </section>
  )
}

/** Shows the input and output as recorded, including the trace's if the row stands for the trace as well. */
export function RawTexts({ body, kind, whole }: Pick<Props, 'body' | 'kind' | 'whole'>) {
  const cuts = storedCutsOf(body.text, body.attributes)
  return (
    <>
      {sectionsOf({ body, kind, whole }).map(({ title, half, body: held }) => (
        <Half key={title} title={title} text={held.text} node={held[half]} note={describeCuts(cuts, half)} />
      ))}
    </>
  )
}

/** Lists the cuts in attributes or events, above them. */
export function CutNote({ body, half }: { body: Body; half: CutHalf }) {
  const note = describeCuts(storedCutsOf(body.text, body.attributes), half)
  return note === undefined ? null : <p class="cut-note">{note}</p>
}
