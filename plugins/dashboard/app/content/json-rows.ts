/** JSON as rows, one below the other: what is open shows its members. */
import { countMembers, type JsonMember, type JsonNode, membersOf, nodeAt, readString } from './json-text.ts'

/** Somebody's choices, by the ids of rows. */
export interface Unfolding {
  /** Opened or closed by hand. */
  readonly open: ReadonlyMap<string, boolean>
  /** How many members are shown of those that have more. */
  readonly most: ReadonlyMap<string, number>
}

export interface JsonRow {
  /** The places of its member and of those that it is in: `/3/1`. */
  readonly id: string
  readonly depth: number
  readonly node: JsonNode
  readonly member: JsonMember | undefined
  /** As JavaScript writes it. */
  readonly path: string
  /** The number of members of its holder, itself included. */
  readonly siblings: number
  /** How many members it has. */
  readonly count: number
  readonly isOpen: boolean
  /** How many of its siblings are not shown after it; 0 of all but the last that is shown. */
  readonly left: number
}

export const STEP = 200
const OPEN_DEPTH = 2
/** A value with more members is closed at first. */
const OPEN_MOST = 50

export const isHolder = ({ kind }: JsonNode): boolean => kind === 'object' || kind === 'array'

export function rowsOf(text: string, root: JsonNode, unfolding: Unfolding): JsonRow[] {
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

/** The row that a row is in, if any. */
export function parentOf(id: string): string | undefined {
  const end = id.lastIndexOf('/')
  return end === -1 ? undefined : id.slice(0, end)
}

/** A step of a path, as JavaScript writes it. */
function stepOf(text: string, { key, index }: JsonMember): string {
  if (key === undefined) return `[${index}]`
  const name = readString(text, key)
  return /^[A-Za-z_$][\w$]*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`
}

/** The row that a key leads to from one, as trees have it; undefined if the key folds, or does nothing. */
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

/** Whether a key opens or closes a row. */
export function folds({ count, isOpen }: JsonRow, key: string): boolean {
  if (count === 0) return false
  return key === 'Enter' || key === ' ' || key === (isOpen ? 'ArrowLeft' : 'ArrowRight')
}

/** The JSON in a text, if all of it is JSON. */
export function wholeNode(text: string): JsonNode | undefined {
  try {
    JSON.parse(text)
  } catch {
    return undefined
  }
  return nodeAt(text)
}
