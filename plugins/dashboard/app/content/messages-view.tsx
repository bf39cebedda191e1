import type { ComponentChildren, VNode } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { copy } from '../state/toasts.ts'
import { Icon, MoreButton } from '../ui/controls.tsx'
import { formatBytes, formatCounted } from '../ui/format.ts'
import { Offscreen, useKept } from '../ui/offscreen.tsx'
import { asLine, utf8Bytes } from '../ui/text.ts'
import { ExactNumber, writeCompact, writeIndented } from './json-text.ts'
import { JsonOfText, JsonView } from './json-view.tsx'
import { safeAddress } from './markdown/link.ts'
import { MediaView } from './media-view.tsx'
import type { Message, MessagePart } from './message.ts'
import { messagesAsText } from './message.ts'
import { LongText } from './text-view.tsx'
import { wholeJson } from './whole-json.ts'

interface Props {
  readonly messages: readonly Message[]
  readonly rendered: boolean
  /** Number of leading messages to fold. `earlier` names the earlier step that also contains these messages. */
  readonly folded?: number
  readonly earlier?: string
}

const FIRST = 20
/** Text is drawn in portions of this many characters, so that no frame takes long. */
const STEP_CHARACTERS = 5_000

export function Messages({ messages, rendered, folded = 0, earlier = '' }: Props) {
  const [unfolded, setUnfolded] = useState(false)
  const skipped = unfolded ? 0 : folded
  const rest = messages.slice(skipped)
  const draw = useDrawn(rendered)
  const [count, more, end] = useProgress(rest.length, i => sizeOf(rest[i]!))
  return (
    <div class="messages">
      {skipped > 0 && (
        <MoreButton onClick={() => setUnfolded(true)}>
          {formatCounted(skipped, 'earlier message')}, the same as in {asLine(earlier, 60)}
        </MoreButton>
      )}
      {rest.slice(0, count).map((message, i) => draw(message, skipped + i))}
      {count < rest.length && (
        <div ref={end}>
          <MoreButton onClick={more}>{formatCounted(rest.length - count, 'more message')}</MoreButton>
        </div>
      )}
    </div>
  )
}

/** Draws each message once and reuses the result when more messages are shown. */
function useDrawn(rendered: boolean): (message: Message, key: number) => VNode {
  const drawn = useRef({ rendered, nodes: new Map<Message, VNode>() })
  if (drawn.current.rendered !== rendered) drawn.current = { rendered, nodes: new Map() }
  const { nodes } = drawn.current
  return (message, key) => {
    let node = nodes.get(message)
    if (node === undefined) {
      node = (
        <Offscreen key={key}>
          <MessageView message={message} rendered={rendered} />
        </Offscreen>
      )
      nodes.set(message, node)
    }
    return node
  }
}

function sizeOf({ parts }: Message): number {
  return parts.reduce((sum, part) => sum + ('text' in part ? Math.min(part.text.length, 20_000) : 500), 0)
}

/**
 * Returns the number of messages to show, a function that shows more, and a ref for the end of the list. More messages
 * are shown when the end becomes visible.
 */
function useProgress(total: number, size: (i: number) => number) {
  const advance = (from: number, most: number) => {
    let to = from
    let characters = 0
    while (to < total && to - from < most && (to === from || characters < STEP_CHARACTERS)) characters += size(to++)
    return to
  }
  const [count, setCount] = useState(() => advance(0, FIRST))
  const end = useRef<HTMLDivElement>(null)
  const shown = Math.min(count, total)
  const more = () => setCount(advance(shown, FIRST))
  useEffect(() => {
    const element = end.current
    if (element === null) return
    const observer = new IntersectionObserver(entries => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) requestAnimationFrame(more)
    })
    observer.observe(element)
    return () => observer.disconnect()
  }, [shown, total])
  return [shown, more, end] as const
}

const KNOWN_ROLES = ['system', 'developer', 'user', 'assistant', 'tool']

function MessageView({ message, rendered }: { message: Message; rendered: boolean }) {
  const { role, name, parts, finish } = message
  const kind = KNOWN_ROLES.includes(role) ? role : 'other'
  return (
    <article class={`message of-${kind}`} aria-label={`Message from ${asLine(role, 40)}`}>
      <header>
        <span class="role">{asLine(role, 40)}</span>
        {name !== undefined && <span class="soft">{asLine(name, 60)}</span>}
        {finish !== undefined && <span class="soft finish">{asLine(finish, 30)}</span>}
        <button
          type="button"
          class="plain"
          title="Copy message"
          aria-label="Copy message"
          onClick={() => copy(messagesAsText([message], writeIndented).replace(/^.*\n/, ''), 'Message')}
        >
          <Icon name="copy" />
        </button>
      </header>
      {parts.length === 0 && <p class="soft">empty</p>}
      {parts.map((part, i) => (
        <PartView key={i} name={String(i)} part={part} rendered={rendered} isCode={role === 'tool'} />
      ))}
    </article>
  )
}

