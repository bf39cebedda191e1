/** Shows JSON as sent. Deep values are collapsed, long lists are shown in portions, and arrow keys navigate. */
import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { copy } from '../state/toasts.ts'
import { Icon, LinkButton, MoreButton } from '../ui/controls.tsx'
import { formatBytes, formatCount, formatCounted } from '../ui/format.ts'
import { guessType, mediaOf, readDataUri } from '../ui/media.ts'
import { Keeping, Offscreen, useKeeping, useKept } from '../ui/offscreen.tsx'
import { asLine, cut, isBase64 } from '../ui/text.ts'
import {
  folds,
  isHolder,
  type JsonRow,
  jsonRowsOf,
  parentOf,
  rowAfter,
  STEP,
  type Unfolding,
  wholeNode
} from './json-rows.ts'
import { type JsonMember, type JsonNode, nodeAt, readString, sourceOf } from './json-text.ts'
import { MediaView } from './media-view.tsx'
import { Plain } from './text-view.tsx'

const LONG_STRING = 2000
/** Number of rows per group. Groups far from the viewport are not rendered. */
const TOGETHER = 30
const ROW_PX = 22
const FOLDED: Unfolding = { open: new Map(), most: new Map() }

interface ViewProps {
  readonly text: string
  readonly node: JsonNode
  readonly label: string
  /** Name, which must be unique within the enclosing part. */
  readonly name?: string
}

export function JsonView({ text, node, label, name = label }: ViewProps) {
  const [unfolding, setUnfolding] = useKept(`json ${name}`, FOLDED)
  const rows = useMemo(() => jsonRowsOf(text, node, unfolding), [text, node, unfolding])
  const strings = useKeeping(`strings ${name}`)
  const [active, setActive] = useState('')
  const toFocus = useRef(false)
  const id = useId()
  useLayoutEffect(() => {
    if (toFocus.current) document.getElementById(`${id}${active}`)?.focus()
    toFocus.current = false
  }, [active])
  const setOpen = (row: JsonRow) =>
    setUnfolding({ ...unfolding, open: new Map(unfolding.open).set(row.id, !row.isOpen) })
  const showMore = (holder: string) => {
    const shown = unfolding.most.get(holder) ?? STEP
    setUnfolding({ ...unfolding, most: new Map(unfolding.most).set(holder, shown + STEP) })
  }
  const press = (event: KeyboardEvent) => {
    const target = event.target as HTMLElement
    if (target.getAttribute('role') !== 'treeitem' || target.closest('[role=tree]') !== event.currentTarget) return
    const at = rows.findIndex(row => `${id}${row.id}` === target.id)
    const row = rows[at]
    if (row === undefined) return
    const next = rowAfter(rows, at, event.key)
    if (folds(row, event.key)) setOpen(row)
    else if (next !== undefined) {
      toFocus.current = true
      setActive(next.id)
    } else return
    event.preventDefault()
    event.stopPropagation()
  }
  const groups: JsonRow[][] = []
  for (let at = 0; at < rows.length; at += TOGETHER) groups.push(rows.slice(at, at + TOGETHER))
  return (
    <div class="json" role="tree" aria-label={label} onKeyDown={press}>
      {groups.map((group, i) => (
        <Offscreen
          key={i}
          held={group.some(row => row.id === active)}
          {...(i > 1 && { estimate: group.length * ROW_PX })}
        >
          <Keeping.Provider value={strings}>
            {group.map(row => (
              <Row
                key={row.id}
                id={`${id}${row.id}`}
                text={text}
                row={row}
                isActive={row.id === active}
                toggle={() => setOpen(row)}
                choose={() => setActive(row.id)}
                more={() => showMore(parentOf(row.id) as string)}
              />
            ))}
          </Keeping.Provider>
        </Offscreen>
      ))}
    </div>
  )
}

/** Shows a JSON string that is not part of a body. */
export function JsonOfText({ text, label, name }: { text: string; label: string; name: string }) {
  const node = useMemo(() => nodeAt(text), [text])
  if (node === undefined) return <pre class="plain-text">{text}</pre>
  return <JsonView text={text} node={node} label={label} name={name} />
}

interface RowProps {
  readonly id: string
  readonly text: string
  readonly row: JsonRow
  readonly isActive: boolean
  toggle(): void
  choose(): void
  more(): void
}

