/**
 * The spans of two traces in one list of rows. A span's path is the names from its root, each with its place among siblings
 * of that name: `agent run/chat#2`. Models are left out of names, so that `chat gpt-5` of one is `chat gpt-5-mini` of the other. The rows keep the order of both trees and hold the most pairs of equal path that they
 * can; among those ways the one with the most pairs of equal names on the way, then with the most of equal name.
 */

import { growTree, type Node, visibleRows } from '../content/span-tree.ts'
import type { OutlineSpan } from '../contract.ts'

/** A span in the order of its tree. */
export interface Step {
  readonly span: OutlineSpan
  readonly depth: number
  /** Its name without the model. */
  readonly name: string
  /** The names from the root, with places: `agent run/chat#2`. */
  readonly path: string
  /** The same without places. */
  readonly names: string
}

/** One or both of two steps that belong together. */
export interface AlignedRow {
  /** The id of the span of the first trace; for a span of the second alone, `b:` and its id. */
  readonly key: string
  readonly a: Step | undefined
  readonly b: Step | undefined
}

interface Way {
  readonly name: string
  readonly path: string
  readonly names: string
}

/** The spans as steps, parents before their children. */
export function stepsOf(spans: readonly OutlineSpan[]): Step[] {
  const roots = growTree(spans)
  const ways = new Map<Node, Way>()
  const walk = (siblings: readonly Node[], { path, names }: Pick<Way, 'path' | 'names'>) => {
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
  const steps: Step[] = []
  for (const { node, depth } of visibleRows(roots, new Set())) {
    const way = ways.get(node)!
    walk(node.children, way)
    if (node.span !== undefined) steps.push({ ...way, span: node.span, depth, path: way.path.slice(1) })
  }
  return steps
}

/** Words of a name that are the model, or its beginning, or go on where the model ends, as dates of versions do. */
function withoutModel({ name, model }: OutlineSpan): string {
  if (model === null || model.length < LEAST_MODEL) return name
  const words = name.split(' ')
  const others = words.filter(word => word.length < LEAST_MODEL || !(model.startsWith(word) || word.startsWith(model)))
  // A name that is the model alone stays.
  return others.length === 0 ? name : others.join(' ')
}

/** Shorter words are taken for no model: `o1` is one, and so may be the beginning of anything. */
const LEAST_MODEL = 4

/** A name that cannot be taken for a path, nor for one with a place. */
const escaped = (name: string) => name.replace(/[\\/#]/g, '\\$&')

/** Each span of both traces once, in the order of both. */
export function alignSteps(a: readonly Step[], b: readonly Step[]): AlignedRow[] {
  const [n, m] = [a.length, b.length]
  const worth = worthOf(a, b)
  // The best sum of what is left from (i, j) on.
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

/** Weighs two steps as one row: 0 if they do not belong together. */
function worthOf(a: readonly Step[], b: readonly Step[]): (i: number, j: number) => number {
  // One pair of equal path outweighs all pairs that are less alike, as each of those outweighs all that are even less so.
  const most = Math.min(a.length, b.length) + 1
  return (i, j) => {
    const [left, right] = [a[i]!, b[j]!]
    if (left.name !== right.name) return 0
    if (left.path === right.path) return most * most
    return left.names === right.names ? most : 1
  }
}

/** The row with this key, else with this span, of either trace. */
export function findRow(rows: readonly AlignedRow[], key: string): AlignedRow | undefined {
  const id = key.replace(/^b:/, '')
  return (
    rows.find(row => row.key === key) ??
    rows.find(({ a }) => a?.span.id === id) ??
    rows.find(({ b }) => b?.span.id === id)
  )
}
