/** Assigns lines to the items of Markdown lists. */
import { endsParagraph, fenceAfter, indentOf, isBlank, type Marker, markerOf, unindent } from './lines.ts'
import type { Markdown } from './nodes.ts'

const TASK = /^\[([ xX])\](?=[ \t])/

interface Item {
  readonly lines: string[]
  /** Whether a blank line separates this item from the next. */
  isApart: boolean
}

type Read = (lines: readonly string[]) => Markdown[]

/** Returns the list that starts at a line, and the index of the line after it. `read` parses an item's blocks. */
export function listAt(lines: readonly string[], at: number, read: Read): [Markdown, number] {
  const first = markerOf(lines[at] as string) as Marker
  const items: Item[] = []
  let end = at
  for (let marker: Marker | undefined = first; marker !== undefined; ) {
    const [item, next]: [Item, number] = itemAt(lines, end, marker)
    items.push(item)
    end = next
    const line: string | undefined = lines[next]
    const following: Marker | undefined = line === undefined ? undefined : markerOf(line)
    marker = following?.mark === first.mark ? following : undefined
    if (marker === undefined) item.isApart = false
  }
  const blocks = items.map(({ lines }) => itemOf(lines, read))
  const isLoose =
    items.some(({ isApart }) => isApart) || blocks.some(each => each.filter(node => isParagraph(node)).length > 1)
  const children = blocks.map((each): Markdown => ({ tag: 'li', children: isLoose ? each : each.flatMap(bare) }))
  return [first.start === undefined ? { tag: 'ul', children } : { tag: 'ol', start: first.start, children }, end]
}

/** Returns an item's lines without marker and indentation, and the index of the line after it. */
function itemAt(lines: readonly string[], at: number, { column, mark, rest }: Marker): [Item, number] {
  const item: Item = { lines: [rest], isApart: false }
  let fence = fenceAfter(rest, undefined)
  let end = at + 1
  for (let i = end; i < lines.length; i++) {
    const line = lines[i] as string
    if (isBlank(line)) continue
    const gap = i - end
    const indent = indentOf(line)
    const marker = markerOf(line)
    // Two columns suffice for a nested list, because authors often indent by two although a number's marker is wider.
    const isWithin = indent >= column || (indent >= 2 && marker !== undefined && marker.mark !== mark)
    const goesOn = gap === 0 && marker === undefined && fence === undefined && rest !== '' && !endsParagraph(line)
    if (!isWithin && !goesOn) {
      item.isApart = gap > 0
      return [item, i]
    }
    for (let k = 0; k < gap; k++) item.lines.push('')
    const text = unindent(line, Math.min(indent, column))
    fence = fenceAfter(text, fence)
    item.lines.push(text)
    end = i + 1
  }
  return [item, lines.length]
}

function itemOf(lines: readonly string[], read: Read): Markdown[] {
  const [first = '', ...rest] = lines
  const box = TASK.exec(first)?.[1]
  if (box === undefined) return read(lines)
  return [{ tag: 'task', done: box !== ' ' }, ...read([first.slice(3).trimStart(), ...rest])]
}

const isParagraph = (node: Markdown): node is { tag: 'p'; children: readonly Markdown[] } =>
  typeof node !== 'string' && node.tag === 'p'

const bare = (node: Markdown): readonly Markdown[] => (isParagraph(node) ? node.children : [node])
