/** Lists JSON as rows. The members of an expanded value follow the value's row. */
import { countMembers, type JsonMember, type JsonNode, membersOf, nodeAt, readString } from './json-text.ts'

/** The visitor's choices, keyed by row id. */
export interface Unfolding {
  /** Values that the visitor expanded (true) or collapsed (false). */
  readonly open: ReadonlyMap<string, boolean>
  /** Number of members to show, for values that have more members. */
  readonly most: ReadonlyMap<string, number>
}

export interface JsonRow {
  /** Member indices from the root to this row: `/3/1`. */
  readonly id: string
  readonly depth: number
  readonly node: JsonNode
  readonly member: JsonMember | undefined
  /** JavaScript path of the value. */
  readonly path: string
  /** Number of members in the enclosing value, including this member. */
  readonly siblings: number
  readonly count: number
  readonly isOpen: boolean
  /** Number of siblings hidden after this row; 0 except for the last visible sibling. */
  readonly left: number
}

export const STEP = 200
const OPEN_DEPTH = 2
/** Values with more members are collapsed at first. */
const OPEN_MOST = 50

export const isHolder = ({ kind }: JsonNode): boolean => kind === 'object' || kind === 'array'

export function jsonRowsOf(text: string, root: JsonNode, unfolding: Unfolding): JsonRow[] {
  const rows: JsonRow[] = []
  const add = (row: Omit<JsonRow, 'count' | 'isOpen'>) => {
    const { id, depth, node, path } = row
    const count = isHolder(node) ? countMembers(text, node) : 0
    const isOpen = count > 0 && (unfolding.open.get(id) ?? (depth < OPEN_DEPTH && count <= OPEN_MOST))
    rows.push({ ...row, count, isOpen })
    if (!isOpen) return
    const members = membersOf(text, node, 0, unfolding.most.get(id) ?? STEP)
    for (const [i, member] of members.entries()) {
      add({
        id: `${id}/${member.index}`,
        depth: depth + 1,
        node: member.node,
        member,
        path: path + stepOf(text, member),
        siblings: count,
        left: i === members.length - 1 ? count - members.length : 0
      })
    }
  }
  add({ id: '', depth: 0, node: root, member: undefined, path: '', siblings: 1, left: 0 })
  return rows
}

export function parentOf(id: string): string | undefined {
  const end = id.lastIndexOf('/')
  return end === -1 ? undefined : id.slice(0, end)
}

function stepOf(text: string, { key, index }: JsonMember): string {
  if (key === undefined) return `[${index}]`
  const name = readString(text, key)
  return /^[A-Za-z_$][\w$]*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`
}

/** Returns the row to which a key moves the focus, as in any tree widget; undefined if the focus stays. */
export function rowAfter(rows: readonly JsonRow[], at: number, key: string): JsonRow | undefined {
  const row = rows[at] as JsonRow
  switch (key) {
    case 'ArrowDown':
      return rows[at + 1]
    case 'ArrowUp':
      return rows[at - 1]
    case 'Home':
      return rows[0]
    case 'End':
      return rows.at(-1)
    case 'ArrowRight':
      return row.isOpen ? rows[at + 1] : undefined
    case 'ArrowLeft':
      return row.isOpen ? undefined : rows.find(({ id }) => id === parentOf(row.id))
    default:
      return undefined
  }
}

/** Returns whether a key expands or collapses a row. */
export function folds({ count, isOpen }: JsonRow, key: string): boolean {
  if (count === 0) return false
  return key === 'Enter' || key === ' ' || key === (isOpen ? 'ArrowLeft' : 'ArrowRight')
}

/** Returns the root node of a JSON string; undefined if the string is not valid JSON. */
export function wholeNode(text: string): JsonNode | undefined {
  try {
    JSON.parse(text)
  } catch {
    return undefined
  }
  return nodeAt(text)
}
