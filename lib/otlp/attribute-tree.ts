/** Combines attributes whose names are paths into a single value. */
import type { Json } from '../trace/json/exact-json.ts'

export type Tree = Map<string, Tree | Leaf>
class Leaf {
  readonly value: Json
  constructor(value: Json) {
    this.value = value
  }
}

/**
 * Maximum number of steps in a path. The deepest known path, `0.message.contents.0.message_content.image.image.url`,
 * has eight steps. Names with more steps are not added to the tree, so that the cost of a name with many dots is
 * bounded.
 */
const MAX_STEPS = 8

/** Adds a value at a path. Returns false if the path is too long or conflicts with an earlier path. */
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

/** Converts the tree to a value. Sibling steps numbered from 0 without gaps become an array. */
export function readTree(tree: Tree): Json {
  let count = 0
  while (tree.has(String(count))) count++
  if (count < tree.size) return Object.fromEntries(Array.from(tree, ([step, branch]) => [step, read(branch)]))
  return Array.from({ length: count }, (_, i) => read(tree.get(String(i)) as Tree | Leaf))
}
