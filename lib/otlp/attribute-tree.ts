/** Values of attributes whose names are paths, as one value. */
import type { Json } from '../trace/json/exact-json.ts'

export type Tree = Map<string, Tree | Leaf>
class Leaf {
  readonly value: Json
  constructor(value: Json) {
    this.value = value
  }
}

/** No convention nests deeper than this. A longer path is not taken apart any further. */
const MAX_STEPS = 12

/** Whether there was a place for the value. */
export function plant(tree: Tree, path: readonly string[], value: Json): boolean {
  let branch = tree
  const steps = path.length > MAX_STEPS ? [...path.slice(0, MAX_STEPS), path.slice(MAX_STEPS).join('.')] : path
  for (const step of steps.slice(0, -1)) {
    const next = branch.get(step) ?? new Map()
    if (next instanceof Leaf) return false
    branch.set(step, next)
    branch = next
  }
  const last = steps.at(-1) as string
  if (branch.has(last)) return false
  branch.set(last, new Leaf(value))
  return true
}

/** Turns the tree into a value. Steps that count from 0 without a gap make an array. */
export function readTree(tree: Tree): Json {
  const values = new Map<string, Json>()
  for (const [step, branch] of tree) values.set(step, branch instanceof Leaf ? branch.value : readTree(branch))
  const counted = Array.from({ length: values.size }, (_, i) => String(i))
  return counted.every(step => values.has(step)) ? counted.map(step => values.get(step)) : Object.fromEntries(values)
}
