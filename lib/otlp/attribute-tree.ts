/** Values of attributes whose names are paths, as one value. */
import type { Json } from '../trace/json/exact-json.ts'

export type Tree = Map<string, Tree | Leaf>
class Leaf {
  readonly value: Json
  constructor(value: Json) {
    this.value = value
  }
}

/**
 * No convention nests deeper than this: `0.message.contents.0.message_content.image.image.url` has eight steps. An
 * attribute with a longer name has no place in the tree, so that the cost of a name does not grow with its dots.
 */
const MAX_STEPS = 8

/** Whether there was a place for the value. */
export function plant(tree: Tree, path: string, value: Json): boolean {
  const steps = path.split('.', MAX_STEPS + 1)
  if (steps.length > MAX_STEPS) return false
  const last = steps.pop() as string
  let branch = tree
  for (const step of steps) {
    const next = branch.get(step) ?? new Map()
    if (next instanceof Leaf) return false
    branch.set(step, next)
    branch = next
  }
  if (branch.has(last)) return false
  branch.set(last, new Leaf(value))
  return true
}

const read = (branch: Tree | Leaf): Json => (branch instanceof Leaf ? branch.value : readTree(branch))

/** Turns the tree into a value. Steps that count from 0 without a gap make an array. */
export function readTree(tree: Tree): Json {
  let count = 0
  while (tree.has(String(count))) count++
  if (count < tree.size) return Object.fromEntries(Array.from(tree, ([step, branch]) => [step, read(branch)]))
  return Array.from({ length: count }, (_, i) => read(tree.get(String(i)) as Tree | Leaf))
}
