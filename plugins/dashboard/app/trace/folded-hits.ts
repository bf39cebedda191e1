/** Counts the hits of a search that collapsed rows hide. */
import type { Node, Row } from '../content/span-tree.ts'

/** Returns the number of hits by row. A collapsed row also counts the hits of the spans below it. */
export function hitsByRow(rows: readonly Row[], hits: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { key, node, open } of rows) {
    let count = 0
    const waiting: Node[] = [node]
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      count += hits.get(next.key) ?? 0
      if (!open) for (const child of next.children) waiting.push(child)
    }
    if (count > 0) counts.set(key, count)
  }
  return counts
}