function Row({ id, text, row, isActive, toggle, choose, more }: RowProps) {
  const { node, member, depth, path, count, isOpen, siblings, left } = row
  const canFold = count > 0
  return (
    <>
      <div
        role="treeitem"
        id={id}
        aria-expanded={canFold ? isOpen : undefined}
        aria-level={depth + 1}
        aria-setsize={siblings}
        aria-posinset={(member?.index ?? 0) + 1}
        tabIndex={isActive ? 0 : -1}
        class="json-item"
        data-toggle={canFold ? '' : undefined}
        style={`--depth: ${depth}`}
        onFocus={choose}
      >
        {/* biome-ignore lint/a11y/useKeyWithClickEvents: arrow keys fold and unfold items. */}
        {/* biome-ignore lint/a11y/noStaticElementInteractions: the item itself has the role. */}
        <div
          class="json-line"
          onClick={event => {
            if (canFold && !(event.target as Element).closest('button')) toggle()
          }}
        >
          <span class="fold" aria-hidden="true">
            {canFold && <Icon name={isOpen ? 'down' : 'right'} />}
          </span>
          {member !== undefined && <span class="key">{nameOf(text, member)}</span>}
          {isHolder(node) ? <Brackets text={text} row={row} /> : <Leaf text={text} node={node} name={row.id} />}
          <span class="json-tools">
            <button
              type="button"
              class="plain"
              tabIndex={-1}
              title="Copy value"
              aria-label="Copy value"
              onClick={() => copyValue(text, node)}
            >
              <Icon name="copy" />
            </button>
            {path !== '' && (
              <button
                type="button"
                class="plain"
                tabIndex={-1}
                title={`Copy path ${path}`}
                onClick={() => copy(path, 'Path')}
              >
                path
              </button>
            )}
          </span>
        </div>
      </div>
      {left > 0 && (
        <div role="none" style={`--depth: ${depth}`} class="json-more">
          <MoreButton onClick={more}>
            {formatCount(Math.min(STEP, left))} more of {formatCount(left)}
          </MoreButton>
        </div>
      )}
    </>
  )
}

function copyValue(text: string, node: JsonNode): void {
  void copy(node.kind === 'string' ? readString(text, node) : sourceOf(text, node), 'Value')
}

function nameOf(text: string, { key, index }: JsonMember): ComponentChildren {
  return key === undefined ? String(index) : <Plain text={asLine(readString(text, key), 200)} />
}

function Brackets({ text, row: { node, count, isOpen } }: { text: string; row: JsonRow }) {
  const [begin, end] = node.kind === 'object' ? '{}' : '[]'
  if (count === 0) return <span class="soft">{`${begin}${end}`}</span>
  const what = formatCounted(count, node.kind === 'object' ? 'field' : 'item')
  return (
    <span class="soft">
      {isOpen
        ? what
        : `${begin} ${asLine(text.slice(node.start + 1, Math.min(node.end - 1, node.start + 400)), 80)} ${end} `}
      {!isOpen && <small>{what}</small>}
    </span>
  )
}

function Leaf({ text, node, name }: { text: string; node: JsonNode; name: string }) {
  if (node.kind !== 'string') return <span class={`is-${node.kind}`}>{sourceOf(text, node)}</span>
  return <StringValue value={readString(text, node)} name={name} />
}

function StringValue({ value, name }: { value: string; name: string }) {
  const [all, setAll] = useKept(`all ${name}`, false)
  const [asJson, setAsJson] = useKept(`as json ${name}`, false)
  const inner = useMemo(() => (mayBeJson(value) ? wholeNode(value) : undefined), [value])
  const media = value.startsWith('data:')
    ? readDataUri(value)
    : isBase64(value)
      ? mediaOf(guessType(value), value)
      : undefined
  if (media !== undefined) return <MediaView media={media} />
  if (asJson && inner !== undefined) {
    return (
      <div class="inner-json">
        <LinkButton onClick={() => setAsJson(false)}>as text</LinkButton>
        <JsonView text={value} node={inner} label="JSON in the text" name={name} />
      </div>
    )
  }
  const shown = value.length > LONG_STRING && !all ? cut(value, LONG_STRING) : value
  return (
    <span class="is-string" dir="auto">
      <span class="quoted">
        <Plain text={shown} />
      </span>
      {shown.length < value.length && (
        <MoreButton onClick={() => setAll(true)}>Show all {formatBytes(value.length)}</MoreButton>
      )}
      {inner !== undefined && <LinkButton onClick={() => setAsJson(true)}>open as JSON</LinkButton>}
    </span>
  )
}

/** Maximum length of a string that is checked for nested JSON, in characters. */
const MOST_INNER = 1_000_000

function mayBeJson(text: string): boolean {
  return text.length > 2 && text.length <= MOST_INNER && /^\s*[[{]/.test(text) && /[\]}]\s*$/.test(text)
}
