/**
 * Aligns the spans of two traces in one list of rows. A span's path consists of the names from the root to the span,
 * each numbered among siblings of the same name: `agent run/chat#2`. Names exclude models, so that `chat gpt-5` in one
 * trace matches `chat gpt-5-mini` in the other. The rows keep the order of both trees and pair the maximum number of
 * equal paths. Ties are resolved by the number of pairs with equal unnumbered paths, then by the number of pairs with
 * equal names.
 */

import { growTree, type Node, visibleRows } from '../content/span-tree.ts'
import type { OutlineSpan } from '../contract.ts'

export interface AlignedStep {
  readonly span: OutlineSpan
  readonly depth: number
  /** The span's name without the model. */
  readonly name: string
  /** Numbered names from the root: `agent run/chat#2`. */
  readonly path: string
  /** The path without sibling numbers. */
  readonly names: string
}

/** Two matching steps, or one step without a match. */
export interface AlignedRow {
  /** The id of the first trace's span, or `b:` and the id for a span that exists only in the second trace. */
  readonly key: string
  readonly a: AlignedStep | undefined
  readonly b: AlignedStep | undefined
}

type Way = Pick<AlignedStep, 'name' | 'path' | 'names'>

/** Converts spans to steps, parents before children. */
export function stepsOf(spans: readonly OutlineSpan[]): AlignedStep[] {
  const roots = growTree(spans)
  const ways = new Map<Node, Way>()
  const walk = (siblings: readonly Node[], { path, names }: Omit<Way, 'name'>) => {
    const places = new Map<string, number>()
    for (const node of siblings) {
      const name = node.span === undefined ? '(missing parent)' : withoutModel(node.span)
      const own = escaped(name)
      const place = (places.get(own) ?? 0) + 1
      places.set(own, place)
      ways.set(node, { name, path: `${path}/${own}${place === 1 ? '' : `#${place}`}`, names: `${names}/${own}` })
    }
  }
  walk(roots, { path: '', names: '' })
  const steps: AlignedStep[] = []
  for (const { node, depth } of visibleRows(roots, new Set())) {
    const way = ways.get(node)!
    walk(node.children, way)
    if (node.span !== undefined) steps.push({ ...way, span: node.span, depth, path: way.path.slice(1) })
  }
  return steps
}

/**
 * Removes words that equal the model's name, are a prefix of that name, or extend that name, for example by a version
 * date.
 */
function withoutModel({ name, model }: OutlineSpan): string {
  if (model === null || model.length < LEAST_MODEL) return name
  const words = name.split(' ')
  const others = words.filter(word => word.length < LEAST_MODEL || !(model.startsWith(word) || word.startsWith(model)))
  // A name that consists only of the model's name is kept.
  return others.length === 0 ? name : others.join(' ')
}

/** Minimum length of a model name that is removed. A shorter name such as `o1` could be the prefix of any word. */
const LEAST_MODEL = 4

/** Escapes a name so that it cannot be mistaken for a path or a numbered name. */
const escaped = (name: string) => name.replace(/[\\/#]/g, '\\$&')

/** Returns rows that contain each span of both traces once, in the order of both trees. */
export function alignSteps(a: readonly AlignedStep[], b: readonly AlignedStep[]): AlignedRow[] {
  const [n, m] = [a.length, b.length]
  const worth = worthOf(a, b)
  // The best score for the remaining steps, from (i, j) to the end.
  const best = new Float64Array((n + 1) * (m + 1))
  for (let i = n - 1; i >= 0; i--) {
    for (let j = m - 1; j >= 0; j--) {
      const at = i * (m + 1) + j
      const apart = Math.max(best[at + m + 1]!, best[at + 1]!)
      const together = worth(i, j)
      best[at] = together === 0 ? apart : Math.max(apart, together + best[at + m + 2]!)
    }
  }
  const rows: AlignedRow[] = []
  let [i, j] = [0, 0]
  while (i < n || j < m) {
    const at = i * (m + 1) + j
    const together = i < n && j < m ? worth(i, j) : 0
    if (together > 0 && best[at] === together + best[at + m + 2]!) {
      rows.push({ key: a[i]!.span.id, a: a[i++], b: b[j++] })
    } else if (i < n && (j === m || best[at] === best[at + m + 1])) {
      rows.push({ key: a[i]!.span.id, a: a[i++], b: undefined })
    } else {
      rows.push({ key: `b:${b[j]!.span.id}`, a: undefined, b: b[j++] })
    }
  }
  return rows
}

/** Returns the score of pairing two steps; 0 if they do not match. */
function worthOf(a: readonly AlignedStep[], b: readonly AlignedStep[]): (i: number, j: number) => number {
  // One pair of equal paths outweighs all weaker pairs. One pair of equal `names` outweighs all pairs of equal `name`.
  const most = Math.min(a.length, b.length) + 1
  return (i, j) => {
    const [left, right] = [a[i]!, b[j]!]
    if (left.name !== right.name) return 0
    if (left.path === right.path) return most * most
    return left.names === right.names ? most : 1
  }
}

/** Returns the row with the given key, or else the row that contains the span with that id. */
export function findRow(rows: readonly AlignedRow[], key: string): AlignedRow | undefined {
  const id = key.replace(/^b:/, '')
  return (
    rows.find(row => row.key === key) ??
    rows.find(({ a }) => a?.span.id === id) ??
    rows.find(({ b }) => b?.span.id === id)
  )
}