interface PartProps {
  readonly part: MessagePart
  readonly rendered: boolean
  /** Name, which must be unique within the message. */
  readonly name: string
  /** Whether a program wrote the text, so that its lines and columns matter. */
  readonly isCode?: boolean
}

function PartView({ part, rendered, name, isCode = false }: PartProps): ComponentChildren {
  switch (part.kind) {
    case 'text':
      return <ReadText text={part.text} rendered={rendered} name={name} isCode={isCode} />
    case 'thinking':
      return part.redacted ? (
        <p class="soft">thinking, redacted</p>
      ) : (
        <Fold class="thinking" name={name} label={`thinking (${formatBytes(utf8Bytes(part.text))})`}>
          {() => <LongText text={part.text} rendered={rendered} name={name} />}
        </Fold>
      )
    case 'call':
      return (
        <Fold
          class="call"
          name={name}
          label={
            <>
              <b>{asLine(part.name, 80)}</b>({asLine(oneLine(part.arguments), 160)})
            </>
          }
        >
          {() => <ValueView value={part.arguments} label={`Arguments of ${part.name}`} name={name} />}
        </Fold>
      )
    case 'result':
      return (
        <div class={`result ${part.failed ? 'is-failed' : ''}`}>
          <p class="soft">
            {part.failed ? 'failed' : 'result'}
            {part.name !== undefined && ` of ${asLine(part.name, 80)}`}
          </p>
          {part.content.length === 0 ? (
            <p class="soft">empty</p>
          ) : (
            part.content.map((inner, i) => (
              <PartView key={i} name={`${name}.${i}`} part={inner} rendered={rendered} isCode />
            ))
          )}
        </div>
      )
    case 'media':
      return <MediaView media={part.media} shown />
    case 'link': {
      const href = safeAddress(part.address)
      return (
        <p class="chip">
          {part.label}:{' '}
          {href === undefined ? (
            asLine(part.address, 200)
          ) : (
            <a href={href} rel="noreferrer noopener" target="_blank">
              {asLine(part.address, 200)}
            </a>
          )}
        </p>
      )
    }
    default:
      return <ValueView value={part.value} label={part.label} name={name} />
  }
}

interface ReadTextProps {
  readonly text: string
  readonly rendered: boolean
  readonly name: string
  readonly isCode: boolean
}

/** Shows a text that is JSON as a tree, a program's text in a fixed-width font, and any other text as Markdown. */
export function ReadText({ text, rendered, name, isCode }: ReadTextProps) {
  const node = useMemo(() => (rendered ? wholeJson(text) : undefined), [text, rendered])
  if (node !== undefined) return <JsonView text={text} node={node} label="JSON" name={name} />
  return <LongText text={text} rendered={rendered && !isCode} name={name} isCode={isCode} />
}

function oneLine(value: unknown): string {
  if (value === undefined) return ''
  return typeof value === 'string' ? value : writeCompact(value)
}

function ValueView({ value, label, name }: { value: unknown; label: string; name: string }) {
  const text = useMemo(() => (isPlain(value) ? '' : writeIndented(value)), [value])
  if (value === undefined) return <p class="soft">none</p>
  if (typeof value === 'string') return <LongText text={value} rendered={false} name={name} isCode />
  if (value instanceof ExactNumber) return <code>{value.text}</code>
  return <JsonOfText text={text} label={label} name={name} />
}

const isPlain = (value: unknown): boolean =>
  value === undefined || typeof value === 'string' || value instanceof ExactNumber

/** A section whose content is drawn only while open. */
function Fold(props: { class: string; name: string; label: ComponentChildren; children(): ComponentChildren }) {
  const [open, setOpen] = useKept(`open ${props.name}`, false)
  return (
    <div class={`folding ${props.class}`}>
      <button type="button" class="plain" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name={open ? 'down' : 'right'} /> <span>{props.label}</span>
      </button>
      {open && <div class="fold-content">{props.children()}</div>}
    </div>
  )
}
