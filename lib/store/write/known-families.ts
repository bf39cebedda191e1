/**
 * Remembers families whose rows in trace_families are committed. Such rows are never removed. The statement that adds a
 * family is expensive compared with a small trace (test/bench/RESULTS.md, "Families of a batch"), so the statement is
 * sent only for families that are not remembered.
 */

/** A trace's project, and the number of its family as a string. */
export interface FamilyOf {
  readonly projectId: number
  readonly rows: { readonly family: string }
}

/**
 * Maximum number of families remembered. At the maximum, all families are forgotten. The maximum is reached only if
 * clients send a new model name with nearly every trace. Each family still in use then costs one additional statement.
 */
const MAX_FAMILIES = 10_000

export class KnownFamilies {
  readonly #families = new Set<string>()

  has(trace: FamilyOf): boolean {
    return this.#families.has(keyOf(trace))
  }

  add(trace: FamilyOf): void {
    if (this.#families.size >= MAX_FAMILIES) this.#families.clear()
    this.#families.add(keyOf(trace))
  }
}

const keyOf = ({ projectId, rows }: FamilyOf): string => `${projectId}/${rows.family}`
