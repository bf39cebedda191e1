/** Flattens metadata into named values, for the head of a trace and for comparing two traces. */

export interface MetadataLeaf {
  /** The keys from the root to the value, joined by dots. */
  readonly name: string
  readonly value: string
}

const DEEPEST = 4
const MOST = 200

/** Returns the scalar values of metadata, in order; those that spoor itself added are left out. */
export function metadataLeaves(metadata: Readonly<Record<string, unknown>>): MetadataLeaf[] {
  const leaves: MetadataLeaf[] = []
  const visit = (value: unknown, path: readonly string[]) => {
    if (leaves.length >= MOST) return
    if (typeof value === 'object' && value !== null && !Array.isArray(value) && path.length < DEEPEST) {
      for (const [key, member] of Object.entries(value)) visit(member, [...path, key])
    } else if (value !== null && value !== '') leaves.push({ name: path.join('.'), value: shown(value) })
  }
  for (const [key, value] of Object.entries(metadata)) if (key !== 'spoor') visit(value, [key])
  return leaves
}

/** Formats a value. A number that JSON.parse has rounded is marked. */
function shown(value: unknown): string {
  if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)) return `≈ ${value}`
  return typeof value === 'string' ? value : JSON.stringify(value)
}

export interface MetadataChange {
  readonly name: string
  readonly a: string | undefined
  readonly b: string | undefined
}

/** Returns the values that differ between two traces, and those with the given names. */
export function compareMetadata(
  a: readonly MetadataLeaf[],
  b: readonly MetadataLeaf[],
  chosen: readonly string[]
): MetadataChange[] {
  const [before, after] = [a, b].map(leaves => new Map(leaves.map(({ name, value }) => [name, value])))
  return [...new Set([...before!.keys(), ...after!.keys()])].flatMap(name => {
    const change = { name, a: before!.get(name), b: after!.get(name) }
    return change.a !== change.b || chosen.includes(name) ? [change] : []
  })
}
