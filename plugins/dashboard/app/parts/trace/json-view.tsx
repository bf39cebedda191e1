/** JSON as it was sent: folded below its second level, in steps where it is long, by arrows where one has no mouse. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { formatBytes, formatCount, formatCounted } from '../../lib/format.ts'
import {
  countMembers,
  type JsonMember,
  type JsonNode,
  membersOf,
  nodeAt,
  readString,
  sourceOf
} from '../../lib/json-text.ts'
import { guessType, mediaOf, readDataUri } from '../../lib/media.ts'
import { asLine, cut, isBase64, normalBase64 } from '../../lib/text.ts'
import { copy } from '../../state/toasts.ts'
import { Icon } from '../icons.tsx'
import { MediaView } from './media-view.tsx'
import { Plain } from './text.tsx'

const OPEN_DEPTH = 2
const STEP = 200
/** Of what is open at first; more is opened by hand. */
const OPEN_MOST = 50
const LONG_STRING = 2000

export function JsonView({ text, node, label }: { text: string; node: JsonNode; label: string }) {
  return (
    <div class="json" role="tree" aria-label={label} onKeyDown={press}>
      <Item text={text} node={node} name={undefined} path="" depth={0} first />
    </div>
  )
}

/** JSON of a value that was not sent as text of its own. */
export function JsonOfText({ text, label }: { text: string; label: string }) {
  const node = nodeAt(text)
  return node === undefined ? <pre class="plain-text">{text}</pre> : <JsonView text={text} node={node} label={label} />
}

interface ItemProps {
  readonly text: string
  readonly node: JsonNode
  readonly name: ComponentChildren
  readonly path: string
  readonly depth: number
  readonly first?: boolean
}

function Item({ text, node, name, path, depth, first = false }: ItemProps) {
  const isHolder = node.kind === 'object' || node.kind === 'array'
  const count = isHolder ? countMembers(text, node) : 0
  const [open, setOpen] = useState(depth < OPEN_DEPTH && count <= OPEN_MOST)
  const [most, setMost] = useState(STEP)
  const members = isHolder && open ? membersOf(text, node, 0, most) : []
  return (
    <div
      role="treeitem"
      aria-expanded={isHolder && count > 0 ? open : undefined}
      aria-level={depth + 1}
      tabIndex={first ? 0 : -1}
      class="json-item"
      data-toggle={isHolder ? '' : undefined}
    >
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: arrows fold and unfold. */}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the item itself has the role. */}
      <div
        class="json-line"
        onClick={event => {
          if (isHolder && !(event.target as Element).closest('button')) setOpen(!open)
        }}
      >
        <span class="fold" aria-hidden="true">
          {isHolder && count > 0 && <Icon name={open ? 'down' : 'right'} />}
        </span>
        {name !== undefined && <span class="key">{name}</span>}
        {isHolder ? <Brackets text={text} node={node} count={count} open={open} /> : <Leaf text={text} node={node} />}
        <span class="json-tools">
          <button
            type="button"
            class="plain"
            tabIndex={-1}
            title="Copy the value"
            aria-label="Copy the value"
            onClick={() => copyValue(text, node)}
          >
            <Icon name="copy" />
          </button>
          {path !== '' && (
            <button
              type="button"
              class="plain"
              tabIndex={-1}
              title={`Copy the path ${path}`}
              onClick={() => copy(path, 'Path')}
            >
              path
            </button>
          )}
        </span>
      </div>
      {members.length > 0 && (
        // biome-ignore lint/a11y/useSemanticElements: the group of a tree is no fieldset.
        <div role="group">
          {members.map(member => (
            <Item
              key={member.index}
              text={text}
              node={member.node}
              name={nameOf(text, member)}
              path={path + stepOf(text, member)}
              depth={depth + 1}
            />
          ))}
          {count > members.length && (
            <div role="none">
              <button type="button" class="show-all" onClick={() => setMost(most + STEP)}>
                {formatCount(Math.min(STEP, count - members.length))} more of {formatCount(count - members.length)}
              </button>
            </div>
          )}
        </div>
      )}
    </div>
  )
}

function copyValue(text: string, node: JsonNode): void {
  void copy(node.kind === 'string' ? readString(text, node) : sourceOf(text, node), 'Value')
}

function nameOf(text: string, { key, index }: JsonMember): ComponentChildren {
  return key === undefined ? String(index) : <Plain text={asLine(readString(text, key), 200)} />
}

/** A step of a path, as JavaScript writes it. */
function stepOf(text: string, { key, index }: JsonMember): string {
  if (key === undefined) return `[${index}]`
  const name = readString(text, key)
  return /^[A-Za-z_$][\w$]*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`
}

function Brackets({ text, node, count, open }: { text: string; node: JsonNode; count: number; open: boolean }) {
  const [begin, end] = node.kind === 'object' ? '{}' : '[]'
  if (count === 0) return <span class="soft">{`${begin}${end}`}</span>
  const what = formatCounted(count, node.kind === 'object' ? 'field' : 'item')
  return (
    <span class="soft">
      {open
        ? what
        : `${begin} ${asLine(text.slice(node.start + 1, Math.min(node.end - 1, node.start + 400)), 80)} ${end} `}
      {!open && <small>{what}</small>}
    </span>
  )
}

function Leaf({ text, node }: { text: string; node: JsonNode }) {
  if (node.kind !== 'string') return <span class={`is-${node.kind}`}>{sourceOf(text, node)}</span>
  return <StringValue value={readString(text, node)} />
}

function StringValue({ value }: { value: string }) {
  const [all, setAll] = useState(false)
  const [asJson, setAsJson] = useState(false)
  const media = value.startsWith('data:')
    ? readDataUri(value)
    : isBase64(value)
      ? mediaOf(guessType(value), normalBase64(value))
      : undefined
  if (media !== undefined) return <MediaView media={media} />
  const holdsJson = /^\s*[[{]/.test(value) && /[\]}]\s*$/.test(value) && value.length > 2
  if (asJson) {
    const node = nodeAt(value)
    if (node !== undefined && isJson(value)) {
      return (
        <div class="inner-json">
          <button type="button" class="link" onClick={() => setAsJson(false)}>
            as text
          </button>
          <JsonView text={value} node={node} label="JSON in the text" />
        </div>
      )
    }
  }
  const shown = value.length > LONG_STRING && !all ? cut(value, LONG_STRING) : value
  return (
    <span class="is-string" dir="auto">
      <span class="quoted">
        <Plain text={shown} />
      </span>
      {shown.length < value.length && (
        <button type="button" class="show-all" onClick={() => setAll(true)}>
          Show all {formatBytes(value.length)}
        </button>
      )}
      {holdsJson && isJson(value) && (
        <button type="button" class="link" onClick={() => setAsJson(true)}>
          open as JSON
        </button>
      )}
    </span>
  )
}

/** Longer ones are not looked at for this. */
const MOST_INNER = 1_000_000

function isJson(text: string): boolean {
  if (text.length > MOST_INNER) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Arrows, as trees have them. */
function press(event: KeyboardEvent): void {
  const target = event.target as HTMLElement
  if (target.getAttribute('role') !== 'treeitem') return
  const root = (event.currentTarget as HTMLElement).closest('[role=tree]')!
  const items = [...root.querySelectorAll<HTMLElement>('[role=treeitem]')]
  const at = items.indexOf(target)
  const toggle = () => target.querySelector<HTMLElement>('.json-line')?.click()
  const expanded = target.getAttribute('aria-expanded')
  const focus = (item: HTMLElement | null | undefined) => {
    if (!item) return
    target.tabIndex = -1
    item.tabIndex = 0
    item.focus()
  }
  const steps: Record<string, () => void> = {
    ArrowDown: () => focus(items[at + 1]),
    ArrowUp: () => focus(items[at - 1]),
    Home: () => focus(items[0]),
    End: () => focus(items.at(-1)),
    ArrowRight: () => (expanded === 'false' ? toggle() : focus(expanded === 'true' ? items[at + 1] : undefined)),
    ArrowLeft: () =>
      expanded === 'true' ? toggle() : focus(target.parentElement?.closest<HTMLElement>('[role=treeitem]')),
    Enter: toggle,
    ' ': toggle
  }
  const step = steps[event.key]
  if (step === undefined) return
  event.preventDefault()
  event.stopPropagation()
  step()
}
